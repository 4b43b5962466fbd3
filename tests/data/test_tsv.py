from pathlib import Path

import pytest

from clearhead.data.tsv import TsvPairs
from clearhead.errors import UserError


@pytest.mark.parametrize(
    ("row", "found"), [("one column", "1 column,"), ("1\ta\t2\tb", "4 columns,")]
)
def test_another_number_of_columns_is_named_by_file_and_line(
    row: str, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.tsv"
    path.write_text(f"a\tb\n\n{row}\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"p\.tsv, line 3: {found} expected"):
        list(TsvPairs(path))


def test_blank_lines_are_skipped_and_the_attribution_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text("\n  \na\tb\tCC-BY\n", encoding="utf-8")
    assert list(TsvPairs(path)) == [("a", "b")]
