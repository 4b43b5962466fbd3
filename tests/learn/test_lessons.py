"""Lessons: one for each chapter, executable, and stored with the outputs of their source."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from clearhead.learn.lesson import style
from clearhead.learn.manifest import course, slug
from clearhead.learn.notebooks import install_cell
from clearhead.learn.notebooks.lessons import (
    FOLDER,
    empty_notebook,
    executed,
    is_current,
    lesson_sources,
    with_stored_outputs,
)

STORED = Path(__file__).parents[2] / "book" / "lessons"
SOURCES = lesson_sources()
SHORTEST, LONGEST = 120, 350  # lines
by_name = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def stored(source: Path) -> dict[str, Any]:
    text = (STORED / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    return dict(json.loads(text))


def outputs(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [out for cell in notebook["cells"] for out in cell.get("outputs", ())]


def form(output: dict[str, Any]) -> str:
    """An output without its digits: its last decimals may depend on the processor."""
    kinds = " ".join(sorted(output.get("data", {})))
    return re.sub(r"[-+]?\d[\d.,]*(?:e[-+]\d+)?", "#", output.get("text", "")) + kinds


def test_every_chapter_has_a_lesson() -> None:
    assert [path.stem for path in SOURCES] == [
        f"{number:02d}_{slug(title)}" for number, title in course().chapters.items()
    ]


@by_name
def test_a_lesson_has_its_parts_in_order(source: Path) -> None:
    text, chapter = source.read_text(encoding="utf-8"), int(source.name[:2])
    parts = [
        f"# {chapter}. {course().chapters[chapter]}\n", "show_figure(", "## The formula",
        "show_source(", f"show_exercises({chapter})", "## Common mistakes",
        "## Further reading",
    ]  # fmt: skip
    found = [text.find(part) for part in parts]
    assert -1 not in found and found[0] == min(found) and found[-3:] == sorted(found)[-3:]
    assert "$$" in text and re.search(r"\bpredict", text, re.IGNORECASE)
    assert SHORTEST <= len(text.splitlines()) <= LONGEST


@by_name
def test_the_stored_notebook_was_made_from_its_source(source: Path) -> None:
    """If not: `make lessons`."""
    assert is_current(source, STORED / f"{source.stem}.ipynb")


@by_name
def test_a_stored_notebook_is_valid_and_holds_every_output(source: Path) -> None:
    notebook = stored(source)
    nbformat.validate(nbformat.from_dict(notebook))  # type: ignore[no-untyped-call]
    assert notebook["cells"][1]["source"] == install_cell()["source"]
    shown = outputs(notebook)
    assert shown and not [out for out in shown if out["output_type"] == "error"]
    assert not [out for out in shown if out.get("name") == "stderr" or out.get("execution_count")]
    assert [c["source"] for c in notebook["cells"]] == [
        c["source"] for c in empty_notebook(source)["cells"]
    ]


def test_a_change_of_text_keeps_the_outputs_and_a_change_of_code_does_not(tmp_path: Path) -> None:
    source, target = tmp_path / "01_lesson.py", tmp_path / "01_lesson.ipynb"
    text = "# %% [markdown]\n# # Title\n\n# %%\nprint(1)\n"
    source.write_text(text, encoding="utf-8")
    assert with_stored_outputs(source, target) is None
    old = empty_notebook(source)
    old["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    target.write_text(json.dumps(old), encoding="utf-8")
    assert is_current(source, target)
    source.write_text(text.replace("Title", "Another"), encoding="utf-8")
    assert not is_current(source, target)
    kept = with_stored_outputs(source, target)
    assert kept is not None and outputs(kept) == outputs(old)
    source.write_text(text.replace("print(1)", "print(2)"), encoding="utf-8")
    assert with_stored_outputs(source, target) is None


def test_the_model_decides_against_the_head_that_lesson_2_shows() -> None:
    (source,) = [path for path in SOURCES if path.name.startswith("02")]
    shown = outputs(stored(source))
    (text,) = [out["text"] for out in shown if "Translation:" in out.get("text", "")]
    assert "qu'il était" in text, "the pronoun of the dog; the head reads from the street"


@by_name
def test_the_style_sheet_is_stored_once(source: Path) -> None:
    html = "".join(out.get("data", {}).get("text/html", "") for out in outputs(stored(source)))
    assert html.count(style()) == 1


def test_no_notebook_is_left_whose_lesson_is_gone() -> None:
    assert {p.stem for p in STORED.glob("*")} == {p.stem for p in SOURCES}


def test_the_lessons_are_part_of_the_package() -> None:
    assert FOLDER.parent.name == "content" and (FOLDER.parent / "lesson.css").exists()


@by_name
def test_every_cell_runs_and_shows_what_is_stored(source: Path) -> None:
    shown = outputs(executed(source))
    assert [form(out) for out in shown] == [form(out) for out in outputs(stored(source))]
