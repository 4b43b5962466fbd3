"""Whoever remembers something about the weights can see that a step has changed them."""

import pytest
import torch

from clearhead.blocks import shift_right
from clearhead.decoding import DecodingOptions, decode
from clearhead.fast import FlatAdam
from clearhead.models import Transformer, TransformerConfig

SIZES = TransformerConfig(23, 23, d_model=12, encoder_layers=1, decoder_layers=2, h=3, d_ff=20)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_after_a_step_decoding_uses_the_new_weights(dtype: torch.dtype) -> None:
    torch.manual_seed(4)
    model = Transformer.from_config(SIZES).eval()
    optimizer = FlatAdam(model, dtype=dtype)
    sources, options = [[5, 7, 9, 2], [4, 2]], DecodingOptions(beam_size=1, max_length=9)
    before = decode(model, sources, options)
    labels = torch.tensor([[6, 8, 2], [9, 9, 2]])
    source = torch.tensor([[5, 7, 9, 2], [4, 4, 4, 2]])
    for _ in range(5):
        hidden = model.decode(model.encode(source, None), None, shift_right(labels, 1), None)
        logits = model.project(hidden)
        torch.nn.functional.nll_loss(logits.flatten(0, 1).float(), labels.flatten()).backward()
        optimizer.accumulate()
        optimizer.step(0.1, 1.0, 0.0)
    after = decode(model, sources, options)
    fresh = Transformer.from_config(SIZES).eval().to(dtype)
    fresh.load_state_dict(model.state_dict())
    expected = decode(fresh, sources, options)
    assert [h[0].ids for h in after] == [h[0].ids for h in expected]
    assert [h[0].score for h in after] == [h[0].score for h in expected]
    assert [h[0].score for h in after] != [h[0].score for h in before]
