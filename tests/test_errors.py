import pytest

from clearhead.errors import counted, listed


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (1234, "1,234 lines")]
)
def test_one_is_singular_and_every_other_count_is_plural(count: int, words: str) -> None:
    assert counted(count, "line") == words


def test_a_list_that_is_cut_ends_with_an_ellipsis() -> None:
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b, …"
