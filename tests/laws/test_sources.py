"""What docstrings cite is identified in docs/sources.md."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.laws.tree import ROOT, docstrings, name_of, parse, source_files

PAGE = ROOT / "docs" / "sources.md"
DOCUMENT = re.compile(
    r"Part \d|Chapter \d|step-by-step guide|short guide|teaching sources|hkproj/pytorch-transformer"
    r"|Annotated Transformer",
    re.IGNORECASE,
)
NAME = r"[A-Z][\w'’-]+"
YEAR = r"(?P<year>(?:19|20)\d\d)"
PAPERS = (
    # Och and Ney 2003; Steele, Lea and Flood, 2014; Provilkov et al. (2020
    re.compile(rf"(?P<names>(?:{NAME}, )*{NAME}(?: et al\.| and {NAME})),? \(?{YEAR}"),
    re.compile(rf"(?<!and )\b(?P<names>{NAME}) {YEAR}(?=[);])"),  # (Vig 2019)
)


@cache
def rows() -> list[str]:
    """The first cells of the page's tables, each with what it is cited as."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("| ")]


@cache
def documentation() -> list[tuple[str, str]]:
    """Every docstring on one line, with the file that it is in."""
    return [
        (name_of(path), " ".join(node.value.split()))
        for path in source_files()
        for node in docstrings(parse(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def papers(text: str) -> Iterator[tuple[set[str], str]]:
    """Surnames and year of each paper that a text cites."""
    for pattern in PAPERS:
        for match in pattern.finditer(text):
            yield set(re.findall(NAME, match["names"])), match["year"]


def is_listed(names: set[str], year: str) -> bool:
    """Whether a row has this year, and as its first author one of the names."""
    return any(row.endswith(year) and set(re.findall(NAME, row)[:1]) & names for row in rows())


def test_each_paper_that_a_docstring_cites_is_identified() -> None:
    cited = [(file, names, year) for file, text in documentation() for names, year in papers(text)]
    assert len(cited) > 40
    assert not [citation for citation in cited if not is_listed(*citation[1:])]


def test_each_teaching_document_that_a_docstring_cites_is_identified() -> None:
    known = " ".join(rows()).lower()
    cited = [(file, found) for file, text in documentation() for found in DOCUMENT.findall(text)]
    assert {"part 1", "chapter 3", "step-by-step guide"} <= {found.lower() for _, found in cited}
    assert not [citation for citation in cited if citation[1].lower() not in known]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(Och and Ney 2003, section 5)", ({"Och", "Ney"}, "2003")),
        ("SplitMix64 (Steele, Lea and Flood, 2014)", ({"Steele", "Lea", "Flood"}, "2014")),
        ("Provilkov et al. (2020, section 3)", ({"Provilkov"}, "2020")),
        ("bertviz (Vig 2019)", ({"Vig"}, "2019")),
        ("the GELU (Hendrycks and Gimpel 2016).", ({"Hendrycks", "Gimpel"}, "2016")),
    ],
)
def test_a_citation_is_recognized(text: str, expected: tuple[set[str], str]) -> None:
    assert list(papers(text)) == [expected]


def test_a_paper_that_is_not_listed_is_noticed() -> None:
    assert not is_listed({"Vaswani"}, "2016") and is_listed({"Vaswani"}, "2017")
