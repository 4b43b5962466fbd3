"""`torch.export` and `torch.compile`: one graph without breaks, and the same outputs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.models import Bert, BertConfig, Esm, EsmConfig, Gpt, GptConfig, build_transformer

SMALL: dict[str, Any] = {"seq_len": 9, "d_model": 12, "layers": 1, "h": 3, "d_ff": 20}
KINDS: dict[str, Callable[[], nn.Module]] = {
    "transformer": lambda: build_transformer(30, 40, 9, 11, d_model=12, N=1, h=3, d_ff=20),
    "bert": lambda: Bert.from_config(BertConfig(33, **SMALL)),
    "gpt": lambda: Gpt.from_config(GptConfig(33, **SMALL)),
    "esm": lambda: Esm.from_config(EsmConfig(33, **SMALL)),
}
MASKS: dict[str, Callable[[Tensor], Tensor]] = {
    "booleans": lambda mask: mask,
    "ones": lambda mask: mask.float(),
    "additive": lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf),
}


def arguments(kind: str, form: str) -> tuple[Tensor, ...]:
    src, tgt = torch.randint(4, 30, (2, 7)), torch.randint(4, 30, (2, 5))
    src[0, 5:] = tgt[1, 3:] = 0
    masks = [MASKS[form](mask) for mask in (padding_mask(src, 0), decoder_mask(tgt, 0))]
    return (src, tgt, *masks) if kind == "transformer" else (src, masks[0])


# Another test in the same process may have left global hooks.
HOOKS = pytest.mark.filterwarnings("ignore:Using `torch.compile")


@HOOKS
@pytest.mark.parametrize(
    ("kind", "form"),
    [*((kind, "booleans") for kind in KINDS), ("transformer", "ones"), ("esm", "additive")],
)
def test_a_compiled_model_is_one_graph_with_the_same_outputs(kind: str, form: str) -> None:
    model, given = KINDS[kind]().eval(), arguments(kind, form)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*given), model(*given))


@pytest.mark.filterwarnings("ignore::UserWarning")  # attention_scores are a side effect
@pytest.mark.parametrize(
    ("kind", "strict"), [*((kind, False) for kind in KINDS), ("transformer", True)]
)
def test_an_exported_model_has_the_same_outputs(kind: str, strict: bool) -> None:
    model, given = KINDS[kind]().eval(), arguments(kind, "booleans")
    exported = torch.export.export(model, given, strict=strict)
    torch.testing.assert_close(exported.module()(*given), model(*given))


@HOOKS
def test_a_compiled_model_refuses_a_float_mask_of_other_values() -> None:
    model, (ids, mask) = KINDS["bert"]().eval(), arguments("bert", "ones")
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    with pytest.raises(RuntimeError, match="expected a mask of booleans, 0 and 1, or 0 and -inf"):
        compiled(ids, mask - 0.5)
