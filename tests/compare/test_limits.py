from pathlib import Path

import pytest

from clearhead.compare import limits
from clearhead.compare.limits import arithmetic_benchmark, memory_benchmark
from clearhead.compare.workloads import BenchmarkModel
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
