"""The website of the course: it builds without a warning, and no link of it leads nowhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from clearhead.learn.notebooks.lessons import lesson_sources

pytest.importorskip("sphinx")
pytest.importorskip("furo")
pytest.importorskip("myst_nb")
pytest.importorskip("latex2mathml")

ROOT = Path(__file__).parents[2]
RESOURCES = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """The links, resources and anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.anchors: set[str] = {""}
        self.tags: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if (tag, name) in RESOURCES:
                self.resources.append(value or "")
            if tag == "a" and name == "href":
                self.links.append(value or "")
            if name == "id":
                self.anchors.add(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, Page]]:
    """Every page of the website, built as `make book` builds it."""
    folder = tmp_path_factory.mktemp("book")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html"]
    ran = subprocess.run(
        [*command, "-d", str(folder / "trees"), str(ROOT / "book"), str(folder / "site")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    yield {path: Page(path) for path in (folder / "site").rglob("*.html")}


def test_every_lesson_and_problem_set_is_a_page(site: dict[Path, Page]) -> None:
    names = {path.stem for path in site}
    assert {source.stem for source in lesson_sources()} <= names
    assert len([name for name in names if name.startswith("part_")]) == 5


def test_every_problem_set_can_be_downloaded(site: dict[Path, Page]) -> None:
    links = next(page.links for path, page in site.items() if path.name == "index.html")
    sets = {path.name for path in (ROOT / "book" / "problem_sets").glob("*.ipynb")}
    assert {Path(link).name for link in links} >= sets


def test_every_local_link_leads_to_a_page_and_an_anchor(site: dict[Path, Page]) -> None:
    broken = []
    for path, page in site.items():
        for link in page.links + page.resources:
            if re.match(r"[a-z]+:", link):
                continue
            file, anchor = urldefrag(unquote(link.partition("?")[0]))
            target = (path.parent / file).resolve() if file else path
            known = site[target].anchors if target in site else {"", anchor}
            if not target.exists() or unquote(anchor) not in known:
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_another_host(site: dict[Path, Page]) -> None:
    loaded = [r for page in site.values() for r in page.resources if re.match(r"(https?:)?//", r)]
    assert not loaded
    root = next(path for path in site if path.name == "search.html").parent
    sheets = "".join(p.read_text(encoding="utf-8") for p in root.rglob("*.css"))
    assert not re.findall(r"(?:@import|url\()\s*[\"']?https?:", sheets)


def test_formulas_need_no_script(site: dict[Path, Page]) -> None:
    lessons = [page for path, page in site.items() if path.parent.name == "lessons"]
    assert lessons and all("math" in page.tags for page in lessons)
    assert not [r for page in lessons for r in page.resources if "mathjax" in r.lower()]
