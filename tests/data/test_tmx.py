import re
import tracemalloc
from pathlib import Path

import pytest

from clearhead.data.tmx import TmxPairs
from clearhead.errors import UserError


def tmx(directory: Path, body: str, encoding: str = "utf-8") -> TmxPairs:
    path = directory / "m.tmx"
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
    text = f'{head}<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'
    path.write_bytes(text.encode(encoding))
    return TmxPairs(path)


def unit(english: str, french: str, english_lang: str = "en", french_lang: str = "fr") -> str:
    sides = [(english_lang, english), (french_lang, french)]
    variants = (f'<tuv xml:lang="{lang}"><seg>{text}</seg></tuv>' for lang, text in sides)
    return f"<tu>{''.join(variants)}</tu>"


@pytest.mark.parametrize("languages", [("en-US", "fr-CA"), ("EN", "FR"), ("en_GB", "fr_FR")])
def test_a_language_matches_by_its_primary_part(languages: tuple[str, str], tmp_path: Path) -> None:
    assert list(tmx(tmp_path, unit("a", "b", *languages))) == [("a", "b")]


def test_the_old_lang_attribute_and_utf16_are_read(tmp_path: Path) -> None:
    body = unit("é", "ç").replace("xml:lang", "lang")
    assert list(tmx(tmp_path, body, "utf-16")) == [("é", "ç")]


def test_inline_codes_are_dropped_and_highlighted_words_kept(tmp_path: Path) -> None:
    english = (
        'The <bpt i="1">&lt;b&gt;</bpt>big<ept i="1">&lt;/b&gt;</ept> <hi>red <ph>x</ph>dog</hi>.'
    )
    assert list(tmx(tmp_path, unit(english, "A &amp; B"))) == [("The big red dog.", "A & B")]


def test_line_feeds_in_a_segment_are_spaces(tmp_path: Path) -> None:
    assert list(tmx(tmp_path, unit("\n  a\n  b\n", "c\u00a0?"))) == [("a b", "c\u00a0?")]


def test_units_without_both_languages_are_passed_over(tmp_path: Path) -> None:
    body = unit("a", "b", "en", "de") + unit("c", "d") + "<tu/>"
    assert list(tmx(tmp_path, body)) == [("c", "d")]


def test_a_file_without_the_languages_says_which_it_has(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"both en and fr \(languages found: de-AT, en\)") as error:
        list(tmx(tmp_path, unit("a", "b", "en", "de-AT")))
    assert "--set data.source_lang" in str(error.value) and "--target-lang" in str(error.value)


@pytest.mark.parametrize(
    ("target", "expected"), [("pt-BR", "ônibus"), ("pt_br", "ônibus"), ("pt", "autocarro")]
)
def test_of_two_regions_the_one_that_was_named_is_read(
    target: str, expected: str, tmp_path: Path
) -> None:
    body = unit("autocarro", "ônibus", "pt-PT", "pt-BR").replace(
        "<tu>", '<tu><tuv xml:lang="en"><seg>bus</seg></tuv>'
    )
    path = tmx(tmp_path, body).path
    assert list(TmxPairs(path, "en", target)) == [("bus", expected)]


def test_a_segment_is_never_the_translation_of_itself(tmp_path: Path) -> None:
    body = unit("bus", "autocarro", "en", "pt-PT") + unit("autocarro", "ônibus", "pt-PT", "pt-BR")
    path = tmx(tmp_path, body).path
    assert list(TmxPairs(path, "pt-PT", "pt-BR")) == [("autocarro", "ônibus")]
    with pytest.raises(UserError, match="both en and en"):
        list(TmxPairs(path, "en", "en"))


@pytest.mark.parametrize("content", [b"", b"not xml", b"<tmx><body><tu>"])
def test_what_is_no_xml_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.tmx").write_bytes(content)
    with pytest.raises(UserError, match=r"m\.tmx: not a complete XML file"):
        list(TmxPairs(tmp_path / "m.tmx"))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(units: int) -> int:
        pairs = tmx(tmp_path, unit("a few words", "quelques mots") * units)
        tracemalloc.start()
        assert sum(1 for _ in pairs) == units
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(10)
    assert peak(8_000) < 1.5 * peak(2_000)


ONE = f"<tmx><body>{unit('a', 'b')}</body></tmx>"


@pytest.mark.parametrize(
    "encoding", ["klingon", "utf-7", "shift_jis", "gb18030", "utf-32", "rot13", "idna", "hex", ""]
)
def test_an_encoding_that_cannot_be_read_is_one_line(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>{ONE}', encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(str(path))) as caught:
        list(TmxPairs(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tag", ["hi", "tu", "body"])
def test_deep_nesting_is_one_line(tag: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(f"<tmx><body><tu><tuv><seg>{f'<{tag}>' * 100_000}", encoding="utf-8")
    with pytest.raises(UserError, match="nested more than 100 deep"):
        list(TmxPairs(path))


def test_entities_that_multiply_are_refused(tmp_path: Path) -> None:
    entities = '<!ENTITY e0 "ha">' + "".join(
        f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12)
    )
    path = tmp_path / "m.tmx"
    path.write_text(
        f"<!DOCTYPE tmx [{entities}]><tmx><body>{unit('&e11;', 'b')}</body></tmx>",
        encoding="utf-8",
    )
    with pytest.raises(UserError, match="not a complete XML file"):
        list(TmxPairs(path))
