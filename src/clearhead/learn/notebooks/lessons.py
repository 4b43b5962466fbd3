"""Lessons as notebooks: each source is executed, and its outputs are stored.

A source is Python in jupytext's percent format. The notebook holds a digest of everything that
its outputs depend on and that can be compared without executing it: the lesson's text, the
library's source that it shows, and the chapter's exercises.
"""

import hashlib
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.files import CHECKSUMS
from clearhead.learn.lesson import style
from clearhead.learn.manifest import CONTENT, course
from clearhead.learn.notebooks import Cell, Notebook, code, install_cell, markdown, notebook
from clearhead.learn.source import source_lines
from clearhead.models.weight_files import SHIPPED

FOLDER = Path(str(CONTENT)) / "lessons"
SECONDS = 1800  # for one cell, on a busy machine; a cell needs seconds
_STYLED = re.compile(r"^<style>.*?</style>(?=<div class='ch-)", re.DOTALL)
_SHOWN = re.compile(r"show_source\(\s*[\"']([^\"']+)[\"']")


def lesson_sources() -> list[Path]:
    """Every lesson, in the order of the chapters."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def digest(source: Path) -> str:
    """Changes with the lesson, the source that it shows, its exercises, or the style sheet."""
    return _sha256(source.read_text(encoding="utf-8"), shown_digest(source), style())


def shown_digest(source: Path) -> str:
    """Changes with what the cells show: source, exercises, a translation by the shipped weights."""
    text = source.read_text(encoding="utf-8")
    shown = ["\n".join(source_lines(address)[2]) for address in _SHOWN.findall(text)]
    exercises = [
        f"{e.name} {e.title} {e.kind} {e.minutes} {e.difficulty}"
        for e in course().inside(int(source.name[:2]))
    ]
    if "Translator.from_pretrained(" in text:  # the shipped one
        shown.append((SHIPPED / CHECKSUMS).read_text(encoding="utf-8"))
    return _sha256(*shown, *exercises)


def _sha256(*parts: str) -> str:
    return hashlib.sha256("\n\0".join(parts).encode()).hexdigest()


def is_current(source: Path, target: Path) -> bool:
    """Whether the stored notebook was made from this source."""
    stored = _stored(target)
    return stored is not None and bool(stored["metadata"]["clearhead"]["digest"] == digest(source))


def _stored(target: Path) -> Notebook | None:
    """The notebook in a file; None if there is none, or if a merge left its marks in it."""
    try:
        stored: Notebook = json.loads(target.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return stored


def with_stored_outputs(source: Path, target: Path) -> Notebook | None:
    """The lesson with the outputs of an older notebook, if only its text has changed since."""
    if (stored := _stored(target)) is None:
        return None
    new = empty_notebook(source)
    old_code, new_code = (
        [cell for cell in one["cells"] if cell["cell_type"] == "code"] for one in (stored, new)
    )
    same = [c["source"] for c in old_code] == [c["source"] for c in new_code]
    if not same or stored["metadata"]["clearhead"]["shown"] != shown_digest(source):
        return None
    for old, cell in zip(old_code, new_code, strict=True):
        cell["outputs"] = old["outputs"]
    return _with_one_style(new)


def _with_one_style(lesson: Notebook) -> Notebook:
    """The style sheet in the first output that needs it: it serves the whole page."""
    first = f"<style>{style()}</style>"
    for cell in lesson["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            html = "".join(data.get("text/html", ()))
            if "<div class='ch-" in html:
                data["text/html"] = _STYLED.sub("", html).replace("<div", f"{first}<div", 1)
                first = ""
    return lesson


def empty_notebook(source: Path) -> Notebook:
    """The lesson without outputs; after its title comes a cell that installs in Colab."""
    import jupytext

    cells: list[Cell] = []
    for cell in jupytext.read(source).cells:
        tags = cell.metadata.get("tags", [])
        cells.append(
            markdown(cell.source) if cell.cell_type == "markdown" else code(cell.source, *tags)
        )
    cells.insert(1, install_cell())
    about = {"source": source.name, "digest": digest(source), "shown": shown_digest(source)}
    return notebook(source.stem, cells, about)


def executed(source: Path) -> Notebook:
    """The lesson with its outputs, which hold no times and no counts.

    Raises:
        UserError: a cell fails or writes a warning.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    empty = empty_notebook(source)
    run = nbformat.from_dict(empty)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            run, timeout=SECONDS, startup_timeout=SECONDS, kernel_name="python3",
            record_timing=False, resources={"metadata": {"path": folder}}, coalesce_streams=True,
        )  # fmt: skip
        try:
            client.execute()
        except (CellExecutionError, CellTimeoutError) as error:
            raise UserError(f"{source.name}: a cell fails:\n{error}") from error
    result: Notebook = json.loads(json.dumps(run))
    for cell in result["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            cell["outputs"] = [_stable(output, source) for output in cell["outputs"]]
    result["metadata"] = empty["metadata"]
    return _with_one_style(result)


def _stable(output: dict[str, Any], source: Path) -> dict[str, Any]:
    """An output without its execution count.

    Raises:
        UserError: it is a warning; a reader would take it for a fault of her installation.
    """
    if output.get("name") == "stderr":
        raise UserError(f"{source.name}: a cell writes a warning:\n{output['text']}")
    return {**output, "execution_count": None} if "execution_count" in output else output
