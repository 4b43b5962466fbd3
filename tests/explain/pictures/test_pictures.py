"""Every picture draws what it says, in every format, the same bytes each time."""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import torch

from clearhead.blocks.positional_encoding import sinusoids
from clearhead.errors import UserError
from clearhead.explain import pictures
from clearhead.explain.attention_map import AttentionMap, of_kind
from clearhead.explain.logit_lens import logit_lens
from clearhead.explain.look import look, sentence
from clearhead.explain.saliency import saliency
from tests.explain import tiny

TRANSLATOR = tiny.translator()
KNOWN = sentence(TRANSLATOR, tiny.SOURCE, tiny.TARGET)
MAPS = look(TRANSLATOR, KNOWN)
CROSS, ENCODER = of_kind(MAPS, "cross"), of_kind(MAPS, "encoder")


def random_map(size: int, kind: str = "self") -> AttentionMap:
    weights = torch.rand(1, 2, size, size).softmax(-1)
    words = [f"w{i}" for i in range(size)]
    return AttentionMap.of(kind, [weights, weights], words, words)  # type: ignore[arg-type]


MODEL = TRANSLATOR.model
EVERY_PICTURE: dict[str, Callable[[], pictures.Picture]] = {
    "one_head": lambda: pictures.one_head(ENCODER, 2, 1),
    "all_heads": lambda: pictures.all_heads(CROSS, 1),
    "all_layers": lambda: pictures.all_layers(CROSS),
    "alignment": lambda: pictures.alignment(CROSS),
    "sinusoid_map": lambda: pictures.sinusoid_map(30, 12),
    "position_waves": lambda: pictures.position_waves(30, 12, (0, 3)),
    "position_products": lambda: pictures.position_products(12, 9),
    "mask_gallery": lambda: pictures.mask_gallery(),
    "schedules": lambda: pictures.schedules(500, 50),
    "residual_norms": lambda: pictures.residual_norms(MODEL, KNOWN),
    "shares": lambda: pictures.shares(MODEL, 7, 5),
    "embedding_neighbours": lambda: pictures.embedding_neighbours(TRANSLATOR, ["dog", "chat"], 3),
    "head_effects": lambda: pictures.head_effects(TRANSLATOR, KNOWN),
    "logit_lens": lambda: pictures.logit_lens(logit_lens(MODEL, KNOWN), TRANSLATOR.tokenizer),
    "saliency": lambda: pictures.saliency_beside_attention(CROSS, saliency(MODEL, KNOWN)),
}
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("name", EVERY_PICTURE)
def test_a_picture_is_the_same_bytes_each_time(name: str, tmp_path: Path) -> None:
    one, other = EVERY_PICTURE[name](), EVERY_PICTURE[name]()
    one.save(tmp_path / "picture.svg")
    written = (tmp_path / "picture.svg").read_bytes()
    assert written.startswith(MAGIC["svg"])
    assert written == other.to_bytes("svg")


def test_every_format_by_its_ending(tmp_path: Path) -> None:
    for kind, magic in MAGIC.items():
        pictures.mask_gallery().save(tmp_path / f"picture.{kind.upper()}")
        assert (tmp_path / f"picture.{kind.upper()}").read_bytes().startswith(magic)


@pytest.mark.parametrize("name", ["picture.gif", "picture"])
def test_another_ending_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"give one that ends in \.svg, \.png, \.pdf"):
        pictures.mask_gallery().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_drawing_changes_nothing_for_other_figures() -> None:
    before = dict(mpl.rcParams)
    pictures.mask_gallery().to_bytes("png")
    assert dict(mpl.rcParams) == before


def test_a_heat_map_holds_the_weights_and_all_share_one_scale() -> None:
    figure = pictures.all_heads(CROSS, 1).figure
    images = [axes.images[0] for axes in figure.axes if axes.images]
    for image, weights in zip(images, CROSS.layer(1), strict=True):
        assert np.array_equal(np.asarray(image.get_array()), weights)
        assert image.get_clim() == (0, 1)


def test_the_path_of_alignment_goes_through_the_largest_weight_of_each_row() -> None:
    axes = pictures.alignment(CROSS, 0, 3).figure.axes[0]
    across, down = axes.lines[0].get_data()
    assert list(down) == list(range(len(CROSS.queries)))
    assert list(across) == CROSS.head(0, 3).argmax(-1).tolist()


