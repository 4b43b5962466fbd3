"""Markup is taken out of a text, and placed around the same words of its translation."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions
from clearhead.native.choice import EngineName
from clearhead.text.word_labels import Weights, units
from clearhead.translation import Translator
from clearhead.translation.markup import Mark, Marked, place, take_out
from tests.translation.tiny import translator

TAG = re.compile(r"<(/?)(\w+)( /)?>")
NAMES = ["b", "i", "em", "span", "u"]
WORDS = ["red", "car", "l'homme", "well-known", "3,5", ",", ".", "«", "I"]


@st.composite
def nested(draw: st.DrawFn, depth: int = 0) -> str:
    """Words and pairs of tags around some of them."""
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.integers(0, 5))
        if kind == 0 and depth < 4:
            name, inside = draw(st.sampled_from(NAMES)), draw(nested(depth + 1))
            parts.append(f"<{name}>{inside}</{name}>")
        elif kind == 1:
            parts.append(draw(st.sampled_from(["<x />", "<b></b>", "`code`"])))
        else:
            parts.append(draw(st.sampled_from(WORDS)))
    return draw(st.sampled_from([" ", " ", ""])).join(parts)


def is_nested(text: str) -> bool:
    waiting: list[str] = []
    for end, name, alone in TAG.findall(text):
        if end and (not waiting or waiting.pop() != name):
            return False
        if not end and not alone:
            waiting.append(name)
    return not waiting


def tags(text: str) -> list[str]:
    return sorted(match[0] for match in TAG.finditer(text))


def diagonal(source: str, target: str) -> Weights:
    """Each unit of the translation attends to the one in the same position."""
    return np.eye(len(units(target)), len(units(source)))


@settings(max_examples=300)
@given(nested(), st.lists(st.sampled_from(WORDS)), st.integers(0, 2**32 - 1))
def test_every_tag_is_placed_once_and_pairs_stay_nested(
    text: str, words: list[str], seed: int
) -> None:
    source, target = take_out(text), " ".join(words)
    assert source.full() == text
    shape = len(units(target)), len(units(source.plain))
    placed = place(source, target, np.random.default_rng(seed).random(shape))
    assert placed.plain == target and tags(placed.full()) == tags(text)
    assert is_nested(placed.full()), placed.full()
    assert placed.full().count("`code`") == text.count("`code`")


@given(nested(), st.lists(st.sampled_from(WORDS)), st.integers(0, 2**32 - 1))
def test_a_mark_never_cuts_a_word(text: str, words: list[str], seed: int) -> None:
    source, target = take_out(text), " ".join(words)
    shape = len(units(target)), len(units(source.plain))
    placed = place(source, target, np.random.default_rng(seed).random(shape))
    for mark in placed.marks:
        assert not any(start < mark.start < end for start, end in units(target))


@given(nested())
def test_a_translation_with_the_same_words_has_the_same_markup(text: str) -> None:
    source = take_out(text)
    placed = place(source, source.plain, diagonal(source.plain, source.plain))
    assert tags(placed.full()) == tags(text)


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("the <b>red</b> car", "la voiture rouge", [0, 2, 1], "la voiture <b>rouge</b>"),
        ("<b>the red</b> car", "la voiture rouge", [0, 2, 1], "<b>la</b> voiture rouge"),
        ("the *old* tree", "l'arbre vieux", [0, 2, 1], "l'arbre *vieux*"),
        ("**Note:** a b", "Note : a b", [0, 1, 2, 3], "**Note :** a b"),
        ("**yes**, sir", "oui, monsieur", [0, 0, 2], "**oui**, monsieur"),
        ("a [b](x_y) c", "c b a", [2, 1, 0], "c [b](x_y) a"),
        ("a `b` c", "c X1 a", [2, 1, 0], "c `b` a"),
        ("a `b` c", "c a", [2, 0], "c a `b`"),
        ("a<br-x/> b", "a b", [0, 1], "a<br-x/> b"),
        ("<i>a</i> <b>c</b>", "x", [0], "<i><b>x</b></i>"),
        ("a <b>b</b>", "", [], "<b></b>"),
    ],
)
def test_tags_follow_the_alignment(
    source: str, target: str, links: Sequence[int], expected: str
) -> None:
    marked = take_out(source)
    weights = np.zeros((len(links), len(units(marked.plain))))
    weights[range(len(links)), links] = 1.0
    assert place(marked, target, weights).full() == expected


def test_tags_of_pairs_that_another_sentence_closes_keep_their_order() -> None:
    marked = Marked("ab c", [Mark(0, 0, "<b>"), Mark(2, 2, "<i>"), Mark(3, 3, "<u>")])
    weights = np.array([[0.0, 1.0]])
    assert place(marked, "c", weights).full() == "<b><i><u>c"


def test_a_word_without_weight_takes_that_of_its_neighbour() -> None:
    marked = take_out("a <b>b</b> c d")
    weights = np.array([[0, 0, 0, 1], [0, 0, 1, 0]], dtype=float)
    assert place(marked, "d c", weights).full() == "d <b>c</b>"


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3 * 4",
        "snake_case_name and other_case_name",
        "a < b and c > d",
        "if a <b and c> d",
        "* a list\n* of two",
        "5* hotels and 4* hotels",
        "*args and **kwargs",
        "^_^ yes ^_^",
        r"\*not\* this",
        "[x] done [ ] not",
        "Price* and terms*",
        "https://example.org/a_b_c*d* is",
        "<me@example.org> 1 <3 2",
        "[[1, 2], [3, 4]] and x = '' or ''",
        "5'' and 7'' and ``a ''b",
        r"{a} or \{b\} or {\d}",
        r"Hello,\nMary and regards\tBob",
        r"don\'t say \"yes\"",
        "$5 and $10, US$7 or $8-$9",
        "$HOME, ${HOME} and 50% of {name}: %s",
        '<p class="_a_ *b*">text</p>',
        "`open",
    ],
)
def test_what_is_not_markup_stays_in_the_text(text: str) -> None:
    assert (take_out(text).plain, list(take_out(text).marks)) == (text, [])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**a** *b* _c_ ~~d~~", "a b c d"),
        ('***a*** [b](c "d") ![e](f)', "a b e"),
        ('<a href="x>y">b</a> <SPAN class=c>d</SPAN>', "b d"),
        ("run `a b` and ``c ` d``", "run X1 and X2"),
        ("X1 is `a`", "X1 is X2"),
        ("H<sub>2</sub>O, cats<sup>1</sup> and x[^1]", "X1, cats and x"),
        ("a <b/> b", "a b"),
        ("a\n```py\nx = *y*\n```\nb", "a\n\n\nb"),
        ("a\n~~~\nb\n```\n", "a\n\n\n"),
        ("a <pre>b\n\nc</pre> d", "a \n d"),
        ("**a\nb**", "**a\nb**"),
        ("The `list`s and <code>Tensor</code>s", "The X1 and X2"),
        ("<b>1</b><b>2</b> cats", "1\n2 cats"),
        ("[1](#a)[2](#b)", "1\n2"),
        ("un<b>believ</b><i>able</i>", "unbeliev\nable"),
        ("\u200bThe\xad \x1b[31mcat\x1b[0m\x00", "The cat"),
        ('<a href="x" download>b</a> <b data-x hidden>d</b>', "b d"),
        ("- ```sh\n  a b\n  ```\n- c", "\n\n- c"),
        ("''a'' '''b''' [[c]] [[d|e]] [[File:f.jpg|thumb|g]]", "a b c e g"),
        ("[[https://a.org][b]] [[1](c)]", "b [1]"),
        (r"\section{a \emph{b}} {\bf c} ``d e'' \href{https://a.org}{f}", "a b c d e f"),
        (r"\textbf{a}\footnote{B.} c~\cite[p. 2]{d,e} \LaTeX{} {f}", "a\nB. c~X1 X2 {f}"),
    ],
)
def test_markup_is_taken_out(text: str, plain: str) -> None:
    marked = take_out(text)
    assert marked.plain == plain and marked.full() == text


def test_a_sentence_has_the_tags_that_it_opens_and_closes() -> None:
    text = take_out("<b>One.</b> <i>Two.</i> <u>Three. Four.</u>")
    spans = [(0, 4), (5, 9), (10, 16), (17, 22)]
    parts = [text.sentence(*span) for span in spans]
    full = [part.full() for _, part in parts]
    assert full == ["<b>One.</b>", "<i>Two.</i>", "<u>Three.", "Four.</u>"]
    assert [text.full()[slice(*span)] for span, _ in parts] == full
    assert [mark.partner for mark in parts[2][1].marks] == [0]


def test_words_are_counted_with_the_markup() -> None:
    marked = Marked("a b c", [Mark(2, 2, '<a href="x">'), Mark(3, 3, "</a>")])
    assert marked.words() == [0, 2, 3]


FAST = DecodingOptions(beam_size=1, max_length=8)


@settings(max_examples=25, deadline=None)
@given(st.lists(nested(), min_size=1, max_size=3))
def test_a_translator_keeps_every_tag_in_a_text_as_in_a_batch(texts: list[str]) -> None:
    t = translator()
    found = [best.text for (best,) in t.translate_detailed(texts, FAST)]
    assert found == [t.translate_detailed([text], FAST)[0][0].text for text in texts]
    for text, translation in zip(texts, found, strict=True):
        assert tags(translation) == tags(text) and is_nested(translation)


EXAMPLES = {
    "<li>I like the <b>red</b> car.</li>": "<li>J'aime la voiture <b>rouge</b>.</li>",
    "the **old** chair": "la **vieille** chaise",
    "''The cat'' is '''very''' old.": "''Le chat'' est '''très''' vieux.",
    "The [[dog]] is here.": "Le [[chien]] est là.",
    "[[Paris|The capital]] is old.": "[[Paris|La capitale]] est vieille.",
    "Run `git status` to see the changes.": "Exécutez `git status` pour voir les modifications.",
    "\u200bGood morning.\u200e": "\u200bBonjour.\u200e",
    "<b>Good morning.</b>\n```\nGood morning.\n```": "<b>Bonjour.</b>\n```\nGood morning.\n```",
}


@pytest.mark.parametrize("engine", ["native", "readable"])
def test_the_shipped_translator_keeps_markup(engine: EngineName) -> None:
    t = Translator.from_pretrained(engine=engine)
    assert t.translate(list(EXAMPLES)) == list(EXAMPLES.values())


def test_letters_that_touch_code_stay_with_it() -> None:
    texts = ["The `list`s and `dict`s are here.", "pre`code` is here.", "All `int`8 values."]
    for text, code in zip(texts, ["`list`s", "`code`", "`int`8"], strict=True):
        (translation,) = Translator.from_pretrained().translate([text])
        assert code in translation and not re.search(r"X\d", translation)


GLUCOSE = "C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>"
TOUCHING = [
    ("Press <kbd>Ctrl</kbd><kbd>C</kbd> to stop.", "<kbd>Ctrl</kbd><kbd>C</kbd>"),
    (f"{GLUCOSE} is sugar.", GLUCOSE),
    ("It is `super`califragilistic.", "`super`califragilistic"),
    ("`a`**b** is here.", "`a`**b**"),
    ("file`, `open` and `close` are useful for `pipeline`.", "file`, `open` et `close`"),
]


@pytest.mark.parametrize(("text", "copied"), TOUCHING)
def test_no_name_of_code_is_left_in_a_translation(text: str, copied: str) -> None:
    (translation,) = Translator.from_pretrained().translate([text])
    assert copied in translation and not re.search(r"X\d", translation)


READ_BY_PROGRAMS = [
    ("You have {{count}} new messages.", "{{count}}"),
    ("Hello {{ user.name }}, you are {{ user.age }} years old.", "{{ user.age }}"),
    ("You have %(count)d new messages.", "%(count)d"),
    ("%d%% completed", "%d%%"),
    ("The value must be at least {min} and at most {max}.", "{max}"),
    ("We define $\\frac{a}{b} \\leq \\sum_{i=1}^{n} x_i$.", "$\\frac{a}{b} \\leq \\sum_{i=1}^{n}"),
    ("The growth was 50\\% in 2010.", "50\\%"),
    ("The IP addresses are 10.0.0.1 and 255.255.255.0.", "255.255.255.0"),
    ("The server is 192.168.0.1:8080.", "192.168.0.1:8080"),
    ("2024-01-05 12:03:45 The file was not found.", "12:03:45"),
    (r"The files of Mary are in C:\Users\mary and \\server\docs.", r"\\server\docs"),
    (r"It was found by G\"odel, Poincar\'e and Erd\H{o}s~\cite[p.~2]{a,b}.", r"Poincar\'e"),
    (r"We use \texttt{torch} and \verb|x y| in \LaTeX{} \ldots", r"\verb|x y|"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "copied"), READ_BY_PROGRAMS)
def test_placeholders_formulas_and_addresses_are_copied(text: str, copied: str) -> None:
    (translation,) = Translator.from_pretrained().translate([text])
    assert copied in translation and not re.search(r"X\d", translation)


def test_all_hypotheses_their_links_and_doubts_hold_markup() -> None:
    t = Translator.from_pretrained()
    options = DecodingOptions(n_best=3)
    text = "I like the <a href='x y'>red car</a>."
    found = t.translate_detailed([text], options, -1, mark_doubt=True)[0]
    plain = t.translate_detailed(["I like the red car."], options, -1, mark_doubt=True)[0]
    assert [re.sub("<[^>]*>", "", one.text) for one in found] == [one.text for one in plain]
    assert [(one.score, one.doubt) for one in found] == [(one.score, one.doubt) for one in plain]
    words, source = found[0].text.split(), text.split()
    assert all(s < len(source) and t < len(words) for s, t in found[0].alignment or ())
    links = {words[t]: source[s] for s, t in found[0].alignment or ()}
    assert links["J'aime"] == "like" and "car" in links["y'>voiture"]
