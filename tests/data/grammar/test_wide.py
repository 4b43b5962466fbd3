"""The wide grammar: disjoint splits, complete alignments, values that training never has."""

import re
from collections.abc import Callable
from itertools import islice

import pytest

from clearhead.data.grammar import (
    PHENOMENA,
    PRODUCTIONS,
    WIDE_SPLITS,
    GrammarPair,
    generate_wide,
    words,
)
from clearhead.data.grammar.bitext import english_text
from clearhead.data.grammar.lexicon import first_names
from clearhead.data.grammar.productions.carriers import carriers, carry
from clearhead.data.grammar.productions.slots import fill
from clearhead.data.grammar.splits import is_held_out
from clearhead.data.grammar.syntax import HELD_OUT_CONSTRUCTIONS
from clearhead.data.grammar.vocabulary import Draw, wide
from clearhead.errors import UserError

Pairs = tuple[GrammarPair, ...]
Sample = Callable[..., Pairs]


def everywhere(wide_sample: Sample, wide_train: Pairs) -> Pairs:
    rest = [split for split in WIDE_SPLITS if split != "train"]
    return wide_train + tuple(pair for split in rest for pair in wide_sample(split))


def test_alignments_stay_within_the_words_and_leave_none_out(
    wide_sample: Sample, wide_train: Pairs
) -> None:
    for pair in everywhere(wide_sample, wide_train):
        source, target = words(pair.source), words(pair.target)
        assert {s for s, _ in pair.alignment} == set(range(len(source))), pair
        assert {t for _, t in pair.alignment} == set(range(len(target))), pair
        assert set(pair.sure) <= set(pair.alignment)


def test_every_carrier_can_be_written_with_all_its_words_linked() -> None:
    rng = Draw.of(wide(), 17)
    for template in carriers():
        for _ in range(6):
            pair = carry(rng, template).pair()
            source, target = words(pair.source), words(pair.target)
            assert {s for s, _ in pair.alignment} == set(range(len(source))), pair
            assert {t for _, t in pair.alignment} == set(range(len(target))), pair


def test_one_english_sentence_has_one_french_sentence(
    wide_sample: Sample, wide_train: Pairs
) -> None:
    french: dict[str, str] = {}
    more = tuple(islice(generate_wide("train", 12), 3_000))
    for pair in (*everywhere(wide_sample, wide_train), *more):
        assert french.setdefault(pair.source, pair.target) == pair.target, pair.source


def test_no_sentence_is_in_two_splits_whatever_the_seeds(
    wide_sample: Sample, wide_train: Pairs
) -> None:
    seen: dict[str, str] = {pair.source: "train" for pair in wide_train}
    for split in WIDE_SPLITS:
        for pair in (*wide_sample(split), *wide_sample(split, 60, 1)):
            assert seen.setdefault(pair.source, split) == split, pair.source


@pytest.mark.parametrize("split", WIDE_SPLITS)
def test_same_seed_same_pairs(split: str) -> None:
    assert list(islice(generate_wide(split, 3), 20)) == list(islice(generate_wide(split, 3), 20))
    assert list(islice(generate_wide(split, 3), 20)) != list(islice(generate_wide(split, 4), 20))


def test_a_split_that_only_the_wide_grammar_has_is_offered_by_it_alone() -> None:
    with pytest.raises(UserError, match=r"'validation' is unknown; .*held_out_values"):
        next(generate_wide("validation"))


def test_held_out_constructions_never_meet_in_training(
    wide_sample: Sample, wide_train: Pairs
) -> None:
    for pair in (*wide_train, *wide_sample("dev"), *wide_sample("held_out_words")):
        assert not any(meeting <= pair.phenomena for meeting in HELD_OUT_CONSTRUCTIONS)
    for pair in wide_sample("held_out_constructions"):
        assert any(meeting <= pair.phenomena for meeting in HELD_OUT_CONSTRUCTIONS)


def test_held_out_names_are_never_in_training_but_in_dev_and_test(
    wide_sample: Sample, wide_train: Pairs
) -> None:
    kept_back = {name for name, _ in first_names() if is_held_out(f"name:{name}")}
    assert 0.03 < len(kept_back) / len(first_names()) < 0.15
    for pair in wide_train:
        assert not kept_back.intersection(words(pair.source)), pair.source
    for split in ("dev", "test", "held_out_values"):
        assert any(kept_back.intersection(words(p.source)) for p in wide_sample(split)), split


def test_held_out_times_and_dates_are_never_in_training(wide_train: Pairs) -> None:
    rng, kept_back = Draw.of(wide(), 5), set[str]()
    for _ in range(4_000):
        carried = carry(rng)
        kept_back |= {value for value in carried.values if is_held_out(value)}
    assert {value.partition(":")[0] for value in kept_back} >= {"name", "date", "time", "number"}
    for value in kept_back:
        kind, _, what = value.partition(":")
        if kind == "time":
            hour, minute = map(int, what.split(":"))
            written = f"{hour}\u00a0h\u00a0{minute:02d}"
            ends = re.compile(rf"(?<!\d){written}(?!\d)")
            assert not [p.target for p in wide_train if ends.search(p.target)], value


def test_the_phenomena_have_known_names_and_are_common(wide_train: Pairs) -> None:
    known = {*PHENOMENA, *PRODUCTIONS}
    counts = dict.fromkeys(known, 0)
    for pair in wide_train:
        assert pair.phenomena <= known
        for name in pair.phenomena:
            counts[name] += 1
    del counts["double_pronoun"]  # held out
    assert min(counts.values()) > 10, counts


def test_half_of_the_sentences_have_a_production(wide_train: Pairs) -> None:
    share = sum(pair.construction == "production" for pair in wide_train) / len(wide_train)
    assert 0.3 < share < 0.6


def test_long_sentences_are_longer_than_any_clause_in_training(
    wide_sample: Sample, wide_train: Pairs
) -> None:
    clauses = [pair for pair in wide_train if pair.construction != "production"]
    longest = [max(len(words(pair[side])) for pair in clauses) for side in (0, 1)]
    for pair in wide_sample("long", 60):
        assert len(words(pair.source)) > longest[0]
        assert len(words(pair.target)) > longest[1]


@pytest.mark.parametrize("slot", ["iso_date", "fever", "oven", "height", "ages"])
def test_whatever_form_a_value_has_it_may_be_held_out(slot: str) -> None:
    rng = Draw.of(wide(), 3)
    for _ in range(200):
        filling = fill(rng, slot)
        shown = english_text(filling.english)
        if found := re.fullmatch(r"\d{4}-(\d\d)-(\d\d)", shown):
            assert f"date:{int(found[1])}-{int(found[2])}" in filling.values, shown
        elif (found := re.match(r"\d[\d.]*", shown)) and len(found[0]) > 2:
            assert f"number:{found[0]}" in filling.values, shown
