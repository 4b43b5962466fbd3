"""Capturing changes no output, finds every module by its path, and removes its hooks."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.errors import UserError
from clearhead.explain.attention import attention_maps, sentence_pair
from clearhead.explain.capture import capture, watchable
from clearhead.explain.interpretability import saliency
from clearhead.models import Transformer, TransformerConfig
from tests.explain import tiny

BATCH, SRC_LEN, TGT_LEN, PAD = 2, 7, 5, 0


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    src = torch.randint(3, 90, (BATCH, SRC_LEN), generator=generator)
    tgt = torch.randint(3, 90, (BATCH, TGT_LEN), generator=generator)
    src[1, -2:] = tgt[1, -1:] = PAD
    return src, tgt, padding_mask(src, PAD), decoder_mask(tgt, PAD)


def test_outputs_and_gradients_with_and_without_capture_are_bit_identical() -> None:
    model = tiny.model().train()

    def run() -> list[torch.Tensor]:
        torch.manual_seed(7)  # dropout included
        model.zero_grad()
        output = model(*inputs())
        output[..., 4].sum().backward()
        return [
            output.detach(),
            *(p.grad.clone() for p in model.parameters() if p.grad is not None),
        ]

    plain = run()
    with capture(model, *watchable(model)):
        captured = run()
    assert all(torch.equal(a, b) for a, b in zip(plain, captured, strict=True))


def test_weights_are_before_dropout_and_every_row_sums_to_one() -> None:
    model = tiny.model().train()
    with capture(model, "*.layers.*.*.weights") as captured:
        model(*inputs())
    assert len(captured) == tiny.ENCODER_LAYERS + 2 * tiny.DECODER_LAYERS
    for path, weights in captured.items():
        keys = TGT_LEN if path.startswith("decoder") and "self" in path else SRC_LEN
        queries = SRC_LEN if path.startswith("encoder") else TGT_LEN
        assert weights.shape == (BATCH, tiny.HEADS, queries, keys)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_outputs_are_those_of_the_modules() -> None:
    model = tiny.model()
    src, tgt, src_mask, tgt_mask = inputs()
    with capture(model, "encoder", "decoder", "encoder.layers.2") as captured:
        output = model(src, tgt, src_mask, tgt_mask)
    assert torch.equal(model.project(captured["decoder"]), output)
    assert torch.equal(
        model.encoder.get_submodule("norm")(captured["encoder.layers.2"]), captured["encoder"]
    )


def test_of_several_outputs_the_first_is_captured() -> None:
    class Both(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x + 1, x

    x = torch.zeros(BATCH, 3)
    with capture(model := torch.nn.Sequential(Both()), "0") as captured:
        model(x)
    assert torch.equal(captured["0"], x + 1)


def test_a_star_matches_one_component_of_a_path() -> None:
    model = tiny.model()
    with capture(model, "encoder.layers.*") as captured:
        model(*inputs())
    assert list(captured) == [f"encoder.layers.{i}" for i in range(tiny.ENCODER_LAYERS)]


def test_after_capture_the_model_is_unchanged() -> None:
    model = tiny.model()
    block = model.get_submodule("decoder.layers.0.cross_attention_block")
    block.keep_attention_scores = False
    with pytest.raises(RuntimeError, match="stop"), capture(model, *watchable(model)):
        model(*inputs())
        raise RuntimeError("stop")
    assert all(not module._forward_hooks for module in model.modules())
    assert block.keep_attention_scores is False
    assert block.attention_scores is None


def test_weights_that_were_kept_before_stay_kept() -> None:
    model = tiny.model()
    block = model.get_submodule("encoder.layers.0.self_attention_block")
    block.keep_attention_scores = True
    with capture(model, "encoder.layers.0.self_attention_block.weights"):
        model(*inputs())
    assert block.keep_attention_scores is True
    assert block.attention_scores is not None


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    nearest = r"'encoder.layer.0'; did you mean 'encoder.layers.0'"
    with pytest.raises(UserError, match=nearest), capture(tiny.model(), "encoder.layer.0"):
        pass


def test_capture_of_one_layer_costs_at_most_a_tenth_of_the_time() -> None:
    """Of the processor, in alternating runs, the best or the middle: neighbours disturb both."""
    sizes = {"d_model": 192, "h": 4, "d_ff": 512, "encoder_layers": 2, "decoder_layers": 2}
    model = Transformer.from_config(TransformerConfig(90, 90, **sizes)).eval()  # type: ignore[arg-type]
    src = torch.randint(3, 90, (8, 60))
    masks = padding_mask(src, PAD), decoder_mask(src, PAD)

    def seconds(*names: str) -> float:
        with torch.inference_mode(), capture(model, *names):
            start = time.thread_time()
            model(src, src, *masks)
            return time.thread_time() - start

    layer = [name for name in watchable(model) if name.startswith("decoder.layers.1")]
    pairs = [(seconds(), seconds(*layer)) for _ in range(25)]
    plain, captured = (min(side) for side in zip(*pairs, strict=True))
    cost = min(captured / plain, median(with_it / without for without, with_it in pairs))
    assert cost <= 1.10, f"capture of one layer takes {100 * (cost - 1):.0f} % more time"


@pytest.mark.parametrize(
    "explain",
    [
        lambda one, pair: attention_maps(one, pair)[2].weights,
        lambda one, pair: saliency(one.model, pair),
    ],
    ids=["attention", "saliency"],
)
def test_threads_that_share_a_translator_see_what_each_sees_alone(
    explain: Callable[[Any, Any], np.ndarray],
) -> None:
    translator = tiny.translator()
    pairs = [sentence_pair(translator, text, tiny.TARGET) for text in ("a dog.", "the cat sees a.")]
    alone = [explain(translator, pair) for pair in pairs]
    for part in (translator.model.src_embed, translator.model.decoder):
        part.register_forward_hook(lambda *_: time.sleep(0.02))  # then the other thread runs
    with ThreadPoolExecutor(len(pairs)) as pool:
        together = list(pool.map(lambda pair: explain(translator, pair), pairs))
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
