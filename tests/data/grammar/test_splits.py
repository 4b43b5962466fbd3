"""The splits: disjoint, repeatable, and honest about what training has seen."""

import subprocess
import sys
from collections.abc import Callable
from itertools import islice

import pytest

from clearhead.data.grammar import PHENOMENA, SPLITS, GrammarPair, generate, words
from clearhead.data.grammar.syntax import HELD_OUT_CONSTRUCTIONS, HELD_OUT_WORDS
from clearhead.errors import UserError

Pairs = tuple[GrammarPair, ...]
Sample = Callable[..., Pairs]


def test_no_sentence_is_in_two_splits_whatever_the_seeds(sample: Sample, train: Pairs) -> None:
    seen: dict[str, str] = {}
    samples = {split: sample(split) + sample(split, 100, 1) for split in SPLITS}
    samples["train"] += train
    for split, pairs in samples.items():
        for pair in pairs:
            assert seen.setdefault(pair.source, split) == split, pair.source


@pytest.mark.parametrize("split", SPLITS)
def test_same_seed_same_pairs(split: str) -> None:
    assert list(islice(generate(split, 3), 50)) == list(islice(generate(split, 3), 50))
    assert list(islice(generate(split, 3), 50)) != list(islice(generate(split, 4), 50))


def test_pairs_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from itertools import islice; from clearhead.data.grammar import generate\n"
        "print([p[:3] for s in ('train', 'long') for p in islice(generate(s, 5), 200)])"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


def test_an_unknown_split_is_named_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="'validation' is unknown; choose one of train, dev"):
        next(generate("validation"))


def test_long_sentences_are_longer_than_any_in_training(sample: Sample, train: Pairs) -> None:
    longest = [max(len(words(pair[side])) for pair in train) for side in (0, 1)]
    for pair in sample("long"):
        assert len(words(pair.source)) > longest[0]
        assert len(words(pair.target)) > longest[1]


def test_held_out_constructions_never_meet_in_training(sample: Sample, train: Pairs) -> None:
    others = [pair for split in ("dev", "test", "held_out_words", "long") for pair in sample(split)]
    for pair in (*train, *others):
        assert not any(meeting <= pair.phenomena for meeting in HELD_OUT_CONSTRUCTIONS)
    kept_back = sample("held_out_constructions")
    for meeting in HELD_OUT_CONSTRUCTIONS:
        assert any(meeting <= pair.phenomena for pair in kept_back), meeting


def test_held_out_words_use_only_word_forms_that_training_has(sample: Sample, train: Pairs) -> None:
    """The forms and the constructions have been seen; only their meeting is new."""
    known = {w.lower() for pair in train for w in words(pair.target)}
    new = [w for p in sample("held_out_words", 500) for w in words(p.target)]
    unknown = [w for w in new if w.lower() not in known]
    # A rare person of a rare tense may be missing from a sample of this size.
    assert len(unknown) < len(new) / 100, unknown


def test_held_out_words_and_constructions_are_each_common_in_training(train: Pairs) -> None:
    seen = {w.lower() for pair in train for w in words(pair.source)}
    assert {word.lower().split()[0] for word, _ in HELD_OUT_WORDS} <= seen
    constructions = {name for pair in train for name in pair.phenomena}
    assert {name for _, name in HELD_OUT_WORDS} & set(PHENOMENA) <= constructions


@pytest.mark.parametrize("split", SPLITS)
def test_every_phenomenon_has_a_known_name(sample: Sample, split: str) -> None:
    for pair in sample(split):
        assert pair.phenomena <= set(PHENOMENA)


def test_every_phenomenon_is_common_in_training(train: Pairs) -> None:
    counts = dict.fromkeys(PHENOMENA, 0)
    for pair in train:
        for name in pair.phenomena:
            counts[name] += 1
    del counts["double_pronoun"]  # held out
    assert min(counts.values()) > 50, counts
