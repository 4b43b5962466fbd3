"""`make quick` leaves out what slow.txt lists, and nothing else."""

import pytest

from tests.conftest import pytest_collection_modifyitems, slow_tests
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
    listed, free = Item("tests/recipes/test_a.py::test_b"), Item("tests/blocks/test_a.py::test_b")
    pytest_collection_modifyitems([listed, free])  # type: ignore[list-item]
    assert (listed.markers, free.markers) == (["slow"], [])


def test_tests_run_in_the_order_of_the_list_and_the_others_after_them() -> None:
    first, *_, last = slow_tests()
    expected = [Item(f"{first}::test_b"), Item(f"{first}::test_a"), Item(f"{last}::test_a")]
    expected.append(Item("tests/blocks/test_a.py::test_b"))
    items = [expected[2], expected[3], expected[0], expected[1]]
    pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert items == expected


def test_this_very_law_is_quick(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("slow") is None
