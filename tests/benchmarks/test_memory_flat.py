from pathlib import Path

import pytest

from benchmarks.memory_flat import write_lines


@pytest.mark.parametrize("lines", [1, 999, 1000, 1500])
def test_a_corpus_has_as_many_lines_as_the_table_says(tmp_path: Path, lines: int) -> None:
    write_lines(tmp_path / "corpus.tsv", lines)
    assert (tmp_path / "corpus.tsv").read_text(encoding="utf-8").count("\n") == lines
