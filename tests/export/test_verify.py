from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from clearhead.blocks import look_ahead_mask
from clearhead.errors import UserError
from clearhead.export.verify import Ids, sentences, translate, verify
from clearhead.models import Transformer
from tests.decoding.tiny import teacher_forced
from tests.export import models


class Imitation:
    """An engine with the results of our model, except for the given errors."""

    def __init__(self, model: Transformer, wrong_beams: int = 0, shift: float = 0.0) -> None:
        self.model, self.wrong_beams, self.shift = model, wrong_beams, shift

    def translate(self, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
        found = translate(self.model, sources, beam_size, limit)
        return [[3]] * self.wrong_beams + found[self.wrong_beams :]

    def greedy_logits(self, sources: Sequence[Ids], limit: int) -> list[tuple[Ids, Tensor]]:
        return [
            (target, self._logits(source, target))
            for source, ids in zip(sources, translate(self.model, sources, 1, limit), strict=True)
            for target in [[*ids, self.model.config.eos_id][:limit]]
        ]

    def _logits(self, source: Ids, target: Ids) -> Tensor:
        logits = []
        hook = self.model.projection_layer.get_submodule("proj").register_forward_hook(
            lambda module, inputs, output: logits.append(output[0].clone())
        )
        teacher_forced(self.model, source, target)
        hook.remove()
        logits[0][:, :2] = 1e9  # these logits are excluded from the comparison
        logits[0][-1, 5] += self.shift
        return logits[0]


def test_an_equal_engine_agrees_everywhere() -> None:
    model = models.tiny()
    found = verify(model, Imitation(model), models.tiny_sources(model, 35))
    assert (found.sentences, found.greedy, found.beam) == (35, 35, 35)
    assert found.logit_difference < 1e-4


def test_errors_of_an_engine_are_counted_and_measured() -> None:
    model = models.tiny()
    found = verify(model, Imitation(model, 3, 0.5), models.tiny_sources(model, 7))
    assert (found.greedy, found.beam) == (7, 4)
    assert found.logit_difference == pytest.approx(0.5, abs=1e-4)
    assert "7 of 7 sentences greedy, 4 with beam 4" in str(found)


def test_a_model_with_too_few_positions_is_refused() -> None:
    model = models.tiny()
    model.config = replace(model.config, src_seq_len=2)
    with pytest.raises(UserError, match="src_seq_len=2 positions"):
        sentences(model, models.tokenizer(), 5)


def test_a_bos_token_that_is_the_padding_token_is_visible() -> None:
    model = models.tiny()
    model.config = replace(model.config, bos_id=model.config.pad_id)
    found = verify(model, Stepwise(model), models.tiny_sources(model, 5))
    assert found.logit_difference < 1e-4


class Stepwise(Imitation):
    """Logits as a search computes them: every target token sees those before it, BOS included."""

    def _logits(self, source: Ids, target: Ids) -> Tensor:
        src, tgt = torch.tensor([source]), torch.tensor([[self.model.config.bos_id, *target[:-1]]])
        causal = look_ahead_mask(len(target))
        hidden = self.model.decode(self.model.encode(src), None, tgt, causal)
        logits: Tensor = self.model.projection_layer.get_submodule("proj")(hidden[0])
        return logits.detach()
