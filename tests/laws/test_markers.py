"""`make quick` leaves out what slow.txt lists; `pytest` without a choice leaves out documents."""

from types import SimpleNamespace

import pytest

from tests.conftest import (
    DOCUMENTS,
    pytest_collection_modifyitems,
    pytest_configure,
    slow_tests,
)
from tests.laws.tree import ROOT


@pytest.mark.parametrize("beginning", slow_tests())
def test_what_is_listed_exists(beginning: str) -> None:
    assert (ROOT / beginning.partition("::")[0]).exists()


class Item:
    """As much of a test as the hook uses."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.markers = nodeid, list[str]()

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.markers.append(marker.name)


def test_listed_folders_and_files_are_marked() -> None:
    listed, free = Item("tests/cli/test_bench.py::test_b"), Item("tests/blocks/test_a.py::test_b")
    pytest_collection_modifyitems([listed, free])  # type: ignore[list-item]
    assert (listed.markers, free.markers) == (["slow"], [])


def test_tests_run_in_the_order_of_the_list_and_the_others_after_them() -> None:
    first, *_, last = slow_tests()
    expected = [Item(f"{first}::test_b"), Item(f"{first}::test_a"), Item(f"{last}::test_a")]
    expected.append(Item("tests/blocks/test_a.py::test_b"))
    items = [expected[2], expected[3], expected[0], expected[1]]
    pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert items == expected


@pytest.mark.parametrize("part", DOCUMENTS)
def test_every_part_of_a_documents_name_is_that_of_a_test(part: str) -> None:
    if part.startswith("::"):
        sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
        assert any(f"\ndef {part[2:]}" in source for source in sources)
    else:
        assert list((ROOT / part).glob("test_*.py"))


@pytest.mark.parametrize("part", DOCUMENTS)
def test_documents_are_marked(part: str) -> None:
    item = Item(f"{part}x" if part.startswith("tests") else f"tests/notebooks/test_a.py{part}")
    pytest_collection_modifyitems([item])  # type: ignore[list-item]
    assert "documents" in item.markers


@pytest.mark.parametrize(
    ("markexpr", "keyword", "source", "expected"),
    [
        ("", "", "TESTPATHS", "not documents"),
        ("documents", "", "TESTPATHS", "documents"),
        ("not slow", "", "TESTPATHS", "not slow"),
        ("", "lessons", "TESTPATHS", ""),
        ("", "", "ARGS", ""),  # pytest tests/recipes
    ],
)
def test_only_without_a_choice_documents_are_left_out(
    markexpr: str, keyword: str, source: str, expected: str
) -> None:
    option = SimpleNamespace(markexpr=markexpr, keyword=keyword)
    config = SimpleNamespace(option=option, args_source=pytest.Config.ArgsSource[source])
    pytest_configure(config)  # type: ignore[arg-type]
    assert option.markexpr == expected


def test_this_very_law_is_quick(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("slow") is None
