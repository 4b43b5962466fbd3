"""Without a compiler only the tests of building and packaging run."""

import pytest

from tests.native.library import REASON


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason=f"no native library: {REASON}")
    for item in items:
        native = "tests/native/" in item.nodeid and "test_building" not in item.nodeid
        if REASON and native:
            item.add_marker(skip)
