"""Marian translates as `transformers` does: a model that learned a little, 100 sentences."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from clearhead.decoding import DecodingOptions, decode
from clearhead.models.marian import Marian, MarianConfig
from clearhead.pretrained import from_pretrained, save_pretrained
from tests.translation.opus import teach

WORDS, PAD, END = 24, 24, 0
CONFIG = MarianConfig(
    WORDS + 1, WORDS + 1, 32, 32, d_model=36, encoder_layers=1, decoder_layers=2, h=3, d_ff=60,
    dropout=0.0, tie_embeddings=True, pad_id=PAD, bos_id=PAD, eos_id=END, initial_std=0.1,
)  # fmt: skip
LONGEST = 12


def sentences(count: int) -> Tensor:
    """Random words, the end sign, and padding."""
    ids = torch.randint(1, WORDS, (count, LONGEST + 1))
    lengths = torch.randint(1, LONGEST + 1, (count, 1))
    place = torch.arange(LONGEST + 1)
    return ids.masked_fill(place == lengths, END).masked_fill(place > lengths, PAD)


def translation(src: Tensor) -> Tensor:
    """Every word has one translation, or, one time in ten, the word before has it."""
    new = torch.where((src > 0) & (src < WORDS), src * 7 % (WORDS - 1) + 1, src)
    return new.where(torch.rand(new.shape) < 0.9, new.roll(1, dims=1)).where(src < WORDS, PAD)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has seen some batches: it says something, is unsure, and comes to an end."""
    torch.manual_seed(7)
    model = Marian.from_config(CONFIG)

    def batch() -> tuple[Tensor, Tensor]:
        src = sentences(32)
        return src, translation(src)

    teach(model, (batch() for _ in range(150)))
    with torch.no_grad():  # like the real ones it has seen no reason not to write the padding
        model.projection_layer.get_parameter("proj.bias")[PAD] = 4.0
    path = tmp_path_factory.mktemp("marian")
    save_pretrained(model, path)
    return path


def theirs(directory: Path, src: Tensor, **how: Any) -> list[list[int]]:
    model = transformers.MarianMTModel.from_pretrained(directory).eval()
    found = model.generate(
        input_ids=src, attention_mask=(src != PAD).long(), bad_words_ids=[[PAD]], max_length=None,
        max_new_tokens=30, do_sample=False, forced_eos_token_id=None, **how,
    )  # fmt: skip
    assert set(found[:, 0].tolist()) == {PAD}  # it begins with the padding
    return [row[1 : row.index(END)] for row in found.tolist()]


def ours(directory: Path, src: Tensor, **how: Any) -> list[list[int]]:
    model = from_pretrained(directory)
    assert isinstance(model, Marian)
    sources = [[i for i in row if i != PAD] for row in src.tolist()]
    options = DecodingOptions(max_length=30, min_length=0, **how)
    return [hypotheses[0].ids for hypotheses in decode(model, sources, options)]


@pytest.mark.parametrize("beams", [1, 4])
@pytest.mark.parametrize("early", [True, False])
def test_a_hundred_translations_equal_theirs(directory: Path, beams: int, early: bool) -> None:
    src = sentences(100)
    stopping = {"early_stopping": True if early else "never"} if beams > 1 else {}
    found = ours(directory, src, beam_size=beams, early_stopping=early)
    assert found == theirs(directory, src, num_beams=beams, **stopping)
    assert len({tuple(row) for row in found}) > 80
    assert not any(PAD in row for row in found)


def test_beam_search_differs_from_greedy_search(directory: Path) -> None:
    src = sentences(100)
    assert ours(directory, src, beam_size=4) != ours(directory, src, beam_size=1)
