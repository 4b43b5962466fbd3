"""One grading process for all tests of the course."""

from collections.abc import Iterator

import pytest

from clearhead.learn.client import Grader


@pytest.fixture(scope="session")
def grader() -> Iterator[Grader]:
    with Grader() as one:
        yield one
