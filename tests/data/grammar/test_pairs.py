"""Pairs as a trainer and an aligner need them."""

import re
from collections import Counter
from itertools import islice, pairwise

from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.grammar import GrammarPair, generate, word_spans, words
from clearhead.data.grammar.english import takes_an
from clearhead.data.grammar.inflection import english_noun, ing, past, third_person
from clearhead.data.grammar.vocabulary import small

Pairs = tuple[GrammarPair, ...]


def test_one_english_sentence_has_one_french_sentence(everywhere: Pairs) -> None:
    french: dict[str, str] = {}
    for pair in (*everywhere, *islice(generate("train", 12), 10_000)):
        assert french.setdefault(pair.source, pair.target) == pair.target, pair.source


def test_alignments_stay_within_the_words_and_leave_none_out(everywhere: Pairs) -> None:
    for pair in everywhere[-3000:]:
        source, target = words(pair.source), words(pair.target)
        assert {s for s, _ in pair.alignment} == set(range(len(source))), pair
        assert {t for _, t in pair.alignment} == set(range(len(target))), pair


def test_alignment_ties_content_words_to_their_translations(train: Pairs) -> None:
    french = {"cat": "chat", "cats": "chats", "house": "maison", "happy": "heureux", "he": "il"}
    for pair in train:
        source, target = words(pair.source.lower()), words(pair.target.lower())
        for s, t in pair.alignment:
            if source[s] in ("cat", "cats", "house") and target[t] not in ("le", "la", "les"):
                assert target[t] in ("l'", french[source[s]]), pair


def test_punctuation_is_aligned_with_punctuation_alone(train: Pairs) -> None:
    for pair in train[:5000]:
        last = (len(words(pair.source)) - 1, len(words(pair.target)) - 1)
        ends = [link for link in pair.alignment if link[0] == last[0] or link[1] == last[1]]
        assert ends == [last], pair


def test_negation_is_aligned_with_both_its_halves(train: Pairs) -> None:
    for pair in train[:5000]:
        source, target = words(pair.source.lower()), words(pair.target.lower())
        for index, text in enumerate(source):
            if text in ("not", "never", "cannot") or text.endswith("n't"):
                linked = {target[t] for s, t in pair.alignment if s == index}
                assert linked & {"ne", "n'"} and linked & {"pas", "jamais"}, pair


def test_all_links_are_sure_but_those_of_est_ce_que_and_ne(train: Pairs) -> None:
    for pair in train[:5000]:
        target = words(pair.target.lower())
        possible = {target[t] for _, t in set(pair.alignment) - set(pair.sure)}
        assert set(pair.sure) <= set(pair.alignment)
        assert possible <= {"est-ce", "que", "qu'", "ne", "n'"}, pair
        assert possible >= {"est-ce", "ne", "n'"} & set(target), pair


def test_a_or_an_goes_by_sound(train: Pairs) -> None:
    assert all(map(takes_an, ("apple", "old", "honest", "uncle", "intelligent")))
    assert not any(map(takes_an, ("university", "useful", "house", "happy", "wolf", "honey")))
    wrong = re.compile(r"\ba [aeio]|\ban (?![aeiou]|hon)|\ba (?:hon|umb)", re.IGNORECASE)
    assert not [pair.source for pair in train if wrong.search(pair.source)]


def test_more_than_four_hundred_lemmas_each_often_enough_to_be_learned(train: Pairs) -> None:
    counts = Counter(w for pair in train for w in words(pair.source.lower()))
    lemmas = {n.english: {n.english, english_noun(n, True)} for n in small().nouns}
    for verb in small().verbs:
        base = verb.english[0]
        forms = {base, past(base), ing(base), third_person(base)}
        lemmas[verb.lemma] = forms if base != "be" else {verb.english[1]}
    lemmas |= {a.english: {a.english.lower(), *a.comparative.split()} for a in small().adjectives}
    seen = {lemma: sum(counts[form] for form in forms) for lemma, forms in lemmas.items()}
    assert len(lemmas) > 400
    rare = {lemma: count for lemma, count in seen.items() if count < 30}
    assert not rare, rare


def test_words_of_both_languages() -> None:
    assert words("Doesn't Paul's friend sleep?") == [
        "Doesn't",
        "Paul",
        "'s",
        "friend",
        "sleep",
        "?",
    ]
    assert words("Qu'est-ce qu'elle n'a pas vu\u202f?") == [
        "Qu'", "est-ce", "qu'", "elle", "n'", "a", "pas", "vu", "?",
    ]  # fmt: skip
    assert words("L’ami d'Alice, aujourd'hui") == ["L’", "ami", "d'", "Alice", ",", "aujourd'hui"]


@given(st.text())
def test_word_spans_are_the_words_in_order_and_cover_all_but_space(text: str) -> None:
    spans = word_spans(text)
    assert [text[a:b] for a, b in spans] == words(text)
    assert all(a < b for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in pairwise(spans))
    covered = "".join(text[a:b] for a, b in spans)
    assert covered == "".join(text.split()) or sorted(covered) == sorted("".join(text.split()))
