from pathlib import Path

import pytest
import torch

from clearhead.compare.clearhead_training import NAME
from clearhead.compare.didactic_loop import DidacticLoop, FixedLength
from clearhead.compare.epoch_race import DIDACTIC, Epoch, epoch_heat
from clearhead.compare.task import read_numbers
from clearhead.data import Pair
from clearhead.data.encoded import EncodedCorpus
from tests.compare.sizes import CONFIG

PAIRS = [Pair("3 4 5", "6"), Pair("7", "8 9 10 11"), Pair("12 13", "14 15"), Pair("16", "17")]


@pytest.fixture
def corpus(tmp_path: Path) -> EncodedCorpus:
    return EncodedCorpus.build(PAIRS, read_numbers, tmp_path / "ids", 9)


def test_the_longest_sentence_and_all_target_tokens_are_counted(corpus: EncodedCorpus) -> None:
    epoch = Epoch(CONFIG, corpus, 64)
    assert epoch.longest == 4 + 1
    assert epoch.target_tokens == 8 + 4  # an end sign each


def test_fixed_padding_fills_every_sentence_to_the_longest(corpus: EncodedCorpus) -> None:
    pairs = FixedLength(corpus, CONFIG, 5)
    assert len(pairs) == len(PAIRS)
    source, target = pairs[1]
    assert source.tolist() == [7, CONFIG.eos_id, 0, 0, 0]
    assert target.tolist() == [8, 9, 10, 11, CONFIG.eos_id]


def test_the_didactic_loop_learns_from_each_pair_once_an_epoch(corpus: EncodedCorpus) -> None:
    torch.manual_seed(1)
    loop = DidacticLoop(corpus, CONFIG, rows=3, seq_len=5)
    for _ in range(2):
        assert loop.step() + loop.step() == Epoch(CONFIG, corpus, 64).target_tokens


def test_both_sides_walk_and_the_sample_is_said(corpus: EncodedCorpus) -> None:
    heat, remarks = epoch_heat(Epoch(CONFIG, corpus, 16), 0.0, 2, lambda line: None)
    names = list(heat.laps)
    assert names[0] == DIDACTIC and all(name.startswith(NAME) for name in names[1:])
    assert all(len(own) == 2 and all(lap.work > 0 for lap in own) for own in heat.laps.values())
    assert heat.duels[0].theirs == DIDACTIC and heat.duels[0].bar == 4.0
    assert heat.notes[DIDACTIC] == "40 % padding"  # 12 of 4 · 5 places are filled
    assert "longest sentence, 5 tokens, 3 pairs a batch" in remarks[0]
    assert "a whole epoch (12 target tokens)" in remarks[1]
