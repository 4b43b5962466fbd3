from pathlib import Path

import pytest

from clearhead.compare import decoding_length, limits
from clearhead.compare.decoding_length import Cost, fit_cost, label, length_benchmark
from clearhead.compare.limits import arithmetic_benchmark, memory_benchmark
from clearhead.compare.timing import Measurement
from clearhead.compare.workloads import BenchmarkModel
from clearhead.errors import UserError
from tests.compare.sizes import CONFIG, LENGTH, ROWS, make_task
from tests.translation.tiny import parts


def silent(line: str) -> None: ...


@pytest.mark.parametrize("has_int8", [True, False])
def test_a_step_is_measured_in_the_unit_of_the_peak(
    has_int8: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A precision without hardware support has no peak."""
    monkeypatch.setattr(limits, "multiplies_int8", lambda device: has_int8)
    benchmark = arithmetic_benchmark(make_task(tmp_path), 32, 1, silent)
    found = benchmark.measurements
    assert "product, float32" in found and ("product, int8" in found) == has_int8
    assert found["product, float32"][0].work == 4 * 2 * 32**3
    step = "training step of clearhead, float32"
    assert found[step][0].work == limits.training_flop(CONFIG, ROWS, LENGTH, LENGTH)
    assert [c.theirs for c in benchmark.comparisons if c.ours == step] == ["product, float32"]


def test_a_training_step_has_three_times_the_matrix_products_of_a_forward_pass() -> None:
    """One for the output, and in the backward pass one for each factor's gradient."""
    rows, src_len, tgt_len = 3, 7, 5
    src, tgt, d = rows * src_len, rows * tgt_len, CONFIG.d_model
    feed_forward = 2 * d * CONFIG.d_ff  # multiply-adds per token
    encoder = src * (4 * d * d + 2 * src_len * d + feed_forward)
    self_attention = tgt * (4 * d * d + 2 * tgt_len * d)
    cross_attention = tgt * (2 * d * d + 2 * src_len * d) + src * 2 * d * d
    decoder = self_attention + cross_attention + tgt * feed_forward
    projection = tgt * d * CONFIG.tgt_vocab_size
    forward = CONFIG.encoder_layers * encoder + CONFIG.decoder_layers * decoder + projection
    assert limits.training_flop(CONFIG, rows, src_len, tgt_len) == 3 * 2 * forward


def test_memory_traffic_counts_reads_and_writes(tmp_path: Path) -> None:
    model, tokenizer = parts()
    model.save_pretrained(tmp_path)
    loaded = BenchmarkModel(tmp_path, model.eval(), tokenizer, tmp_path, 1)
    found = memory_benchmark(loaded, 1, 1, silent).measurements
    assert found["copy"][0].work == 2 * 2**20
    decoding = found["decoding, clearhead, float32"][0].work
    read = (model.decoder, model.projection_layer)
    weights = sum(4 * p.numel() for part in read for p in part.parameters())
    assert decoding > 0 and decoding % weights == 0


def test_the_cost_of_a_token_is_fitted_to_the_lengths() -> None:
    """20 µs, and 0.5 µs more per position: 0.25 µs more per token of length."""
    lengths, rows = [8, 16, 32], 3
    found = {
        label(n): [Measurement(1e-6 * rows * (20 * n + 0.25 * n**2), rows * n)] for n in lengths
    }
    cost = fit_cost(found, lengths)
    assert cost.microseconds == pytest.approx([22, 24, 28])
    assert (cost.intercept, cost.slope) == pytest.approx((20, 0.25))
    assert decoding_length.remark(cost) == (
        "a token of a translation of 8 costs 22 µs, of 32 28 µs (+27 %): "
        "+0.250 µs for each token more"
    )


def test_every_translation_has_the_requested_length() -> None:
    benchmark = length_benchmark(CONFIG, [4, 9], rows=2, rounds=1, progress=silent)
    assert [own[0].work for own in benchmark.measurements.values()] == [8, 18]


def test_lengths_are_evenly_spaced_up_to_the_longest() -> None:
    assert decoding_length.lengths_to(512) == [64, 128, 192, 256, 320, 384, 448, 512]


@pytest.mark.parametrize("kind", decoding_length.FORMATS)
def test_a_plot_has_the_format_of_its_extension(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"cost.{kind}"
    decoding_length.plot(Cost([1, 2], [3, 4], 2, 1), path)
    start = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[kind]
    assert path.read_bytes().startswith(start)


def test_an_unknown_extension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ending in \.svg, \.png, \.pdf"):
        decoding_length.plot_format(tmp_path / "cost.txt")
