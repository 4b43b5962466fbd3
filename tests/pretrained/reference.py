"""Models of `transformers` with random weights, saved as it saves them; inputs; comparisons."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import padding_mask
from clearhead.explain.capture import capture

CLOSE = 1e-5


def disturbed(model: Any) -> Any:
    """Every weight random: a fresh norm is all ones and a fresh bias all zeros, on both sides."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.03)
    return model.eval()


def saved(model: Any, directory: Path) -> Any:
    """The model as `from_pretrained` gives it back, with attention written out."""
    model.save_pretrained(directory)
    loaded = type(model).from_pretrained(directory, attn_implementation="eager", dtype="auto")
    return loaded.eval()


def ragged(vocab_size: int, lengths: tuple[int, ...], pad_id: int, low: int = 3) -> Tensor:
    """Random ids, filled up to the longest."""
    ids = torch.full((len(lengths), max(lengths)), pad_id)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(low, vocab_size, (length,))
    return ids


def furthest(ours: Tensor, theirs: Tensor, where: Tensor | None = None) -> float:
    """The largest difference, at the places that are somebody's."""
    assert ours.shape == theirs.shape
    difference = (ours.float() - theirs.float()).abs()
    return float(difference.max() if where is None else difference[where].max())


def check_layers(
    model: nn.Module, run: Any, theirs: Any, paths: tuple[str, str], real: Tensor
) -> None:
    """All hidden states and all attentions, layer by layer, at places that are no padding.

    `paths`: of what the layers get, and of the stack.
    """
    first, stack = paths
    layers = f"{stack}.layers.*"
    weights = f"{layers}.self_attention_block.weights"
    with capture(model, first, stack, layers, weights) as seen:
        run()
    states = [first, *(f"{stack}.layers.{n}" for n in range(len(theirs.attentions)))]
    # Their last is what comes out of the stack, its norm included.
    ours = [seen[path] for path in states[:-1]] + [seen[stack]]
    assert len(ours) == len(theirs.hidden_states)
    for mine, other in zip(ours, theirs.hidden_states, strict=True):
        assert furthest(mine, other, real) <= CLOSE
    for n, other in enumerate(theirs.attentions):
        mine = seen[f"{stack}.layers.{n}.self_attention_block.weights"]
        assert furthest(mine.transpose(1, 2), other.transpose(1, 2), real) <= CLOSE


def attention_mask(ids: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """What `transformers` calls one, and ours."""
    return (ids != pad_id).long(), padding_mask(ids, pad_id)


def same_state(one: Any, other: Any) -> None:
    """Two models of `transformers` hold the same tensors, bit by bit."""
    first, second = one.state_dict(), other.state_dict()
    assert first.keys() == second.keys()
    assert not [name for name in first if not torch.equal(first[name], second[name])]
    assert {t.dtype for t in first.values()} == {t.dtype for t in second.values()}
