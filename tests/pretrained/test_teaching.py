"""Checkpoints of public teaching code load strictly and compute the same function here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.engine import Engine
from clearhead.decoding.native import NativeEngine
from clearhead.decoding.readable import ReadableEngine
from clearhead.errors import UserError
from clearhead.models import Transformer, build_transformer
from clearhead.models.native import native_model
from clearhead.pretrained import from_state_dict
from tests.pretrained.teaching import Annotated, Hkproj, Model

VOCABULARIES, LENGTHS = (23, 29), (13, 11)
D_MODEL, LAYERS, H, D_FF = 12, 2, 3, 20
SIZES = (D_MODEL, LAYERS, H, D_FF)
LAYOUTS: dict[str, tuple[Callable[[], Model], tuple[int, int, int]]] = {
    "hkproj": (lambda: Hkproj(VOCABULARIES, LENGTHS, SIZES), (1, 2, 3)),
    "hkproj, first version": (lambda: Hkproj(VOCABULARIES, LENGTHS, SIZES, True), (1, 2, 3)),
    "annotated": (lambda: Annotated(VOCABULARIES, LENGTHS, SIZES), (2, 0, 1)),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def made(layout: str) -> tuple[Model, tuple[int, int, int]]:
    torch.manual_seed(20170612)
    make, special_ids = LAYOUTS[layout]
    return make().eval(), special_ids


def batch(pad: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    src = torch.tensor([[4, 9, 22, 5, 3], [7, 4, 3, pad, pad], [3, pad, pad, pad, pad]])
    tgt = torch.tensor([[4, 28, 6, 9], [5, 4, 7, pad], [8, pad, pad, pad]])
    return src, tgt, padding_mask(src, pad), decoder_mask(tgt, pad)


def greedy(model: Model, src: Tensor, ids: tuple[int, int, int], steps: int) -> list[int]:
    """The loop of the sources, for one sentence."""
    pad, bos, eos = ids
    tgt = torch.tensor([[bos]])
    while tgt.shape[1] <= steps and tgt[0, -1] != eos:
        ones = torch.ones(1, 1, tgt.shape[1], tgt.shape[1]).tril()
        found = model(src, tgt, padding_mask(src, pad), ones)
        tgt = torch.cat([tgt, found[:, -1:].argmax(-1)], dim=1)
    return [token for token in tgt[0, 1:].tolist() if token != eos]


@every_layout
def test_the_forward_of_a_loaded_model_is_that_of_the_teaching_code(layout: str) -> None:
    theirs, (pad, *_) = made(layout)
    ours = from_state_dict(theirs.state_dict(), h=H)
    assert not ours.training
    with torch.no_grad():
        torch.testing.assert_close(ours(*batch(pad)), theirs(*batch(pad)), atol=1e-5, rtol=0)


def native(model: Transformer) -> NativeEngine:
    return NativeEngine(model.config, native_model(model), threads=1)


@every_layout
@pytest.mark.parametrize("engine_of", [ReadableEngine.of, native], ids=["readable", "native"])
def test_a_loaded_model_translates_as_the_teaching_code_does(
    layout: str, engine_of: Callable[[Transformer], Engine]
) -> None:
    theirs, ids = made(layout)
    ours = from_state_dict(theirs.state_dict(), h=H)
    source = [ids[1], 9, 22, 5, 7, ids[2]]
    with torch.no_grad():
        expected = greedy(theirs, torch.tensor([source]), ids, steps=8)
    options = DecodingOptions(beam_size=1, max_length=8)
    ((best,),) = decode(engine_of(ours), [source], options)
    assert [token for token in best.ids if token != ids[2]] == expected
    assert expected


@every_layout
def test_the_sizes_and_special_tokens_are_those_of_the_teaching_code(layout: str) -> None:
    theirs, ids = made(layout)
    config = from_state_dict(theirs.state_dict(), h=H).config
    assert (config.src_vocab_size, config.tgt_vocab_size) == VOCABULARIES
    assert (config.src_seq_len, config.tgt_seq_len) == LENGTHS
    assert (config.d_model, config.encoder_layers, config.h, config.d_ff) == SIZES
    assert (config.pad_id, config.bos_id, config.eos_id) == ids
    assert from_state_dict(theirs.state_dict(), h=H, pad_id=7).config.pad_id == 7


@every_layout
def test_a_loaded_model_is_saved_and_loaded_like_any_other(layout: str, tmp_path: Path) -> None:
    theirs, (pad, *_) = made(layout)
    ours = from_state_dict(theirs.state_dict(), h=H)
    ours.save_pretrained(tmp_path)
    assert torch.equal(Transformer.from_pretrained(tmp_path)(*batch(pad)), ours(*batch(pad)))


def test_a_checkpoint_file_of_the_training_script_loads(tmp_path: Path) -> None:
    theirs, (pad, *_) = made("hkproj")
    state = {f"module.{name}": tensor for name, tensor in theirs.state_dict().items()}
    torch.save({"epoch": 19, "model_state_dict": state}, tmp_path / "tmodel_19.pt")
    checkpoint = torch.load(tmp_path / "tmodel_19.pt", weights_only=True)
    ours = from_state_dict(checkpoint, h=H)
    with torch.no_grad():
        torch.testing.assert_close(ours(*batch(pad)), theirs(*batch(pad)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module._orig_mod.", "_orig_mod.module."])
@pytest.mark.parametrize("key", ["state_dict", "model", "model_state_dict"])
def test_a_checkpoint_of_a_wrapped_model_loads(key: str, prefix: str) -> None:
    theirs, (pad, *_) = made("hkproj")
    state = {prefix + name: tensor for name, tensor in theirs.state_dict().items()}
    ours = from_state_dict({"epoch": 3, key: state, "optimizer": {"lr": 0.1}}, h=H)
    torch.testing.assert_close(ours(*batch(pad)), theirs(*batch(pad)), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (nn.Linear(2, 2), "the state dictionary is of type .*; give model.state_dict()"),
        (
            "tmodel_19.pt",
            r'is of type str; give .* torch.load\("tmodel_19.pt", weights_only=True\)',
        ),
        ({}, "it is empty"),
        ({"epoch": 3}, "'epoch' is not the name of a tensor"),
        ({0: torch.ones(2)}, "0 is not the name of a tensor"),
    ],
)
def test_what_is_no_state_dictionary_is_refused_with_the_repair(given: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        from_state_dict(given, h=H)
    assert "\n" not in str(caught.value)


def test_our_own_state_dictionary_loads() -> None:
    ours = build_transformer(*VOCABULARIES, *LENGTHS, D_MODEL, LAYERS, H, 0.1, D_FF).eval()
    again = from_state_dict(ours.state_dict(), h=H)
    assert torch.equal(again(*batch(1)), ours(*batch(1)))


def test_5000_positions_of_float32_sinusoids_are_accepted_and_other_formulas_refused() -> None:
    theirs = Annotated(VOCABULARIES, (5000, 5000), SIZES)
    state = theirs.state_dict()
    assert from_state_dict(state, h=H).config.src_seq_len == 5000
    state["src_embed.1.pe"] = state["src_embed.1.pe"].flip(-1)
    with pytest.raises(
        UserError, match=r"src_pos.pe, shape \(1, 5000, 12\), does not hold the sin"
    ):
        from_state_dict(state, h=H)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("encoder.norm.alpha"), "lacks encoder.norm.alpha;"),
        (lambda s: s.pop("src_embed.embedding.weight"), "lacks 'src_embed.embedding.weight'"),
        (lambda s: s.update(extra=torch.ones(1)), "has in addition extra;"),
        (
            lambda s: s.update({"decoder.norm.bias": torch.ones(5)}),
            r"decoder.norm.bias has shape \(5,\) where \(12,\) fits",
        ),
        (
            lambda s: s.update({"tgt_embed.embedding.weight": torch.tensor(1.0)}),
            r"tgt_embed.embedding.weight has shape \(\), not a matrix",
        ),
    ],
)
def test_loading_is_strict(change: Callable[[dict[str, Tensor]], object], message: str) -> None:
    state = dict(made("hkproj")[0].state_dict())
    change(state)
    with pytest.raises(UserError, match=message) as caught:
        from_state_dict(state, h=H)
    assert "\n" not in str(caught.value) and "expected the state dictionary" in str(caught.value)


def own_state() -> dict[str, Tensor]:
    torch.manual_seed(1)
    model = build_transformer(*VOCABULARIES, *LENGTHS, D_MODEL, LAYERS, H, 0.1, D_FF)
    return model.state_dict()


NORM = "encoder.norm.alpha"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s[NORM].fill_(torch.nan), f"{NORM} holds NaN or infinity"),
        (lambda s: s[NORM].fill_(torch.inf), f"{NORM} holds NaN or infinity"),
        (lambda s: s.update({NORM: s[NORM].to(torch.int8)}), f"{NORM} has values of type int8"),
        (lambda s: s.update({f"module.{NORM}": s[NORM]}), f"has {NORM} twice.* of one model"),
        (
            lambda s: s.update({"src_pos.pe": torch.ones(13)}),
            r"src_pos.pe has shape \(13,\); expected \(1, positions, 12\)",
        ),
        (
            lambda s: s.update({"tgt_pos.pe": torch.ones(11, 1, 12)}),
            r"tgt_pos.pe has shape \(11, 1, 12\); expected \(1, positions, 12\)",
        ),
        (
            lambda s: s.update({"src_pos.pe": torch.ones(1, 13, 7)}),
            r"src_pos.pe has shape \(1, 13, 7\); expected \(1, positions, 12\)",
        ),
    ],
)
def test_damaged_tensors_are_refused(
    change: Callable[[dict[str, Tensor]], object], message: str
) -> None:
    state = own_state()
    change(state)
    with pytest.raises(UserError, match=message) as caught:
        from_state_dict(state, h=H)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("letter", "qkvo")
def test_a_projection_lacks_its_bias_in_all_blocks_or_in_none(letter: str) -> None:
    state = own_state()
    names = [name for name in state if name.endswith(f"w_{letter}.bias")]
    assert len(names) == 3 * LAYERS
    for name in names:
        with pytest.raises(UserError, match=f"the state dictionary lacks {name};"):
            from_state_dict({n: t for n, t in state.items() if n != name}, h=H)
    without = {name: tensor for name, tensor in state.items() if name not in names}
    zeros = without | {name: torch.zeros_like(state[name]) for name in names}
    ours, expected = (from_state_dict(each, h=H) for each in (without, zeros))
    assert torch.equal(ours(*batch(1)), expected(*batch(1)))


def test_the_default_is_the_eight_heads_of_the_teaching_code() -> None:
    state = build_transformer(23, 29, 13, 11, 16, 1, 8, 0.1, 20).state_dict()
    assert from_state_dict(state).config.h == 8


def test_a_wrong_number_of_heads_is_refused() -> None:
    with pytest.raises(UserError, match="d_model=12 is not divisible by h=8"):
        from_state_dict(made("hkproj")[0].state_dict())
