import logging
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.translation import Translator

SENTENCES = [
    "I have never seen this before.",
    "The old man has sold his red car.",
    "Where did you buy these shoes?",
    "We will leave tomorrow morning.",
    "She does not want to talk to me.",
    "How many books are there on the table?",
    "My brother works in a hospital.",
    "It has been raining since yesterday.",
    "Tom forgot to close the window.",
    "Would you like a cup of coffee?",
]


def test_in_bfloat16_nearly_all_translations_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.fast.processor.cpu_multiplies_bfloat16", lambda: True)
    short = Translator.from_pretrained(device="cpu", precision="bfloat16").translate(SENTENCES)
    full = Translator.from_pretrained(device="cpu").translate(SENTENCES)
    assert sum(one == other for one, other in zip(short, full, strict=True)) >= len(SENTENCES) - 2


def test_auto_is_said_in_the_log(model_directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="clearhead"):
        Translator.from_pretrained(model_directory, precision="auto")
        Translator.from_pretrained(model_directory, precision="auto", engine="readable")
    native, readable = caplog.messages
    assert native.startswith(("native, int8, ", "native, float32, "))
    assert readable.startswith("readable, ") and readable.endswith("engine readable was requested")


def test_an_unknown_precision_is_refused(model_directory: Path) -> None:
    with pytest.raises(UserError, match="precision 'int4' is unknown"):
        Translator.from_pretrained(model_directory, precision="int4")  # type: ignore[arg-type]
