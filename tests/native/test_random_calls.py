"""A short version of `make sanitize`: random calls do no harm and keep no memory."""

import pytest

from tests.native.random_calls import random_calls
from tests.native.sanitizers import run_random_calls, runtime, sanitized_environment


def test_random_calls_give_checked_results_or_are_refused() -> None:
    refused = random_calls(3000, seed=7)
    assert 100 < refused < 1500


@pytest.mark.skipif(runtime() is None, reason="this compiler has no AddressSanitizer")
def test_sanitizers_find_nothing_in_random_calls() -> None:
    with sanitized_environment() as environment:
        report = run_random_calls(environment, 1500, seed=8)
    assert "1,500 calls" in report
    assert "bytes after" in report  # the sanitizer was there and counted
