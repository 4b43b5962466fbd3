"""Checkpoints of teaching code: state dictionaries under other names become a `Transformer`."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks.positional_encoding import sinusoids
from clearhead.errors import UserError
from clearhead.models.config import TransformerConfig
from clearhead.models.transformer import Transformer
from clearhead.models.weights import refuse_damaged_values

# Parts of their names and of ours. hkproj/pytorch-transformer and the seeds use our names
# already, but for one name in its first version; the rest is the Annotated Transformer.
NAMES = (
    ("source_attention_block.", "cross_attention_block."),
    ("self_attn.", "self_attention_block."),
    ("src_attn.", "cross_attention_block."),
    *((f"linears.{number}.", f"w_{letter}.") for number, letter in enumerate("qkvo")),
    ("feed_forward.w_1.", "feed_forward_block.linear_1."),
    ("feed_forward.w_2.", "feed_forward_block.linear_2."),
    ("sublayer.", "residual_connections."),
    ("norm.a_2", "norm.alpha"),
    ("norm.b_2", "norm.bias"),
    ("src_embed.0.lut.", "src_embed.embedding."),
    ("tgt_embed.0.lut.", "tgt_embed.embedding."),
    ("src_embed.1.pe", "src_pos.pe"),
    ("tgt_embed.1.pe", "tgt_pos.pe"),
    ("generator.", "projection_layer."),
)
# Padding, BOS and EOS: [UNK] [PAD] [SOS] [EOS] there, <s> </s> <blank> <unk> here.
HKPROJ_IDS, ANNOTATED_IDS = (1, 2, 3), (2, 0, 1)
# Their sinusoids are computed in float32, ours in float64: at position 5,000 they differ by 3e-4.
SINUSOID_TOLERANCE = 2e-3
CHECKPOINT_KEYS = ("model_state_dict", "state_dict", "model")
WRAPPERS = ("_orig_mod.", "module.", "_orig_mod.")  # of torch.compile and DataParallel
EXPECTED = (
    "expected the state dictionary of hkproj/pytorch-transformer, of the Annotated Transformer "
    "or of build_transformer"
)


def from_state_dict(
    state: Mapping[str, Any],
    h: int = 8,
    dropout: float = 0.1,
    pad_id: int | None = None,
    bos_id: int | None = None,
    eos_id: int | None = None,
) -> Transformer:
    """A `Transformer` with the weights of a model that was trained with teaching code.

        checkpoint = torch.load("tmodel_19.pt", weights_only=True)
        model = from_state_dict(checkpoint["model_state_dict"], h=8)
        (best,), = decode(model, [[2, *ids, 3]])    # clearhead.decoding; [SOS] … [EOS]

    Three layouts are known: hkproj/pytorch-transformer (and the step-by-step guide, Part 1 and
    their variants with the same names), the Annotated Transformer, and `build_transformer`.
    The sizes are read from the tensors. A projection of attention without bias in all blocks gets
    a bias of zeros, a norm with one alpha in all gets the same alpha for each feature: both compute
    the same function. The buffer ``pe`` gives the number of positions. The result is an ordinary
    model, which can be saved with `save_pretrained` and runs on each engine. Its `project` returns
    log-probabilities; teaching code that returns logits computes the same up to a log-softmax.

    Args:
        state: names and tensors, or a checkpoint that holds them under ``model_state_dict`` (also
            ``state_dict`` or ``model``). Prefixes of DataParallel and torch.compile are dropped.
        h: the number of heads that the model was trained with. The tensors do not show it: with
            another h that divides d_model, the model loads and computes another function. The
            default is that of the teaching code.
        dropout: used if the model is trained further.
        pad_id, bos_id, eos_id: the special tokens; by default those of the layout: 1, 2, 3 for
            hkproj/pytorch-transformer, 2, 0, 1 for the Annotated Transformer.

    Returns:
        The model in eval mode.

    Raises:
        UserError: `state` holds no tensors; one is missing, unexpected, there twice, of another
            shape, NaN, infinite or quantized; or ``pe`` is not the paper's sinusoids.
    """
    state = _tensors_of(state)
    names = [_renamed(name) for name in state]
    tensors = dict(zip(names, state.values(), strict=True))
    if twice := [name for name in tensors if names.count(name) > 1]:
        raise UserError(
            f"the state dictionary has {twice[0]} twice, for example with and without the prefix "
            "module.; give the tensors of one model"
        )
    config = _config(tensors, h, dropout, _special_ids(state, pad_id, bos_id, eos_id))
    with torch.random.fork_rng(devices=[]):  # the initial weights are overwritten
        model = Transformer.from_config(config)
    for name in ("src_pos.pe", "tgt_pos.pe"):
        _check_sinusoids(name, tensors.pop(name, None), config.d_model)
    own = dict(model.named_parameters())
    given = {name: _completed(name, tensors, own[name]) for name in own}
    _check_names([n for n, t in given.items() if t is None], tensors.keys() - own.keys())
    _check_shapes(own, given)
    refuse_damaged_values({n: t for n, t in given.items() if t is not None}, "the state dictionary")
    model.load_state_dict(given)
    return model.eval()


def _tensors_of(state: Any) -> Mapping[str, Any]:
    """The names and tensors, which a checkpoint may hold among other values."""
    if not isinstance(state, Mapping):
        given = f"of type {type(state).__name__}"
        raise UserError(
            f"the state dictionary is {given}; give model.state_dict(), or "
            'torch.load("tmodel_19.pt", weights_only=True)'
        )
    for key in CHECKPOINT_KEYS:
        if isinstance(state.get(key), Mapping):
            state = state[key]
    wrong = [n for n, t in state.items() if not (isinstance(n, str) and isinstance(t, Tensor))]
    if wrong or not state:
        found = f"{wrong[0]!r} is not the name of a tensor" if wrong else "it is empty"
        raise UserError(f"this is not a state dictionary ({found}); {EXPECTED}")
    return state


def _renamed(name: str) -> str:
    for prefix in WRAPPERS:
        name = name.removeprefix(prefix)
    for theirs, ours in NAMES:
        name = name.replace(theirs, ours)
    return name


def _special_ids(state: Mapping[str, Any], *given: int | None) -> list[int]:
    annotated = any("generator." in name for name in state)
    defaults = ANNOTATED_IDS if annotated else HKPROJ_IDS
    return [default if i is None else i for i, default in zip(given, defaults, strict=True)]


def _config(
    tensors: Mapping[str, Tensor], h: int, dropout: float, special_ids: list[int]
) -> TransformerConfig:
    """The sizes that the shapes show."""
    src_vocab_size, d_model = _matrix("src_embed.embedding.weight", tensors)
    tgt_vocab_size, _ = _matrix("tgt_embed.embedding.weight", tensors)
    d_ff, _ = _matrix("encoder.layers.0.feed_forward_block.linear_1.weight", tensors)
    pad_id, bos_id, eos_id = special_ids
    return TransformerConfig(
        src_vocab_size, tgt_vocab_size, d_model=d_model, h=h, d_ff=d_ff, dropout=dropout,
        encoder_layers=_count_layers("encoder", tensors),
        decoder_layers=_count_layers("decoder", tensors),
        src_seq_len=_count_positions("src_pos.pe", tensors, d_model),
        tgt_seq_len=_count_positions("tgt_pos.pe", tensors, d_model),
        pad_id=pad_id, bos_id=bos_id, eos_id=eos_id,
    )  # fmt: skip


def _count_layers(stack: str, names: Iterable[str]) -> int:
    found = [re.match(rf"{stack}\.layers\.(\d+)\.", name) for name in names]
    return len({match[1] for match in found if match})


def _matrix(name: str, tensors: Mapping[str, Tensor]) -> tuple[int, int]:
    """The two sizes of a tensor that tells the model's sizes."""
    if name not in tensors:
        raise UserError(f"the state dictionary lacks {name!r}; {EXPECTED}")
    if tensors[name].dim() != 2:
        raise UserError(f"{name} has shape {tuple(tensors[name].shape)}, not a matrix; {EXPECTED}")
    rows, columns = tensors[name].shape
    return rows, columns


