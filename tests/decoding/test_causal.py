"""A language model with a key-value cache gives what its forward gives for the whole text."""

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import EncoderBlock
from clearhead.decoding.causal import CachedCausalSteps, UncachedCausalSteps, begin
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.decoding.steps import report_no_cache
from clearhead.errors import UserError
from clearhead.fast import accelerate
from clearhead.fast.accelerate import ON_GPU
from clearhead.models import Gpt, GptConfig

ROWS, VOCAB, PROMPT, STEPS = 5, 53, 7, 21
KINDS = [CachedCausalSteps, UncachedCausalSteps]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(20190214)
    report_no_cache.cache_clear()


def gpt(activation: str = "gelu_new") -> Gpt:
    """3 layers, 4 heads of 6; every weight random."""
    config = GptConfig(VOCAB, seq_len=40, d_model=24, layers=3, h=4, d_ff=28, activation=activation)
    model = Gpt.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    return model


def texts() -> Tensor:
    return torch.randint(0, VOCAB, (ROWS, PROMPT + STEPS))


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ["gelu_new", "relu"])
@torch.no_grad()
def test_each_step_equals_the_forward_of_the_whole_text(
    kind: type[CachedCausalSteps], activation: str
) -> None:
    model, ids = gpt(activation), texts()
    whole, steps = model.logits(model(ids)), kind(model)
    assert_close(steps.step(ids[:, :PROMPT]), whole[:, PROMPT - 1])
    for t in range(PROMPT, PROMPT + STEPS):
        assert_close(steps.step(ids[:, t : t + 1]), whole[:, t])


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_rows_that_stay_do_not_depend_on_rows_that_leave(kind: type[CachedCausalSteps]) -> None:
    model, ids, staying = gpt(), texts(), torch.tensor([3, 0])
    whole, steps = model.logits(model(ids)), kind(model)
    steps.step(ids[:, :PROMPT])
    steps.keep(staying)
    for t in range(PROMPT, PROMPT + STEPS):
        assert_close(steps.step(ids[staying, t : t + 1]), whole[staying, t])


@torch.no_grad()
def test_the_parts_of_a_gpu_are_cached_as_well() -> None:
    model, ids = accelerate(gpt(), ON_GPU), texts()
    steps = begin(model)
    assert isinstance(steps, CachedCausalSteps)
    steps.step(ids[:, :PROMPT])
    assert_close(steps.step(ids[:, PROMPT : PROMPT + 1]), model.logits(model(ids))[:, PROMPT])


@torch.no_grad()
def test_a_position_beyond_the_last_is_refused() -> None:
    model = gpt()
    steps = CachedCausalSteps(model)
    steps.step(torch.zeros(ROWS, model.config.seq_len, dtype=torch.long))
    with pytest.raises(UserError, match="41 positions but seq_len=40"):
        steps.step(torch.zeros(ROWS, 1, dtype=torch.long))


class SummingBlock(EncoderBlock):
    """Adds the running mean of its input: causal, but not position by position."""

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        lengths = torch.arange(1, x.shape[1] + 1)[:, None]
        return super().forward(x, src_mask) + x.cumsum(dim=1) / lengths


def test_a_block_with_its_own_forward_is_decoded_without_a_cache() -> None:
    model = gpt()
    layer: nn.Module = model.decoder.layers[1]
    layer.__class__ = SummingBlock
    assert isinstance(begin(model), UncachedCausalSteps)
    prompt = texts()[0, :PROMPT].tolist()
    options = SamplingOptions(max_new_tokens=9, temperature=0, ignore_eos=True)
    (found,) = generate(model, [prompt], options)
    ids = list(prompt)
    with torch.no_grad():
        for _ in range(9):
            ids.append(int(model.logits(model(torch.tensor([ids]))[:, -1]).argmax()))
    assert found.ids == ids[PROMPT:]


@pytest.mark.parametrize("path", ["", "decoder.layers.1", "embed", "positions"])
def test_a_model_with_a_hook_on_a_part_is_decoded_without_a_cache(path: str) -> None:
    model = gpt()
    handle = model.get_submodule(path).register_forward_hook(lambda *_: None)
    assert isinstance(begin(model), UncachedCausalSteps)
    handle.remove()
    assert isinstance(begin(model), CachedCausalSteps)
