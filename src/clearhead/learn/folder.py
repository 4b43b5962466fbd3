"""The learner's folder: making it, bringing it up to date, resetting and solving exercises."""

import time
from dataclasses import dataclass
from pathlib import Path

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.learn.manifest import Exercise, course
from clearhead.learn.progress import FILE, Progress, digest
from clearhead.learn.texts import file_name, solution, starting_text

README = """# clearhead learn

Exercises cut from the source of a working Transformer. In this folder:

    clearhead learn              watch: every time you save, your exercise is checked
    clearhead learn check NAME   check one exercise
    clearhead learn hint NAME    a hint; again for the next one (idea, formula, shape)
    clearhead learn list         all exercises and your progress

Your progress is kept in {file}; you may move the folder.
"""


@dataclass(frozen=True)
class Started:
    """What `start` did: files written, refreshed (never edited), and kept though outdated."""

    folder: Path
    new: int
    refreshed: int
    outdated: tuple[str, ...]


def start(folder: Path) -> Started:
    """Make a folder of exercises, or bring one of an older version up to date.

    Answers are never overwritten: only files that were never edited are refreshed.

    Raises:
        UserError: the folder is not empty and has no progress file, or cannot be written.
    """
    known = (folder / FILE).is_file()
    if not known and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        mine = folder.is_dir() and any(folder.glob(f"*/{course().exercises[0].name}.py"))
        if not mine:
            raise UserError(f"{folder} is not empty; give a new folder's name")
    progress = Progress.load(folder) if known else Progress()
    new, refreshed, outdated = 0, 0, []
    for exercise in course().exercises:
        text, path = starting_text(exercise), locate(folder, exercise)
        if not path.exists():
            atomic_write(path, text)
            new += 1
        elif path.read_text(encoding="utf-8", errors="replace") != text:
            if digest(_read(path)) == progress.handed_out.get(exercise.name):
                atomic_write(path, text)
                refreshed += 1
            elif progress.handed_out.get(exercise.name) not in (None, digest(text)):
                outdated.append(exercise.name)
                continue
        progress.handed_out[exercise.name] = digest(text)
    atomic_write(folder / "README.md", README.format(file=FILE))
    progress.save(folder)
    return Started(folder, new, refreshed, tuple(outdated))


def locate(folder: Path, exercise: Exercise) -> Path:
    """The exercise's file; found by its name if the learner or an update moved it."""
    path = folder / file_name(exercise)
    if not path.exists():
        moved = sorted(folder.glob(f"*/{path.name}"))
        return moved[0] if moved else path
    return path


def read_answer(folder: Path, exercise: Exercise) -> str:
    """The text of the learner's file.

    Raises:
        UserError: there is none, or it is not text.
    """
    path = locate(folder, exercise)
    if not path.exists():
        raise UserError(f"{path} is missing; `clearhead learn reset {exercise.name}` restores it")
    return _read(path)


def read_file(path: Path) -> str:
    """The text of any answer.

    Raises:
        UserError: no such file, or not text in UTF-8.
    """
    return _read(path)


def reset(folder: Path, exercise: Exercise) -> Path | None:
    """The file as it was handed out; the answer is kept beside it. Returns the backup."""
    path, text = locate(folder, exercise), starting_text(exercise)
    backup = None
    if path.exists() and _read(path) != text:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        backup = path.with_name(f"{path.stem}.{stamp}.backup")
        atomic_write(backup, _read(path))
    atomic_write(path, text)
    progress = Progress.load(folder)
    progress.passed.pop(exercise.name, None)
    progress.handed_out[exercise.name] = digest(text)
    progress.save(folder)
    return backup


def solution_text(exercise: Exercise) -> str:
    """The solution: the library's source, or the model answer of a written task."""
    if exercise.kind == "written":
        return exercise.answer.strip() + "\n"
    return solution(exercise.subject)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
