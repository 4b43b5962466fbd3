import os
from pathlib import Path

import pytest

from clearhead.errors import counted, listed, shell_command


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (1234, "1,234 lines")]
)
def test_one_is_singular_and_every_other_count_is_plural(count: int, words: str) -> None:
    assert counted(count, "line") == words


def test_a_list_that_is_cut_ends_with_an_ellipsis() -> None:
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b, …"


def test_a_command_can_be_typed_into_the_shell_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shell_command("clearhead", Path("my run")) == "clearhead 'my run'"
    with monkeypatch.context() as windows:  # whose cmd takes single quotes as part of a name
        windows.setattr(os, "name", "nt")
        shown = shell_command(r"runs\first_light"), shell_command("clearhead", r"my runs\a")
    assert shown == (r"runs\first_light", r'clearhead "my runs\a"')
