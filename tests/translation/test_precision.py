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


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_the_shipped_translator_says_nearly_always_the_same_in_fewer_bits(precision: str) -> None:
    few = Translator.from_pretrained(precision=precision)  # type: ignore[arg-type]
    pairs = zip(
        few.translate(SENTENCES), Translator.from_pretrained().translate(SENTENCES), strict=True
    )
    assert sum(one == other for one, other in pairs) >= len(SENTENCES) - 2


def test_auto_is_said_in_the_log(model_directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="clearhead.translation"):
        found = Translator.from_pretrained(model_directory, precision="auto")
    assert found.precision in ("float32", "bfloat16", "int8")
    assert caplog.messages[-1].startswith("translating in ")


def test_an_unknown_precision_is_refused(model_directory: Path) -> None:
    with pytest.raises(UserError, match="precision 'int4' is unknown"):
        Translator.from_pretrained(model_directory, precision="int4")  # type: ignore[arg-type]
