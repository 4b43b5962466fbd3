"""What modules return, by their paths, through torch's own hooks."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock


@contextmanager
def watched(model: nn.Module, paths: list[str], *more: str) -> Iterator[dict[str, Tensor]]:
    """Outputs of these paths, and under `PATH.weights` those of every attention block."""
    seen: dict[str, Tensor] = {}
    with ExitStack() as stack:
        for path in (*paths, *more):
            hook = model.get_submodule(path).register_forward_hook(_keeper(seen, path))
            stack.callback(hook.remove)
        for path, block in model.named_modules():
            if isinstance(block, MultiHeadAttentionBlock):
                block.keep_attention_scores = True
                stack.callback(setattr, block, "keep_attention_scores", False)
                hook = block.register_forward_hook(_weights_keeper(seen, f"{path}.weights"))
                stack.callback(hook.remove)
        yield seen


def _keeper(seen: dict[str, Tensor], path: str) -> Any:
    return lambda module, inputs, output: seen.__setitem__(path, output)


def _weights_keeper(seen: dict[str, Tensor], path: str) -> Any:
    return lambda block, inputs, output: seen.__setitem__(path, block.attention_scores)
