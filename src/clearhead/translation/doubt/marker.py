"""The reasons to doubt the translation of one sentence; names, numbers, URLs … that are missing."""

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from clearhead.translation.doubt.dates import missing_abbreviations
from clearhead.translation.doubt.english import doubt_of_language, untranslated
from clearhead.translation.doubt.names import missing_names
from clearhead.translation.doubt.numbers import missing_numbers

_ENDINGS = (
    "pdf|txt|csv|tsv|json|jsonl|yaml|yml|xml|html|md|py|ipynb|js|c|h|cpp|sh|docx?|xlsx?|pptx?|odt"
    "|png|jpe?g|gif|svg|mp3|mp4|wav|zip|gz|tar\\.gz|exe|log|com|org|net|edu|io|fr|de|ca|uk"
)
_HOST = r"(?<![\w@/.-])[\w-]+(?:\.[a-z]{2,})+"  # example.org, where a path follows
_EMOJI = "[\u2600-\u27bf\U0001f1e6-\U0001faff]"
# Earlier kinds are searched first; what they match is hidden from later kinds.
_KINDS = (
    ("code", re.compile(r"`([^`]+)`")),
    # Placeholders: %s %1$d {name} ${user}
    ("code", re.compile(r"(?<![\w%])%(?:\d+\$)?[sdifgux@](?!\w)|[$%#]?(?<!\w)\{\w*\}")),
    ("URL", re.compile(rf"(?:https?://|www\.|{_HOST}/)[^\s<>«»“”\"]*[\w/]")),
    ("e-mail address", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("hashtag", re.compile(r"(?<![\w&])#\w*[^\W\d]\w*")),
    ("name", re.compile(r"(?<!\w)@\w(?:[\w.]*\w)?")),
    ("path", re.compile(r"(?<![\w/.])(?:~|\.{1,2})?/[\w.-]*\w(?:/[\w.-]*\w)*")),
    ("file name", re.compile(rf"(?<![\w/.-])(?:[\w-]+/)*\w[\w-]+(?:\.[\w-]+)*\.(?:{_ENDINGS})\b")),
    ("identifier", re.compile(r"\b\w+_\w+\b|(?<!\w)--\w[\w-]+")),
    ("emoji", re.compile(rf"{_EMOJI}(?:{_EMOJI}|[\ufe0f\u200d])*")),
)
# "B12", "MP3", "GPT-4", "AB-123-CD"; neither "14th" nor "250g", "mid-1990s" or "3PM".
_CODE = re.compile(
    r"\b(?:[A-Za-z]+\d\w*(?:-\w+)*|[A-Z]+(?:-\w+)*-\d\w*(?:-\w+)*|\d+[A-LN-Z][A-Z]*\d\w*)\b"
)
# What every pattern above contains: most sentences hold none of it.
_ANY = re.compile(rf"{_EMOJI}|[`@#/_\d{{]|%\w|--|\.\w")
_AMOUNT = re.compile(r"[$€£/]")
LOW_SCORE, CUT_OFF = "low score", "cut off"


class Literal(NamedTuple):
    """A string to be copied; `kind` is its name in a message."""

    kind: str
    text: str

    @property
    def message(self) -> str:
        """What is said of it where it did not arrive."""
        return f"{self.kind} {self.text} missing"


def literals(source: str) -> tuple[list[Literal], str]:
    """The strings to be copied, and the source with spaces in their place."""
    found: list[Literal] = []
    if not _ANY.search(source):
        return found, source
    for kind, pattern in _KINDS:
        for match in pattern.finditer(source):
            found.append(Literal(kind, match[match.lastindex or 0]))
        source = pattern.sub(lambda match: " " * len(match[0]), source)
    for match in _CODE.finditer(source):
        found.append(Literal("code", match[0]))
    return found, _CODE.sub(lambda match: " " * len(match[0]), source)


def missing_literals(found: list[Literal], translation: str) -> list[Literal]:
    """The strings that the translation does not contain."""
    plain = _normalized(translation)
    return [literal for literal in found if not _contains(plain, literal.text)]


def _contains(translation: str, text: str) -> bool:
    return whole(_normalized(text)).search(translation) is not None


def whole(text: str) -> re.Pattern[str]:
    """A pattern of this text where it is not a part of a longer word or number."""
    before = r"(?<!\w)" if text[0].isalnum() else ""
    after = r"(?!\w)" if text[-1].isalnum() else ""
    return re.compile(before + re.escape(text) + after)


def _normalized(text: str) -> str:
    return re.sub(r"[\s\u00a0\u202f]+", " ", text)


@dataclass(frozen=True)
class LiteralMarker:
    """Called with a sentence, its translation and the score; returns the reasons to doubt it.

    `threshold` is a log-probability per token, in nats. No reason depends on the languages.
    """

    threshold: float

    def __call__(
        self, source: str, translation: str, score: float, finished: bool
    ) -> tuple[str, ...]:
        """`score` is per token, EOS token included; `finished` as in `Translation`."""
        missing = missing_literals(literals(source)[0], translation)
        return (*self.uncertain(score, finished), *(literal.message for literal in missing))

    def uncertain(self, score: float, finished: bool) -> list[str]:
        """The reasons that the search gives."""
        low = math.isnan(score) or score < self.threshold
        return [*([] if finished else [CUT_OFF]), *([LOW_SCORE] if low else [])]


class DoubtMarker(LiteralMarker):
    """The same with the checks of language, numbers and names from English into French."""

    def __call__(
        self, source: str, translation: str, score: float, finished: bool
    ) -> tuple[str, ...]:
        """`score` is per token, EOS token included; `finished` as in `Translation`."""
        language = doubt_of_language(source)
        reasons = [*([language] if language else []), *self.uncertain(score, finished)]
        found, rest = literals(source)
        reasons += [literal.message for literal in _missing(found, rest, translation)]
        kept = untranslated(rest, translation)
        return (*reasons, *(f"{word} not translated" for word in kept))


def missing_copies(source: str, translation: str) -> list[Literal]:
    """Each name, number, URL and so on that did not arrive, as the source writes it."""
    return _missing(*literals(source), translation)


def _missing(found: list[Literal], rest: str, translation: str) -> list[Literal]:
    numbers: list[str] = []
    if _AMOUNT.search(rest):
        numbers, rest = missing_abbreviations(rest, translation)
    numbers += missing_numbers(rest, translation)
    return [
        *missing_literals(found, translation),
        *(Literal("number", text) for text in numbers),
        *(Literal("name", text) for text in missing_names(rest, translation)),
    ]
