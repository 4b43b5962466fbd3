"""A width's costs are counted, its benefits measured, and the sentences follow from both."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from clearhead.cli.main import run
from clearhead.compare.hardware import Machine
from clearhead.compare.rnn.numbers import Point
from clearhead.compare.width.counts import count_bert, count_translator
from clearhead.compare.width.findings import common_tokens, sentences
from clearhead.compare.width.rungs import GENOMICS, WIDTHS, translator
from clearhead.compare.width.study import Numbers, Width, default_study, quick_study
from clearhead.models import Transformer
from clearhead.models.bert import Bert, BertConfig


def made_up(bleu: list[float]) -> Numbers:
    """Wider ones read fewer tokens, and each is looked at early; BLEU as given."""
    rungs = []
    for number, (d_model, value) in enumerate(zip((128, 256, 512), bleu, strict=True)):
        counts = count_translator(translator(d_model, 300), 7)
        last = 900 // (number + 1)
        curve = [Point(0.5, last // 6, 4.0, 0.0), Point(2.0, last, 3.0 - number / 2, value)]
        rungs.append(Width(d_model, counts, 1000.0 / (number + 1), 5.0, curve))
    return Numbers(Machine("chip", 2, 2, [], "", 0.0, "2", "3"), quick_study(), 300, rungs, [])


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
    scores = layers * 3 * 2 * n * d  # QK and the average of V, in three attentions
    assert count_translator(translator(d, vocab), n).flop == 2 * (weights + scores)


def test_the_published_models_have_their_published_sizes() -> None:
    found = {model.name: count_bert(model.config, 8).parameters for model in GENOMICS}
    # Tables, positions and segments, norm; 12 d² + 13 d a layer where d_ff = 4 d.
    d = 768
    tables = (4101 + 512 + 2) * d + 2 * d
    assert found["DNABERT"] == tables + 12 * (12 * d * d + 13 * d)
    assert {model.config.d_model for model in GENOMICS} == {768, 512, 256}


def test_only_the_width_moves() -> None:
    for width in WIDTHS:
        config = translator(width, 300)
        assert config.d_model // config.h == 64
        assert config.d_ff == 4 * width
        assert config.encoder_layers == config.decoder_layers == 2


def test_the_best_width_is_the_one_that_the_numbers_name() -> None:
    _, narrow, _ = sentences(made_up([40.0, 20.0, 10.0]))
    assert "d_model 128 has the highest BLEU (40.0)" in narrow
    assert "The widest, 512, has 10.0: it has read 300 tokens, d_model 128 900" in narrow
    _, wide, same = sentences(made_up([10.0, 20.0, 40.0]))
    assert "d_model 512 has the highest BLEU (40.0)" in wide
    assert "The widest" not in wide
    assert "From the same 300 tokens, which all have read, d_model 512 learnt most" in same


def test_a_width_that_is_nearly_as_good_for_less_is_named() -> None:
    _, text, _ = sentences(made_up([39.5, 20.0, 40.0]))
    assert "d_model 512 has the highest BLEU (40.0); d_model 128 is within 1 of it" in text


def test_losses_are_compared_where_all_have_read_as_much() -> None:
    tokens, losses = common_tokens(made_up([1.0, 2.0, 3.0]).widths)
    assert tokens == 300
    # The first looks came after 150, 75 and 50 tokens, the last after 900, 450 and 300.
    halfway = {128: 4.0 - 1.0 * 150 / 750, 256: 4.0 - 1.5 * 225 / 375}
    assert losses == pytest.approx({**halfway, 512: 2.0})
    early = made_up([1.0, 2.0, 3.0]).widths[0]
    still = replace(early, curve=[early.curve[0]] * 2)  # a look without a step in between
    assert common_tokens([still])[1] == {128: 4.0}


def test_nothing_is_said_of_tokens_after_which_nobody_looked() -> None:
    found = made_up([1.0, 2.0, 3.0])
    late, *others = found.widths
    late = replace(late, curve=[replace(late.curve[0], tokens=301), late.curve[1]])
    found = replace(found, widths=[late, *others])
    assert common_tokens(found.widths)[1].keys() == {256, 512}
    assert not any("From the same" in sentence for sentence in sentences(found))


def test_everybody_is_looked_at_before_the_widest_has_read_its_last() -> None:
    # Arithmetic alone, and that only of training: what the narrowest gains on the widest.
    flop = [count_translator(translator(width, 2000), 16).flop for width in WIDTHS]
    assert default_study().course.looks[0] < min(flop) / max(flop)


def test_one_command_makes_report_numbers_and_picture(
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


def test_a_file_in_the_way_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "there"
    there.write_text("", encoding="utf-8")
    assert run(["compare", "d-model", "-o", str(there)]) == 2
    assert "is a file; give a directory" in capsys.readouterr().err
