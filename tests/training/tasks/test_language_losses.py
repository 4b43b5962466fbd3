"""Each token from the past alone; only what is hidden is asked for."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.training.tasks.causal import causal_loss
from clearhead.training.tasks.masked import masked_loss

IDS = np.random.default_rng(2).integers(1, 40, size=(3, 12))


def gpt() -> Gpt:
    torch.manual_seed(1)
    sizes = {"vocab_size": 40, "seq_len": 16, "d_model": 12, "layers": 2, "h": 3, "d_ff": 20}
    return Gpt.from_config(GptConfig(**sizes)).eval()


def bert() -> Bert:
    torch.manual_seed(1)
    sizes = {"vocab_size": 40, "seq_len": 16, "d_model": 12, "layers": 2, "h": 3, "d_ff": 20}
    model = Bert.from_config(BertConfig(**sizes, heads=("masked_lm",))).eval()
    torch.nn.init.normal_(model.get_parameter("heads.masked_lm.projection.bias"))
    return model


def test_the_causal_loss_is_cross_entropy_of_the_next_token() -> None:
    model = gpt()
    logits = model.logits(model(torch.from_numpy(IDS[:, :-1])))
    expected = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(IDS[:, 1:]).flatten())
    losses = causal_loss(model, IDS)
    assert losses.tokens == 33
    torch.testing.assert_close(losses.nll / 33, expected.detach())
    torch.testing.assert_close(losses.smoothed, losses.nll)


def test_no_loss_knows_the_future() -> None:
    """What comes after a token changes nothing of how surprising it was."""
    model = gpt()

    def nll(ids: np.ndarray) -> list[float]:  # of each further token
        totals = [float(causal_loss(model, ids[:, :n]).nll) for n in range(2, 13)]
        return np.diff([0.0, *totals]).tolist()

    other = IDS.copy()
    other[:, 7:] = (other[:, 7:] + 5) % 40
    first, second = nll(IDS), nll(other)
    assert first[:6] == pytest.approx(second[:6], abs=1e-4)
    assert first[6:] != pytest.approx(second[6:], abs=1e-4)
    hidden = model(torch.from_numpy(IDS))
    changed = model(torch.from_numpy(other))
    torch.testing.assert_close(hidden[:, :7], changed[:, :7])


def test_a_row_that_is_not_full_counts_what_is_there() -> None:
    model = gpt()
    short = np.concatenate([IDS[:1], np.where(np.arange(12) < 5, IDS[1:2], -1)])
    losses = causal_loss(model, short)
    assert losses.tokens == 11 + 4
    alone = causal_loss(model, IDS[:1]).nll + causal_loss(model, IDS[1:2, :5]).nll
    torch.testing.assert_close(losses.nll, alone)


def test_the_masked_loss_is_cross_entropy_at_hidden_places_only() -> None:
    model = bert()
    labels = np.where(np.random.default_rng(4).random(IDS.shape) < 0.3, IDS, -1)
    padded = IDS.copy()
    padded[2, 9:], labels[2, 9:] = 0, -1
    given, wanted = torch.from_numpy(padded), torch.from_numpy(labels)
    logits = model.heads["masked_lm"](model(given, (given != 0)[:, None, None, :]))
    expected = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-1)
    expected.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    losses = masked_loss(model, padded, labels)
    assert losses.tokens == (labels >= 0).sum()
    torch.testing.assert_close(losses.nll / losses.tokens, expected.detach())
    (losses.smoothed / losses.tokens).backward()
    for name, parameter in model.named_parameters():
        if name in gradients:
            torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-4, atol=1e-6)


def test_nothing_hidden_is_no_loss() -> None:
    losses = masked_loss(bert(), IDS, np.full_like(IDS, -1))
    assert float(losses.nll) == 0 and losses.tokens == 1
