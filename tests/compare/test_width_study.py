"""Costs of a width are counted, its results measured, and the conclusions follow from both."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from clearhead.cli.main import run
from clearhead.compare.rnn.findings import CurvePoint
from clearhead.compare.timing import Machine
from clearhead.compare.width_report import conclusions, losses_at_equal_tokens
from clearhead.compare.width_study import (
    GENOMICS,
    WIDTHS,
    Width,
    WidthResults,
    count_bert,
    count_translator,
    default_study,
    quick_study,
    translator,
)
from clearhead.models import Transformer
from clearhead.models.bert import Bert, BertConfig


def synthetic(bleu: list[float]) -> WidthResults:
    """Wider models see fewer tokens; each has an early evaluation; BLEU as given."""
    widths = []
    for number, (d_model, value) in enumerate(zip((128, 256, 512), bleu, strict=True)):
        counts = count_translator(translator(d_model, 300), 7)
        last = 900 // (number + 1)
        curve = [
            CurvePoint(0.5, last // 6, 4.0, 0.0),
            CurvePoint(2.0, last, 3.0 - number / 2, value),
        ]
        widths.append(Width(d_model, counts, 1000.0 / (number + 1), 5.0, curve))
    machine = Machine("chip", 2, 2, [], "", 0.0, "2", "3")
    return WidthResults(machine, quick_study(), 300, widths, [])


def test_parameters_are_those_of_a_real_model() -> None:
    config = translator(128, 300)
    real = sum(p.numel() for p in Transformer.from_config(config).parameters())
    assert count_translator(config, 7).parameters == real
    small = BertConfig(50, 40, 24, layers=2, h=3, d_ff=60)
    real = sum(p.numel() for p in Bert.from_config(small).parameters())
    assert count_bert(small, 9).parameters == real


def test_arithmetic_is_the_sum_of_the_matrix_products() -> None:
    d, vocab, n, layers = 128, 300, 7, 2
    weights = layers * (4 * d * d + 8 * d * d) + layers * (8 * d * d + 8 * d * d) + d * vocab
    scores = layers * 3 * 2 * n * d  # QKᵀ and the weighted sum of V, in three attentions
    assert count_translator(translator(d, vocab), n).flop == 2 * (weights + scores)


def test_the_published_models_have_their_published_sizes() -> None:
    found = {model.name: count_bert(model.config, 8).parameters for model in GENOMICS}
    # Embeddings of tokens, positions and segments, norm; 12 d² + 13 d per layer with d_ff = 4 d.
    d = 768
    embeddings = (4101 + 512 + 2) * d + 2 * d
    assert found["DNABERT"] == embeddings + 12 * (12 * d * d + 13 * d)
    assert {model.config.d_model for model in GENOMICS} == {768, 512, 256}


def test_only_the_width_varies() -> None:
    for width in WIDTHS:
        config = translator(width, 300)
        assert config.d_model // config.h == 64
        assert config.d_ff == 4 * width
        assert config.encoder_layers == config.decoder_layers == 2


def test_the_best_width_is_the_one_with_the_highest_bleu() -> None:
    _, narrow, _ = conclusions(synthetic([40.0, 20.0, 10.0]))
    assert "d_model 128 has the highest BLEU (40.0)" in narrow
    assert "The widest, 512, has 10.0: it has seen 300 tokens, d_model 128 900" in narrow
    _, wide, same = conclusions(synthetic([10.0, 20.0, 40.0]))
    assert "d_model 512 has the highest BLEU (40.0)" in wide
    assert "The widest" not in wide
    assert "After the same 300 tokens, d_model 512 has the lowest development loss" in same


def test_the_narrowest_width_of_similar_bleu_is_named() -> None:
    _, text, _ = conclusions(synthetic([39.5, 20.0, 40.0]))
    assert "d_model 512 has the highest BLEU (40.0); d_model 128 is within 1 of it" in text


def test_losses_are_compared_after_equal_numbers_of_tokens() -> None:
    tokens, losses = losses_at_equal_tokens(synthetic([1.0, 2.0, 3.0]).widths)
    assert tokens == 300
    # The first evaluations came after 150, 75 and 50 tokens, the last after 900, 450 and 300.
    halfway = {128: 4.0 - 1.0 * 150 / 750, 256: 4.0 - 1.5 * 225 / 375}
    assert losses == pytest.approx({**halfway, 512: 2.0})
    early = synthetic([1.0, 2.0, 3.0]).widths[0]
    still = replace(early, curve=[early.curve[0]] * 2)  # an evaluation without a step in between
    assert losses_at_equal_tokens([still])[1] == {128: 4.0}


def test_a_loss_before_the_first_evaluation_is_unknown() -> None:
    found = synthetic([1.0, 2.0, 3.0])
    late, *others = found.widths
    late = replace(late, curve=[replace(late.curve[0], tokens=301), late.curve[1]])
    found = replace(found, widths=[late, *others])
    assert losses_at_equal_tokens(found.widths)[1].keys() == {256, 512}
    assert not any("After the same" in sentence for sentence in conclusions(found))


def test_every_width_is_evaluated_before_the_widest_has_seen_its_last_token() -> None:
    # Estimated from the FLOP of training steps.
    flop = [count_translator(translator(width, 2000), 16).flop for width in WIDTHS]
    assert default_study().task.evaluations[0] < min(flop) / max(flop)


def test_one_command_writes_report_values_and_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = torch.get_num_threads()
    assert run(["compare", "d-model", "--quick", "-o", str(tmp_path / "out")]) == 0
    assert torch.get_num_threads() == before
    assert capsys.readouterr().out.strip().endswith("report.md")
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "](width.png)" in report
    assert "| translator | 128 |" in report
    assert (tmp_path / "out" / "width.png").read_bytes().startswith(b"\x89PNG")
    assert '"d_model": 64' in (tmp_path / "out" / "numbers.json").read_text(encoding="utf-8")


def test_an_output_that_is_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there"
    there.write_text("", encoding="utf-8")
    assert run(["compare", "d-model", "-o", str(there)]) == 2
    assert "is a file; give a directory" in capsys.readouterr().err
