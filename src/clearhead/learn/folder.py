"""The learner's folder: exercises, and her progress, which survives crashes and moving it."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clearhead.errors import UserError, shell_command
from clearhead.files import atomic_write
from clearhead.learn.manifest import Exercise, course, texts
from clearhead.learn.texts import file_name, starting_text

FILE = ".clearhead-learn.json"
FORMAT = 1


@dataclass
class Progress:
    """What has been passed, which hints were shown, and the texts that were handed out."""

    passed: dict[str, str] = field(default_factory=dict)  # name -> the score's text
    hints: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    mistakes: dict[str, list[str]] = field(default_factory=dict)
    rubric: dict[str, list[bool]] = field(default_factory=dict)
    handed_out: dict[str, str] = field(default_factory=dict)  # name -> digest of the file
    skipped: list[str] = field(default_factory=list)  # chapters tested out of

    @staticmethod
    def load(folder: Path) -> "Progress":
        """The progress of a folder.

        Raises:
            UserError: the file is damaged, or written by a later version.
        """
        path = folder / FILE
        try:
            table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if table.pop("format") != FORMAT:
                raise UserError(f"{path} was written by a later version; install that one")
            return Progress(**table)
        except UserError:
            raise
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"cannot read {path}: {error}; delete it and run `clearhead learn start "
                f"{shell_command(folder)}` (your answers are kept, your progress is lost)"
            ) from error

    def save(self, folder: Path) -> None:
        """Write the file; the old one stays whole until the new one is."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False)
        atomic_write(folder / FILE, text + "\n")


def digest(text: str) -> str:
    """A short hash by which a file that was never edited is recognized."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def find_folder(start: Path) -> Path:
    """The folder of exercises that `start` is in.

    Raises:
        UserError: it is in none.
    """
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder
    raise UserError(f"{start}: no exercises; change to your folder, or run `clearhead learn start`")


@dataclass(frozen=True)
class Started:
    """What `start` did: files written, refreshed (never edited), and kept though outdated."""

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
    free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not (known or free or locate(folder, course().exercises[0]).is_file()):
        taken = "is a file" if folder.is_file() else "is not empty"
        raise UserError(f"{folder} {taken}; give a new folder's name")
    progress = Progress.load(folder) if known else Progress()
    new, refreshed, outdated = 0, 0, list[str]()
    for exercise in course().exercises:
        text, path = starting_text(exercise), locate(folder, exercise)
        if not path.exists():
            atomic_write(path, text)
            new += 1
        elif path.read_text(encoding="utf-8", errors="replace") != text:
            if digest(read_file(path)) == progress.handed_out.get(exercise.name):
                atomic_write(path, text)
                refreshed += 1
            elif progress.handed_out.get(exercise.name) not in (None, digest(text)):
                outdated.append(exercise.name)
                continue
        progress.handed_out[exercise.name] = digest(text)
    _write_readme(folder / "README.md", progress)
    progress.save(folder)
    return Started(new, refreshed, tuple(outdated))


def _write_readme(path: Path, progress: Progress) -> None:
    """Write the folder's README.md, unless there is one that was edited."""
    text = texts()["readme"].format(file=FILE)
    found = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if not found or digest(found) in (digest(text), progress.handed_out.get(path.name)):
        atomic_write(path, text)
        progress.handed_out[path.name] = digest(text)


def locate(folder: Path, exercise: Exercise) -> Path:
    """The exercise's file; found by its name if the learner or an update moved it."""
    path = folder / file_name(exercise)
    moved = [] if path.exists() else sorted(folder.glob(f"*/{path.name}"))
    return moved[0] if moved else path


def read_answer(folder: Path, exercise: Exercise) -> str:
    """The text of the learner's file.

    Raises:
        UserError: there is none, or it is not text.
    """
    path = locate(folder, exercise)
    if not path.exists():
        raise UserError(f"{path} is missing; `clearhead learn reset {exercise.name}` restores it")
    return read_file(path)


def reset(folder: Path, exercise: Exercise) -> str:
    """The file as it was handed out; the answer is kept beside it. Returns what was done."""
    path, text = locate(folder, exercise), starting_text(exercise)
    done = f"{exercise.name} is restored"
    if path.exists() and read_file(path) == text:
        done = f"{exercise.name} was never edited"
    elif path.exists():
        stamp = time.strftime("%Y%m%d-%H%M%S")
        backup, more = path.with_name(f"{path.stem}.{stamp}.backup"), 1
        while backup.exists():  # of another answer in the same second
            more += 1
            backup = path.with_name(f"{path.stem}.{stamp}-{more}.backup")
        atomic_write(backup, read_file(path))
        done += f"; your answer is saved in {backup}"
    atomic_write(path, text)
    progress = Progress.load(folder)
    if progress.passed.pop(exercise.name, None):
        done += "; it no longer counts as passed"
    progress.handed_out[exercise.name] = digest(text)
    progress.save(folder)
    return done


def read_file(path: Path) -> str:
    """The text of any answer.

    Raises:
        UserError: no such file, or not text in UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
