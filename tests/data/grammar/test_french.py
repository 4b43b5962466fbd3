"""What a French reader would object to must never come out."""

import re
from itertools import pairwise, product

from clearhead.data.grammar import GrammarPair, words
from clearhead.data.grammar.inflection import french_adjective, french_noun
from clearhead.data.grammar.vocabulary import small

Pairs = tuple[GrammarPair, ...]

VOWEL = r"(?=(?:[aeiouâàéèêëîïôœ]|y |h(?!éro|ibou|ériss|aricot|ache|arpe|ockey|uit))\w*)(?!onz)"
FORBIDDEN = {
    "a missed elision": rf"(?<![\w-])(?:le|la|je|me|te|se|ne|de|que|jusque) {VOWEL}",
    "si il": r"(?<!\w)si ils?\b",
    "a missed contraction": r"(?<!\w)(?:de|à) les?\b",
    "a contraction before a vowel": rf"(?<!\w)(?:au|du) {VOWEL}",
    "a missed vowel form": rf"\bun (?:beau|nouveau|vieux) {VOWEL}|(?<!\w)(?:ce|ma|ta|sa) {VOWEL}",
    "an elision before h aspiré": r"'(?:héros|hibou|hériss|haricot|hache|harpe|hockey)",
    "an elision before a consonant": r"'[bcdfgjklmnpqrstvwxz]",
    "a space before a comma or full stop": r"\s[.,]",
    "a doubled space or word": r"  |\b(\w+) \1\b",
}


def test_nothing_forbidden_is_written(everywhere: Pairs) -> None:
    for name, pattern in FORBIDDEN.items():
        rule = re.compile(pattern, re.IGNORECASE)
        for pair in everywhere:
            assert not rule.search(pair.target.replace("ous nous", "ous")), (name, pair.target)


def test_a_sentence_begins_with_a_capital_and_ends_with_its_mark(everywhere: Pairs) -> None:
    for pair in everywhere:
        for side in pair[:2]:
            assert side[0].isupper() and side[-1] in ".?!"
        assert pair.source[-1] == pair.target[-1]
        if pair.target[-1] in "?!":
            assert pair.target[-2] == "\u202f"


def test_articles_and_adjectives_agree_with_their_noun(everywhere: Pairs) -> None:
    """Read back from the text alone: DET NOUN and NOUN ADJ must share gender and number."""
    noun_forms = shapes_of_nouns()
    masculine, feminine = (False, False), (True, False)
    articles = {
        "un": {masculine}, "une": {feminine}, "du": {masculine}, "au": {masculine},
        "cette": {feminine}, "cet": {masculine},
        "ces": {(False, True), (True, True)},
        "mes": {(False, True), (True, True)}, "ma": {feminine}, "sa": {feminine},
    }  # fmt: skip
    checked = 0
    for pair in everywhere:
        text = words(pair.target.lower())
        for left, right in pairwise(text):
            if left in articles and right in noun_forms:
                checked += 1
                assert articles[left] & noun_forms[right], (left, right, pair.target)
    assert checked > 1000


def shapes_of_nouns() -> dict[str, set[tuple[bool, bool]]]:
    shapes: dict[str, set[tuple[bool, bool]]] = {}
    for noun, plural in product(small().nouns, (False, True)):
        shapes.setdefault(french_noun(noun, plural), set()).add((noun.feminine, plural))
    return shapes


def test_an_adjective_after_its_noun_agrees_with_it(everywhere: Pairs) -> None:
    agreeing: dict[str, set[tuple[bool, bool]]] = {}
    for adjective, *shape in product(small().adjectives, (False, True), (False, True)):
        if adjective.position == "after":
            form = french_adjective(adjective, *shape)
            agreeing.setdefault(form, set()).add((shape[0], shape[1]))
    shapes, checked = shapes_of_nouns(), 0
    for pair in everywhere:
        for left, right in pairwise(words(pair.target)):
            if left in shapes and right in agreeing:
                checked += 1
                assert shapes[left] & agreeing[right], (left, right, pair.target)
    assert checked > 500


BEEN = r"(?:n'|ne )?(?:est|sont|suis|sommes|es) (?:pas )?(arriv|part|tomb|all|reven|entr|rest)"


def test_with_être_the_participle_agrees_with_the_subject(everywhere: Pairs) -> None:
    for pair in everywhere:
        found = re.match(rf"(Elle|Il|Ils|Je|Nous|Tu) {BEEN}(\w+)\b", pair.target)
        if found:
            feminine = found[1] == "Elle"
            plural = found[1] in ("Ils", "Nous")
            ending = found[3].removeprefix("é").removeprefix("i").removeprefix("u")
            assert ending == "e" * feminine + "s" * plural, pair.target
