import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.first_sentences import DATA, read_sentences
from clearhead.errors import UserError
from corpus import typography as command
from corpus.typography import typography

FOLDER = Path(__file__).parents[2] / "corpus" / "en_fr"
FORMS = FOLDER / "forms"  # as people type and paste: its English keeps its own punctuation
SET_ASIDE = [DATA.with_name(f"{kind}_held_out.tsv") for kind in ("documentation", "prose")]
COPY = re.compile(r"`[^`]*`|\S*[/\\@_#=]\S*|\w[\w-]*(?:[.:?&!]\w+)+|[:;]-?[()DP]")
END = re.compile(r"[.!?…:](?=[\")»\s]*$)")


class Pair(NamedTuple):
    """An English sentence, its French translation, and where they stand."""

    english: str
    french: str
    location: str


def themes() -> list[str]:
    """The themes of the table in the README."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)


def read(folder: Path) -> Iterator[Pair]:
    """Read every corpus file.

    Raises:
        UserError: the theme of a file is unknown, a file is empty, or a line is no pair.
    """
    for path in sorted(folder.glob("*.tsv")):
        if path.stem not in themes():
            raise UserError(f"{path}: unknown theme; add it to the table in README.md")
        yield from read_file(path)


def read_file(path: Path) -> Iterator[Pair]:
    """Read one file of pairs; errors as of `read`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines:
        raise UserError(f"{path}: empty file; write one pair a line, or delete the file")
    for number, line in enumerate(lines, 1):
        sides = line.split("\t")
        if len(sides) != 2 or not all(side.strip() for side in sides):
            raise UserError(f"{path}, line {number}: expected English, a tab, and French")
        yield Pair(*sides, f"{path.name}:{number}")


PAIRS = list(read(FOLDER))
PASTED = list(read(FORMS))
HELD_OUT = [(sentence.source, sentence.references) for sentence in read_sentences(DATA)]
HELD_OUT += [(pair.english, [pair.french]) for path in SET_ASIDE for pair in read_file(path)]


def words(text: str) -> list[str]:
    """The words of a text; punctuation and emoji by themselves are not counted."""
    return [word for word in text.split() if re.search(r"\w", word)]


def normalized(text: str) -> str:
    """A text as its letters and digits, so that case and punctuation hide no duplicate."""
    return "".join(re.findall(r"\w", text.casefold()))


def prose(text: str) -> str:
    """A text without code, addresses and file names, which keep their own punctuation."""
    return COPY.sub("copie", text)


def wrong(is_wrong: Callable[[Pair], object], pairs: list[Pair] | None = None) -> list[str]:
    """The lines of these pairs (default: the edited ones) that are wrong."""
    found = filter(is_wrong, PAIRS if pairs is None else pairs)
    return [f"{pair.location}: {pair.english} | {pair.french}" for pair in found]


def test_the_folders_hold_pairs() -> None:
    assert PAIRS and PASTED


def test_lines_end_with_a_line_feed_only() -> None:
    for path in (*FOLDER.glob("*.tsv"), *FORMS.glob("*.tsv")):
        content = path.read_bytes()
        assert b"\r" not in content, path
        assert content.endswith(b"\n"), path


def test_texts_are_nfc_with_single_spaces() -> None:
    def odd(text: str) -> bool:
        spaces = re.search(r"\s\s", text) or text != text.strip()
        return bool(spaces) or text != unicodedata.normalize("NFC", text)

    assert not wrong(lambda pair: odd(pair.english) or odd(pair.french), PAIRS + PASTED)


def test_english_has_straight_quotes_and_ordinary_spaces() -> None:
    assert not wrong(lambda pair: re.search("[’‘“”«»\u00a0\u202f]", pair.english))


def test_english_punctuation_follows_its_word() -> None:
    assert not wrong(lambda pair: re.search(r"\w [,.;!?](?!\w)", prose(pair.english)))


def test_french_has_straight_apostrophes() -> None:
    assert not wrong(lambda pair: "’" in pair.french)


def test_french_quotations_have_guillemets() -> None:
    assert not wrong(lambda pair: '"' in prose(pair.french))
    assert not wrong(lambda pair: pair.french.count("«") != pair.french.count("»"))


def test_french_is_as_the_normalizer_sets_it() -> None:
    """If this fails: python corpus/typography.py corpus/en_fr/*.tsv."""
    assert not wrong(lambda pair: typography(pair.french) != pair.french, PAIRS + PASTED)


def test_french_punctuation_has_its_no_break_space() -> None:
    before = "(?<![\u202f!?])[;!?]|(?<![\u00a0\\d]):|(?<!\u00a0)»|(?<=\\d)[%€]"
    marks = rf"{before}|«(?!\u00a0)|\w [,.](?!\w)"
    assert not wrong(lambda pair: re.search(marks, prose(pair.french)))


