"""Every plot shows its data, in every format, with the same bytes each time."""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import torch

from clearhead import plot_style
from clearhead.blocks.positional_encoding import sinusoids
from clearhead.errors import UserError
from clearhead.explain import plots
from clearhead.explain.attention import AttentionMap, attention_maps, of_kind, sentence_pair
from clearhead.explain.interpretability import logit_lens, saliency
from clearhead.explain.plots.attention import rank_correlation
from tests.explain import tiny

TRANSLATOR = tiny.translator()
PAIR = sentence_pair(TRANSLATOR, tiny.SOURCE, tiny.TARGET)
MAPS = attention_maps(TRANSLATOR, PAIR)
CROSS, ENCODER = of_kind(MAPS, "cross"), of_kind(MAPS, "encoder")


def random_map(size: int, kind: str = "self") -> AttentionMap:
    weights = torch.rand(1, 2, size, size).softmax(-1)
    words = [f"w{i}" for i in range(size)]
    return AttentionMap.of(kind, [weights, weights], words, words)  # type: ignore[arg-type]


MODEL = TRANSLATOR.model
EVERY_PLOT: dict[str, Callable[[], plots.Plot]] = {
    "one_head": lambda: plots.one_head(ENCODER, 2, 1),
    "all_heads": lambda: plots.all_heads(CROSS, 1),
    "all_layers": lambda: plots.all_layers(CROSS),
    "alignment": lambda: plots.alignment(CROSS),
    "sinusoid_map": lambda: plots.sinusoid_map(30, 12),
    "position_waves": lambda: plots.position_waves(30, 12, (0, 3)),
    "position_products": lambda: plots.position_products(12, 9),
    "mask_gallery": lambda: plots.mask_gallery(),
    "schedules": lambda: plots.schedules(500, 50),
    "residual_norms": lambda: plots.residual_norms(MODEL, PAIR),
    "shares": lambda: plots.shares(MODEL, 7, 5),
    "embedding_neighbours": lambda: plots.embedding_neighbours(TRANSLATOR, ["dog", "chat"], 3),
    "head_effects": lambda: plots.head_effects(TRANSLATOR, PAIR),
    "logit_lens": lambda: plots.logit_lens(logit_lens(MODEL, PAIR), TRANSLATOR.tokenizer),
    "saliency": lambda: plots.saliency_beside_attention(CROSS, saliency(MODEL, PAIR)),
}
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("name", EVERY_PLOT)
def test_a_plot_is_the_same_bytes_each_time(name: str, tmp_path: Path) -> None:
    one, other = EVERY_PLOT[name](), EVERY_PLOT[name]()
    one.save(tmp_path / "plot.svg")
    written = (tmp_path / "plot.svg").read_bytes()
    assert written.startswith(MAGIC["svg"])
    assert written == other.to_bytes("svg")


def test_the_suffix_decides_the_format(tmp_path: Path) -> None:
    for kind, magic in MAGIC.items():
        plots.mask_gallery().save(tmp_path / f"plot.{kind.upper()}")
        assert (tmp_path / f"plot.{kind.upper()}").read_bytes().startswith(magic)


@pytest.mark.parametrize("name", ["plot.gif", "plot"])
def test_another_suffix_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"use one of \.svg, \.png, \.pdf"):
        plots.mask_gallery().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_plotting_changes_no_global_settings() -> None:
    before = dict(mpl.rcParams)
    plots.mask_gallery().to_bytes("png")
    assert dict(mpl.rcParams) == before


def test_heat_maps_show_the_weights_on_one_scale() -> None:
    figure = plots.all_heads(CROSS, 1).figure
    images = [axes.images[0] for axes in figure.axes if axes.images]
    for image, weights in zip(images, CROSS.layer(1), strict=True):
        assert np.array_equal(np.asarray(image.get_array()), weights)
        assert image.get_clim() == (0, 1)


def test_heads_without_room_for_tokens_have_frames_and_names_of_their_axes() -> None:
    tokens = [str(i) for i in range(31)]
    shown = AttentionMap.of("cross", [torch.ones(1, 2, 31, 31) / 31], tokens, tokens)
    for axes in plots.all_heads(shown, 0).figure.axes[:2]:
        assert axes.get_ylabel() == "target token (query)"
        assert axes.get_xlabel() == "source token (key)"
        assert all(spine.get_visible() for spine in axes.spines.values())


def test_alignment_marks_the_largest_weight_of_each_row() -> None:
    axes = plots.alignment(CROSS, 0, 3).figure.axes[0]
    across, down = axes.lines[0].get_data()
    assert list(down) == list(range(len(CROSS.queries)))
    assert list(across) == CROSS.head(0, 3).argmax(-1).tolist()


def test_a_dollar_sign_in_a_token_begins_no_formula() -> None:
    weights = [torch.ones(1, 1, 2, 2) / 2]
    shown = AttentionMap.of("self", weights, ["$x_{", "a$"], ["$x_{", "a$"])
    assert b"$x_{" in plots.one_head(shown, 0, 0).to_bytes("svg")


