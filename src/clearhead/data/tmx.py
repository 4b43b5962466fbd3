"""Translation Memory eXchange (TMX 1.4b): the XML in which translators keep their pairs."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from pathlib import Path

from clearhead.data.lines import one_line, open_binary
from clearhead.data.pairs import FilePairs, Pair
from clearhead.errors import UserError

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
DEEPEST = 100  # levels of elements: TMX has seven, and inline codes may be nested
# The content of these elements is code of a word processor, not text (TMX 1.4b, 4.2);
# what follows them is text, and so is the content of <hi>.
CODE_TAGS = frozenset({"bpt", "ept", "it", "ph", "ut"})


class TmxPairs(FilePairs):
    """The translation units of a TMX file that have both languages.

    A language matches the same tag, or else the first with the same primary part: `en` finds
    en, EN, en-US and en_GB. Units without two different segments are skipped.

    Raises:
        UserError: while iterating: the file is not XML, or no unit has both languages.
    """

    unit = "translation unit"

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (described by Pairs)
        seen: set[str] = set()
        matched = False
        for unit in self.numbered(_units(self.path)):
            segments = _segments(unit)
            seen.update(segments)
            source, target = (_find(language, segments) for language in self.languages)
            if source is not None and target is not None and source != target:
                matched = True
                yield Pair(segments[source], segments[target])
        if not matched:
            found = ", ".join(sorted(seen)) or "none"
            raise UserError(
                f"{self.path}: no translation unit has both {' and '.join(self.languages)} "
                f"(languages found: {found}); give its languages: --set data.source_lang=… and "
                "data.target_lang=… in train, --source-lang and --target-lang in evaluate"
            )


def _units(path: Path) -> Iterator[ElementTree.Element]:
    """Yield each `<tu>`, and free it afterwards, so that memory stays flat."""
    open_elements: list[ElementTree.Element] = []
    with open_binary(path) as stream:
        try:
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if event == "start":
                    open_elements.append(element)
                    if len(open_elements) > DEEPEST:
                        raise UserError(
                            f"{path}: elements are nested more than {DEEPEST} deep; expected TMX"
                        )
                    continue
                open_elements.pop()
                if _tag(element) == "tu":
                    yield element
                    # The parent would otherwise keep every unit of the file alive.
                    open_elements[-1].clear() if open_elements else None
        except ElementTree.ParseError as error:
            raise UserError(
                f"{path}: not a complete XML file ({error}); expected TMX, export it again"
            ) from None
        except (LookupError, ValueError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(
                f"{path}: its encoding cannot be read ({error}); save it as UTF-8"
            ) from None


def _segments(unit: ElementTree.Element) -> dict[str, str]:
    """The first segment of each language of a unit, by the tag of the language."""
    segments: dict[str, str] = {}
    for variant in unit:
        language = variant.get(XML_LANG) or variant.get("lang") or ""
        for child in variant:
            if _tag(child) == "seg":
                segments.setdefault(language, one_line(_words(child)).strip(" \t"))
    return segments


def _words(element: ElementTree.Element) -> str:
    """The text of a segment without the inline codes."""
    parts = [element.text or ""]
    for child in element:
        if _tag(child) not in CODE_TAGS:
            parts.append(_words(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _find(language: str, tags: Iterable[str]) -> str | None:
    """The tag of a language: the same one, or else the first with the same primary part."""
    wanted = _parts(language)
    for length in (None, 1):
        for tag in tags:
            if _parts(tag)[:length] == wanted[:length]:
                return tag
    return None


def _parts(language: str) -> list[str]:
    return language.replace("_", "-").lower().split("-")
