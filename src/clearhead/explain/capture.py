"""Capture intermediate tensors of a model without changing what it computes.

    names = "encoder.layers.*", "decoder.layers.1.cross_attention_block.weights"
    with capture(model, *names) as captured:
        model(src, tgt, src_mask, tgt_mask)
    captured["encoder.layers.0"]                                  # (batch, src_len, d_model)
    captured["decoder.layers.1.cross_attention_block.weights"]    # (batch, h, tgt_len, src_len)

A name is the path of a module, as in `model.named_modules()`, and stands for the module's
output, of several for the first; the path of an attention block followed by `.weights` stands for
its attention weights before dropout. `*` stands for any one component of a path. Tensors are not
copied.
"""

import difflib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.decoding.forced import recording_attention
from clearhead.errors import UserError

WEIGHTS = ".weights"
Captured = dict[str, Tensor]
Module = TypeVar("Module", bound=nn.Module)


@contextmanager
def capture(model: nn.Module, *names: str) -> Iterator[Captured]:
    """Fill a dictionary while the model runs; for a module that runs twice, with the last run.

    Raises:
        UserError: a name matches nothing in this model.
    """
    modules = dict(model.named_modules())
    captured: Captured = {}
    with ExitStack() as hooks:
        for path in matching_paths(model, names):
            module = modules[path.removesuffix(WEIGHTS)]
            if path.endswith(WEIGHTS) and isinstance(module, MultiHeadAttentionBlock):
                hooks.enter_context(recording_attention([module]))
            hooks.enter_context(module.register_forward_hook(_store(captured, path)))
        yield captured


def private_copy(model: Module) -> Module:
    """The same tensors in modules of its own, in eval mode: no other thread runs their hooks."""
    values = [value for module in model.modules() for value in vars(module).values()]
    kept = [value for value in values if isinstance(value, Tensor)]
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers(), *kept)}
    return deepcopy(model, shared).eval()


def matching_paths(model: nn.Module, names: tuple[str, ...]) -> list[str]:
    """The paths that match the names, in the order of the names."""
    every = watchable(model)
    chosen: dict[str, None] = {}
    for name in names:
        matching = [path for path in every if _matches(path, name)]
        if not matching:
            near = difflib.get_close_matches(name, every, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there is, for example, {every[-1]!r}"
            raise UserError(f"nothing in this model is called {name!r}; {hint}")
        chosen.update(dict.fromkeys(matching))
    return list(chosen)


def watchable(model: nn.Module) -> list[str]:
    """Every name that `capture` accepts for this model."""
    paths = []
    for path, module in model.named_modules():
        if path:
            paths.append(path)
            if isinstance(module, MultiHeadAttentionBlock):
                paths.append(path + WEIGHTS)
    return paths


def _matches(path: str, name: str) -> bool:
    components, patterns = path.split("."), name.split(".")
    return len(components) == len(patterns) and all(map(fnmatchcase, components, patterns))


def _store(captured: Captured, path: str) -> Callable[[Any, Any, Any], None]:
    def hook(module: Any, inputs: Any, output: Any) -> None:
        found = module.attention_scores if path.endswith(WEIGHTS) else output
        if isinstance(found, tuple | list) and found:
            found = found[0]
        if isinstance(found, Tensor):
            captured[path] = found.detach()

    return hook