def test_a_missing_glyph_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    shown = AttentionMap.of("self", [torch.ones(1, 1, 1, 1)], ["\U00013000"], ["\U00013000"])
    plots.one_head(shown, 0, 0).to_bytes("png")
    assert caplog.text.count("use svg instead") == 1
    assert "\U00013000".encode() in plots.one_head(shown, 0, 0).to_bytes("svg")


@pytest.mark.parametrize(
    ("draw", "size"), [("one_head", 121), ("all_heads", 61), ("all_layers", 257)]
)
def test_a_sentence_that_is_too_long_is_refused_in_one_line(draw: str, size: int) -> None:
    indices = {"one_head": (0, 0), "all_heads": (0,), "all_layers": ()}[draw]
    with pytest.raises(
        UserError, match=rf"room for {size - 1} tokens .* has {size}; give a shorter"
    ):
        getattr(plots, draw)(random_map(size), *indices)


def test_only_cross_attention_has_an_alignment() -> None:
    with pytest.raises(UserError, match="aligns nothing"):
        plots.alignment(ENCODER)


def test_the_dot_product_of_positions_depends_on_their_distance_alone() -> None:
    axes = plots.position_products(16, 9).figure.axes[0]
    distance, product = (np.asarray(side) for side in axes.lines[1].get_data())
    table = sinusoids(60, 16).double()
    for start in (12, 40):
        expected = [float(table[start] @ table[start + int(k)]) / 8 for k in distance]
        assert product == pytest.approx(expected, abs=1e-5)


def test_shares_count_every_parameter_once_and_every_operation() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    from clearhead.explain.plots.training import flop_shares, parameter_shares
    from clearhead.models import count_parameters

    model = TRANSLATOR.model
    assert sum(parameter_shares(model).values()) == count_parameters(model)
    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), counter:
        model(torch.full((1, 7), 5), torch.full((1, 4), 5), None, None)
    assert sum(flop_shares(model, 7, 4).values()) == counter.get_total_flops()


def test_the_residual_stream_is_measured_after_every_layer() -> None:
    from clearhead.explain.interpretability import norms_by_depth

    depths = norms_by_depth(TRANSLATOR.model, PAIR)
    assert [len(rows) for rows in depths.values()] == [
        tiny.ENCODER_LAYERS + 1,
        tiny.DECODER_LAYERS + 1,
    ]
    src, _, src_mask, _ = PAIR.tensors(TRANSLATOR.model)
    with torch.inference_mode():
        x = TRANSLATOR.model.src_pos(TRANSLATOR.model.src_embed(src))
        assert depths["encoder"][0] == pytest.approx(x[0].norm(dim=-1).tolist())
        x = TRANSLATOR.model.encoder.get_submodule("layers.0")(x, src_mask)
        assert depths["encoder"][1] == pytest.approx(x[0].norm(dim=-1).tolist())


def test_nearest_tokens_have_the_largest_cosine_similarity() -> None:
    from clearhead.explain.plots.embeddings import nearest

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


def test_loss_curves_show_the_recorded_losses(tmp_path: Path) -> None:
    lines = [
        '{"kind": "train", "step": 10, "loss": 5.0}',
        '{"kind": "dev", "step": 10, "loss": 4.5}',
        '{"kind": "train", "step": 20, "loss": 4.0}',
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines), encoding="utf-8")
    axes = plots.loss_curves({"small": tmp_path}).figure.axes[0]
    assert [list(line.get_xydata().ravel()) for line in axes.lines] == [[10, 5, 20, 4], [10, 4.5]]
    assert axes.get_ylabel() == "loss, squared error"  # no record has a perplexity
    lines.append('{"kind": "dev", "step": 20, "loss": 4.0, "ppl": 54.6}')
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert plots.loss_curves({"x": tmp_path}).figure.axes[0].get_ylabel() == "loss, nats per token"
    with pytest.raises(UserError, match="has no losses"):
        plots.loss_curves({"none": tmp_path / "nowhere"})


def test_the_former_names_still_work() -> None:
    from clearhead.explain.pictures.style import BLUE, in_style

    from clearhead.explain import pictures

    assert pictures.Picture is plots.Plot and pictures.one_head is plots.one_head
    assert BLUE == plot_style.BLUE and callable(in_style)


def test_the_rank_correlation_is_spearmans_with_ties_as_well() -> None:
    scipy = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(3)
    one, other = generator.integers(0, 4, (2, 5, 9)).astype(np.float32)
    expected = [scipy.spearmanr(*rows).statistic for rows in zip(one, other, strict=True)]
    assert rank_correlation(one, other) == pytest.approx(np.mean(expected))
    assert rank_correlation(one, one) == pytest.approx(1)


@pytest.mark.parametrize("count", [0, 10_000])
def test_a_number_of_neighbours_that_there_are_not_is_refused(count: int) -> None:
    with pytest.raises(UserError, match=f"count={count}: expected 1 to"):
        plots.embedding_neighbours(TRANSLATOR, ["dog"], count)
