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
    The sizes are read from the tensors. Attention without bias gets a bias of zeros, a norm with
    one alpha in all gets the same alpha for each feature: both compute the same function. The
    buffer ``pe`` gives the number of positions. The result is an ordinary model, which can be
    saved with `save_pretrained` and runs on each engine. Its `project` returns log-probabilities;
    teaching code that returns logits computes the same up to a log-softmax.

    Args:
        state: names and tensors, or a checkpoint that holds them under ``model_state_dict`` (also
            ``state_dict`` or ``model``). Prefixes of DataParallel and torch.compile are dropped.
        h: the number of heads, which the tensors do not show.
        dropout: used if the model is trained further.
        pad_id, bos_id, eos_id: the special tokens; by default those of the layout: 1, 2, 3 for
            hkproj/pytorch-transformer, 2, 0, 1 for the Annotated Transformer.

    Returns:
        The model in eval mode.

    Raises:
        UserError: `state` holds no tensors; one is missing, unexpected or of another shape; or
            ``pe`` is not the paper's sinusoids.
    """
    state = _tensors_of(state)
    tensors = {_renamed(name): tensor for name, tensor in state.items()}
    config = _config(tensors, h, dropout, _special_ids(state, pad_id, bos_id, eos_id))
    with torch.random.fork_rng(devices=[]):  # the initial weights are overwritten
        model = Transformer.from_config(config)
    for name in ("src_pos.pe", "tgt_pos.pe"):
        _check_sinusoids(name, tensors.pop(name, None), config.d_model)
    own = dict(model.named_parameters())
    given = {name: _completed(name, tensors.get(name), own[name]) for name in own}
    _check_names([n for n, t in given.items() if t is None], tensors.keys() - own.keys())
    _check_shapes(own, given)
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
    wrong = [name for name, value in state.items() if not isinstance(value, Tensor)]
    if wrong or not state:
        found = f"the value of {str(wrong[0])!r} is not a tensor" if wrong else "it is empty"
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
    try:
        src_vocab_size, d_model = tensors["src_embed.embedding.weight"].shape
        tgt_vocab_size = tensors["tgt_embed.embedding.weight"].shape[0]
        d_ff = tensors["encoder.layers.0.feed_forward_block.linear_1.weight"].shape[0]
    except (KeyError, ValueError) as error:
        raise UserError(f"the state dictionary lacks {error}; {EXPECTED}") from error
    pad_id, bos_id, eos_id = special_ids
    return TransformerConfig(
        src_vocab_size, tgt_vocab_size, d_model=d_model, h=h, d_ff=d_ff, dropout=dropout,
        encoder_layers=_count_layers("encoder", tensors),
        decoder_layers=_count_layers("decoder", tensors),
        src_seq_len=_count_positions(tensors.get("src_pos.pe")),
        tgt_seq_len=_count_positions(tensors.get("tgt_pos.pe")),
        pad_id=pad_id, bos_id=bos_id, eos_id=eos_id,
    )  # fmt: skip


def _count_layers(stack: str, names: Iterable[str]) -> int:
    found = [re.match(rf"{stack}\.layers\.(\d+)\.", name) for name in names]
    return len({match[1] for match in found if match})


def _count_positions(pe: Tensor | None) -> int:
    return TransformerConfig.src_seq_len if pe is None else pe.shape[-2]


def _check_sinusoids(name: str, pe: Tensor | None, d_model: int) -> None:
    if pe is None:
        return
    expected = sinusoids(pe.shape[-2], d_model)
    if pe.shape[-1] != d_model or not torch.allclose(
        pe.reshape(expected.shape).float(), expected, atol=SINUSOID_TOLERANCE, rtol=0
    ):
        raise UserError(
            f"{name}, shape {tuple(pe.shape)}, does not hold the sinusoids of the paper's section "
            "3.5; a model trained with other positions does not compute the same function here"
        )


def _completed(name: str, tensor: Tensor | None, own: Tensor) -> Tensor | None:
    """Zeros for the bias of an attention without one, one alpha or bias for each feature."""
    if tensor is None and re.search(r"attention_block\.w_.\.bias$", name):
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
