"""Watch a model at work; the model does not know, and computes what it would have computed.

    names = "encoder.layers.*", "decoder.layers.1.cross_attention_block.weights"
    with capture(model, *names) as seen:
        model(src, tgt, src_mask, tgt_mask)
    seen["encoder.layers.0"]                                  # (batch, src_len, d_model)
    seen["decoder.layers.1.cross_attention_block.weights"]    # (batch, h, tgt_len, src_len)

A name is the path of a module, as `model.named_modules()` writes it, and stands for what
the module returns; behind an attention block, `.weights` stands for its weights before
dropout. `*` stands for any one step of a path. Tensors are kept as they are, without a copy.
"""

import difflib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import Any

from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.errors import UserError

WEIGHTS = ".weights"
Seen = dict[str, Tensor]


@contextmanager
def capture(model: nn.Module, *names: str) -> Iterator[Seen]:
    """Fill a dictionary while the model runs; of a module that runs twice, the last time counts.

    Raises:
        UserError: a name fits nothing in this model.
    """
    modules = dict(model.named_modules())
    seen: Seen = {}
    with ExitStack() as watching:
        for path in readable_paths(model, names):
            if path.endswith(WEIGHTS):
                block = modules[path.removesuffix(WEIGHTS)]
                watching.enter_context(_keeping_weights(block))
                look = _weights_into(seen, path)
            else:
                look = _output_into(seen, path)
                block = modules[path]
            watching.callback(block.register_forward_hook(look).remove)
        yield seen


def readable_paths(model: nn.Module, names: tuple[str, ...]) -> list[str]:
    """The paths that the names stand for."""
    everything = watchable(model)
    chosen: dict[str, None] = {}
    for name in names:
        fitting = [path for path in everything if _fits(path, name)]
        if not fitting:
            near = difflib.get_close_matches(name, everything, n=1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there is, for one, {everything[-1]!r}"
            )
            raise UserError(f"nothing in this model is called {name!r}; {hint}")
        chosen.update(dict.fromkeys(fitting))
    return list(chosen)


def watchable(model: nn.Module) -> list[str]:
    """Every name that `capture` takes for this model."""
    paths = []
    for path, module in model.named_modules():
        if path:
            paths.append(path)
            if isinstance(module, MultiHeadAttentionBlock):
                paths.append(path + WEIGHTS)
    return paths


def _fits(path: str, name: str) -> bool:
    steps, patterns = path.split("."), name.split(".")
    return len(steps) == len(patterns) and all(map(fnmatchcase, steps, patterns))


@contextmanager
def _keeping_weights(block: nn.Module) -> Iterator[None]:
    assert isinstance(block, MultiHeadAttentionBlock)
    before, block.keep_attention_scores = block.keep_attention_scores, True
    try:
        yield
    finally:
        block.keep_attention_scores = before
        if not before:
            block.attention_scores = None


def _weights_into(seen: Seen, path: str) -> Callable[[Any, Any, Any], None]:
    def look(block: Any, inputs: Any, output: Any) -> None:
        seen[path] = block.attention_scores

    return look


def _output_into(seen: Seen, path: str) -> Callable[[Any, Any, Any], None]:
    def look(module: Any, inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            seen[path] = output.detach()

    return look