def test_a_side_has_2_to_30_words_or_is_a_short_text_as_people_paste_it() -> None:
    def odd(text: str, least: int) -> bool:
        return not least <= len(words(text)) <= 30

    assert not wrong(lambda pair: odd(pair.english, 2) or odd(pair.french, 2))
    assert not wrong(lambda pair: odd(pair.english, 0) or odd(pair.french, 0), PASTED)


def test_both_sides_end_with_punctuation_or_neither() -> None:
    def odd(pair: Pair) -> bool:
        english, french = (bool(END.search(side)) for side in (pair.english, pair.french))
        # As typed in a chat: no final mark in English; the translation is punctuated as usual.
        chat = pair.english[0].islower() or pair.location.startswith("informal_and_copied")
        return english != french and not (chat and french)

    assert not wrong(odd)


def test_no_pair_occurs_twice() -> None:
    locations = defaultdict(list)
    for pair in PAIRS:
        locations[normalized(pair.english)].append(pair.location)
    for pair in PASTED:  # *Dog* and *dog*, … and ...: each form occurs
        locations[pair.english].append(pair.location)
    assert not {text: found for text, found in locations.items() if len(found) > 1}


def test_code_and_addresses_are_copied() -> None:
    copied = re.compile(r"`[^`]*`|https?://[^\s<>\"]+[\w/]|[\w.+-]+@\S+\w|(?<![\w&])#\w+")

    def copies(text: str) -> Counter[str]:
        return Counter(copied.findall(text))

    assert not wrong(lambda pair: copies(pair.english) != copies(pair.french), PAIRS + PASTED)


def test_no_pair_is_held_out() -> None:
    english, french = set(), set()
    for source, references in HELD_OUT:
        english.add(normalized(source))
        french.update(map(normalized, references))
    assert not wrong(lambda pair: normalized(pair.english) in english, PAIRS + PASTED)
    assert not wrong(lambda pair: normalized(pair.french) in french, PAIRS + PASTED)


def test_no_pair_shares_most_of_its_words_with_a_held_out_sentence() -> None:
    """A pair that differs from a sentence in a word or two would teach its translation."""

    def bag(text: str) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", text.casefold()))

    held_out = [words for source, _ in HELD_OUT if len(words := bag(source)) > 3]
    having = defaultdict(set)
    for sentence in held_out:
        for word in sentence:
            having[word].add(sentence)

    def close(pair: Pair) -> bool:
        words = bag(pair.english)
        # Of words that are shared to 60 %, any 40 % and one more contain a shared one.
        rarest = sorted(words, key=lambda word: len(having[word]))[: int(0.4 * len(words)) + 1]
        similar = set[frozenset[str]]().union(*(having[word] for word in rarest))
        return any(len(words & other) >= 0.6 * len(words | other) for other in similar)

    assert not wrong(close, PAIRS + PASTED)


def test_the_themes_of_the_readme_are_sorted_and_distinct() -> None:
    assert themes() == sorted(set(themes()))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("astrology.tsv", "Yes.\tOui.\n", r"astrology\.tsv: unknown theme"),
        ("science.tsv", "", r"science\.tsv: empty"),
        ("science.tsv", "A cat.\tUn chat.\nA dog.\n", r"science\.tsv, line 2: expected"),
        ("science.tsv", "A cat.\tUn chat.\nA dog.\t \n", r"science\.tsv, line 2: expected"),
        ("science.tsv", "A cat.\tUn chat.\tCC0\n", r"science\.tsv, line 1: expected"),
    ],
)
def test_a_malformed_file_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        list(read(tmp_path))


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ("« Oui » : non ; si ?", "«\u00a0Oui\u00a0»\u00a0: non\u202f; si\u202f?"),
        ("Il est 15 h 30 !", "Il est 15\u00a0h\u00a030\u202f!"),
        ("à 9 h, le n° 5", "à 9\u00a0h, le n°\u00a05"),
        ("1 250,50 € et 5,2 %", "1\u202f250,50\u00a0€ et 5,2\u00a0%"),
        ("12 500 000 phrases", "12\u202f500\u202f000 phrases"),
        ("le 06 12 34 56 78", "le 06 12 34 56 78"),
        ("en 2017 300 essais", "en 2017 300 essais"),
        ("en 2019 l'usine, le 207 s'arrête", "en 2019 l'usine, le 207 s'arrête"),
        ("`a ? b : c` ?", "`a ? b : c`\u202f?"),
        ("l’e\u0301té", "l'été"),
    ],
)
def test_the_normalizer_sets_no_break_spaces_once(plain: str, expected: str) -> None:
    assert typography(plain) == expected
    assert typography(expected) == expected


def test_an_elided_word_after_a_number_is_no_unit() -> None:
    assert not wrong(lambda pair: re.search(r"\d\u00a0[lmst]'", pair.french), PAIRS + PASTED)


def test_the_normalizer_rewrites_the_french_side_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "science.tsv"
    path.write_text("12 000 ; why ?\tAh !\nNo pair !\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["typography.py", str(path)])
    command.main()
    assert path.read_text(encoding="utf-8") == "12 000 ; why ?\tAh\u202f!\nNo pair !\n"
