import io
import logging

import pytest

from clearhead.training import console
from clearhead.training.console import shown


@pytest.mark.parametrize("text", ["encoding grammar:train:15000 …", "[bold]", "a [/] b", "1 + 2"])
def test_the_console_says_what_was_logged_letter_by_letter(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with shown():
        logging.getLogger("clearhead.train").info(text)
    assert capsys.readouterr().err == text + "\n"


def test_training_goes_on_after_a_broken_pipe_at_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(console, "CONSOLE", type(console.CONSOLE)(file=Closed()))
    with shown():
        logging.getLogger("clearhead.train").info("step 1")