def _count_positions(name: str, tensors: Mapping[str, Tensor], d_model: int) -> int:
    if name not in tensors:
        return TransformerConfig.src_seq_len
    shape = tensors[name].shape
    if len(shape) < 2 or shape[-1] != d_model or shape[:-2].numel() != 1:
        raise UserError(f"{name} has shape {tuple(shape)}; expected (1, positions, {d_model})")
    return shape[-2]


def _check_sinusoids(name: str, pe: Tensor | None, d_model: int) -> None:
    if pe is None:
        return
    expected = sinusoids(pe.shape[-2], d_model)
    if not torch.allclose(
        pe.reshape(expected.shape).float().cpu(), expected, atol=SINUSOID_TOLERANCE, rtol=0
    ):
        raise UserError(
            f"{name}, shape {tuple(pe.shape)}, does not hold the sinusoids of the paper's section "
            "3.5; a model trained with other positions does not compute the same function here"
        )


def _completed(name: str, tensors: Mapping[str, Tensor], own: Tensor) -> Tensor | None:
    """Zeros for the bias of a projection that has none in any block, one alpha for each feature."""
    tensor, ending = tensors.get(name), re.search(r"(?<=attention_block)\.w_.\.bias$", name)
    if ending and not any(other.endswith(ending[0]) for other in tensors):
        return torch.zeros_like(own)
    if tensor is not None and ".norm." in name and tensor.shape == (1,):
        return tensor.expand_as(own).clone()
    return tensor


def _check_names(missing: Iterable[str], unexpected: Iterable[str]) -> None:
    if faults := [
        f"{fault} {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        for fault, names in (("lacks", sorted(missing)), ("has in addition", sorted(unexpected)))
        if names
    ]:
        raise UserError(f"the state dictionary {' and '.join(faults)}; {EXPECTED}")


def _check_shapes(own: Mapping[str, Tensor], given: Mapping[str, Tensor | None]) -> None:
    for name, tensor in given.items():
        if tensor is not None and tensor.shape != own[name].shape:
            raise UserError(
                f"{name} has shape {tuple(tensor.shape)} where {tuple(own[name].shape)} fits the "
                f"other tensors; {EXPECTED}"
            )
