import logging
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.translation import Translator

SENTENCES = ["A man rides a bicycle.", "Where is the station?", "I have never seen this before."]


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_the_shipped_translator_says_the_same_in_fewer_bits(precision: str) -> None:
    few = Translator.from_pretrained(precision=precision)  # type: ignore[arg-type]
    assert few.translate(SENTENCES) == Translator.from_pretrained().translate(SENTENCES)


def test_auto_is_said_in_the_log(model_directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="clearhead.translation"):
        found = Translator.from_pretrained(model_directory, precision="auto")
    assert found.precision in ("float32", "bfloat16", "int8")
    assert caplog.messages[-1].startswith("translating in ")


def test_an_unknown_precision_is_refused(model_directory: Path) -> None:
    with pytest.raises(UserError, match="precision 'int4' is unknown"):
        Translator.from_pretrained(model_directory, precision="int4")  # type: ignore[arg-type]
