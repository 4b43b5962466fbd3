"""The page on the engines shows what a trace shows."""

from tests.laws.engines_table import PAGE, page


def test_the_table_of_the_page_is_what_runs() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run python -m tests.laws.engines_table"
