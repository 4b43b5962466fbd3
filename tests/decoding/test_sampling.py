"""What bends a distribution bends it as the processors of `transformers` do, bit by bit."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers.generation import logits_process as theirs

from clearhead.decoding import sampling
from clearhead.decoding.engine import SamplingOptions
from clearhead.errors import UserError

ROWS, VOCAB, WRITTEN = 5, 97, 11
NONE = torch.zeros(ROWS, 1, dtype=torch.long)
Warper = Callable[[Tensor], Tensor]
PAIRS: list[tuple[str, Warper, theirs.LogitsProcessor]] = [
    *((f"temperature {t}", lambda z, t=t: sampling.temperature(z, t),
       theirs.TemperatureLogitsWarper(t)) for t in (0.3, 1.7)),
    *((f"top_k {k}", lambda z, k=k: sampling.top_k(z, k),
       theirs.TopKLogitsWarper(k)) for k in (1, 7, 500)),
    *((f"top_p {p}", lambda z, p=p: sampling.top_p(z, p),
       theirs.TopPLogitsWarper(p)) for p in (0.0, 0.2, 0.9, 0.999)),
    *((f"min_p {p}", lambda z, p=p: sampling.min_p(z, p),
       theirs.MinPLogitsWarper(p)) for p in (0.0, 0.05, 0.5, 1.0)),
]  # fmt: skip


def logits() -> Tensor:
    """Sharp and flat rows, some of them with equal numbers."""
    torch.manual_seed(5)
    z = torch.randn(ROWS, VOCAB) * torch.tensor([0.1, 1, 3, 10, 1]).unsqueeze(1)
    z[4] = z[4].round()
    return z


@pytest.mark.parametrize(("ours", "other"), [pair[1:] for pair in PAIRS], ids=[p[0] for p in PAIRS])
def test_each_is_theirs(ours: Warper, other: theirs.LogitsProcessor) -> None:
    assert torch.equal(ours(logits()), other(NONE, logits()))


@pytest.mark.parametrize("penalty", [0.5, 1.3, 4.0])
def test_the_repetition_penalty_is_theirs(penalty: float) -> None:
    written = torch.randint(0, VOCAB, (ROWS, WRITTEN))
    seen = torch.zeros(ROWS, VOCAB, dtype=torch.bool).scatter_(1, written, True)
    expected = theirs.RepetitionPenaltyLogitsProcessor(penalty)(written, logits())
    assert torch.equal(sampling.repetition_penalty(logits(), seen, penalty), expected)


def test_all_together_come_in_their_order() -> None:
    options = SamplingOptions(temperature=0.7, top_k=40, top_p=0.9, min_p=0.02)
    chain = theirs.LogitsProcessorList(
        [theirs.TemperatureLogitsWarper(0.7), theirs.TopKLogitsWarper(40),
         theirs.TopPLogitsWarper(0.9), theirs.MinPLogitsWarper(0.02)]
    )  # fmt: skip
    assert torch.equal(sampling.warped(logits(), options), chain(NONE, logits()))


def test_what_is_off_changes_nothing() -> None:
    off = SamplingOptions(temperature=1, top_k=0, top_p=1, min_p=0)
    assert torch.equal(sampling.warped(logits(), off), logits())


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", -0.1), ("temperature", float("nan")), ("top_p", 1.01), ("top_p", -1e-9),
     ("top_k", -1), ("top_k", 2.5), ("min_p", 2), ("repetition_penalty", 0), ("max_new_tokens", 0),
     ("max_new_tokens", True)],
)  # fmt: skip
def test_a_number_outside_its_range_is_named(name: str, value: float) -> None:
    with pytest.raises(UserError, match=f"^{name}={value!r} is not a (whole )?number"):
        SamplingOptions(**{name: value})  # type: ignore[arg-type]