def test_words_with_a_dollar_sign_are_no_formula() -> None:
    weights = [torch.ones(1, 1, 2, 2) / 2]
    shown = AttentionMap.of("self", weights, ["$x_{", "a$"], ["$x_{", "a$"])
    assert b"$x_{" in pictures.one_head(shown, 0, 0).to_bytes("svg")


def test_a_letter_that_the_font_lacks_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    shown = AttentionMap.of("self", [torch.ones(1, 1, 1, 1)], ["\U00013000"], ["\U00013000"])
    pictures.one_head(shown, 0, 0).to_bytes("png")
    assert caplog.text.count("svg has them all") == 1
    assert "\U00013000".encode() in pictures.one_head(shown, 0, 0).to_bytes("svg")


@pytest.mark.parametrize(
    ("draw", "size"), [("one_head", 121), ("all_heads", 61), ("all_layers", 257)]
)
def test_a_sentence_too_long_for_the_picture_is_one_clear_line(draw: str, size: int) -> None:
    places = {"one_head": (0, 0), "all_heads": (0,), "all_layers": ()}[draw]
    with pytest.raises(
        UserError, match=rf"room for {size - 1} tokens .* has {size}; give a shorter"
    ):
        getattr(pictures, draw)(random_map(size), *places)


def test_only_cross_attention_aligns() -> None:
    with pytest.raises(UserError, match="aligns nothing"):
        pictures.alignment(ENCODER)


def test_the_dot_product_of_positions_depends_on_their_distance_alone() -> None:
    axes = pictures.position_products(16, 9).figure.axes[0]
    distance, product = (np.asarray(side) for side in axes.lines[1].get_data())
    table = sinusoids(60, 16).double()
    for start in (12, 40):
        expected = [float(table[start] @ table[start + int(k)]) / 8 for k in distance]
        assert product == pytest.approx(expected, abs=1e-5)


def test_shares_count_every_parameter_once_and_every_operation() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    from clearhead.explain.pictures.shares import flop_shares, parameter_shares
    from clearhead.models import count_parameters

    model = TRANSLATOR.model
    assert sum(parameter_shares(model).values()) == count_parameters(model)
    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), counter:
        model(torch.full((1, 7), 5), torch.full((1, 4), 5), None, None)
    assert sum(flop_shares(model, 7, 4).values()) == counter.get_total_flops()


def test_the_stream_is_measured_after_every_layer() -> None:
    from clearhead.explain.pictures.residual_norms import norms_by_depth

    depths = norms_by_depth(TRANSLATOR.model, KNOWN)
    assert [len(rows) for rows in depths.values()] == [
        tiny.ENCODER_LAYERS + 1,
        tiny.DECODER_LAYERS + 1,
    ]
    src, _, src_mask, _ = KNOWN.tensors(TRANSLATOR.model)
    with torch.inference_mode():
        x = TRANSLATOR.model.src_pos(TRANSLATOR.model.src_embed(src))
        assert depths["encoder"][0] == pytest.approx(x[0].norm(dim=-1).tolist())
        x = TRANSLATOR.model.encoder.get_submodule("layers.0")(x, src_mask)
        assert depths["encoder"][1] == pytest.approx(x[0].norm(dim=-1).tolist())


def test_the_nearest_of_a_word_are_those_of_largest_cosine() -> None:
    from clearhead.explain.pictures.embedding_neighbours import nearest

    table = TRANSLATOR.model.src_embed.get_parameter("embedding.weight").detach()
    (token,) = TRANSLATOR.tokenizer.encode("dog")
    found = nearest(TRANSLATOR, "dog", 3)
    cosines = torch.cosine_similarity(table[token], table, dim=-1)
    expected = sorted(cosines.tolist(), reverse=True)
    assert [value for _, value in found] == pytest.approx(
        [c for c in expected if c < 0.999][:3], abs=1e-5
    )
    with pytest.raises(UserError, match=r"'hippopotamus' is .* tokens to this model"):
        nearest(TRANSLATOR, "hippopotamus")


def test_loss_curves_are_those_of_the_records(tmp_path: Path) -> None:
    lines = [
        '{"kind": "train", "step": 10, "loss": 5.0}',
        '{"kind": "dev", "step": 10, "loss": 4.5}',
        '{"kind": "train", "step": 20, "loss": 4.0}',
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines), encoding="utf-8")
    axes = pictures.loss_curves({"small": tmp_path}).figure.axes[0]
    assert [list(line.get_xydata().ravel()) for line in axes.lines] == [[10, 5, 20, 4], [10, 4.5]]
    with pytest.raises(UserError, match="has no losses"):
        pictures.loss_curves({"none": tmp_path / "nowhere"})
