"""The course's content: chapters, exercises, subjects and known wrong variants, read from TOML."""

import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from clearhead.errors import UserError
from clearhead.learn.source import BLANK, Edit

CONTENT = files("clearhead.learn") / "content"
KINDS = ("blank", "write", "bug", "predict", "written", "quiz")
CODING = ("blank", "write", "bug")


@dataclass(frozen=True)
class Variant:
    """A known mistake: a small edit of the solution, its diagnosis, and where the lesson is.

    `same_as` names another variant that is the same mistake with another effect, and is what
    the learner reads.
    """

    name: str
    diagnosis: str
    edits: tuple[Edit, ...]
    lesson: str = ""
    same_as: str = ""


@dataclass(frozen=True)
class Subject:
    """What the grader runs: a class or some functions, and the mistakes known for it."""

    name: str
    source: tuple[str, ...]
    probe: str
    lesson: str
    variants: tuple[Variant, ...]

    def variant(self, name: str) -> Variant:
        """The variant of this name.

        Raises:
            UserError: there is none.
        """
        if found := next((v for v in self.variants if v.name == name), None):
            return found
        raise UserError(f"subject {self.name} has no variant {name}")


@dataclass(frozen=True)
class Exercise:
    """One exercise of the course; docs/course.md describes the fields."""

    name: str
    title: str
    chapter: int
    kind: str
    minutes: int
    difficulty: int
    task: str
    hints: tuple[str, ...]
    subject: str = ""
    blanks: tuple[Edit, ...] = ()
    bodies: tuple[str, ...] = ()
    bugs: tuple[str, ...] = ()
    answer: str = ""
    rubric: tuple[str, ...] = ()
    key_idea: str = ""
    seeds: str = ""

    @property
    def kind_name(self) -> str:
        """`fill the blank`."""
        return str(texts()["kind"][self.kind]["name"])

    def asked_paths(self) -> set[str]:
        """The functions and methods in which the learner writes."""
        variants = [subject(self.subject).variant(name) for name in self.bugs]
        return {
            *(blank.inside for blank in self.blanks), *self.bodies,
            *(edit.inside for variant in variants for edit in variant.edits),
        } - {""}  # fmt: skip

    def asked(self) -> set[str]:
        """The classes and functions in which the learner writes."""
        return {path.partition(".")[0] for path in self.asked_paths()}


@dataclass(frozen=True)
class Part:
    """One problem set: several chapters in one notebook."""

    title: str
    chapters: tuple[int, ...]
    introduction: str


@dataclass(frozen=True)
class Course:
    """The exercises in order, the chapters' titles, and the problem sets."""

    chapters: dict[int, str]
    exercises: tuple[Exercise, ...]
    parts: tuple[Part, ...]

    def exercise(self, name: str) -> Exercise:
        """The exercise of this name or number, or of the file that has it: `02_…/scale.py`.

        Raises:
            UserError: there is none; close names are suggested.
        """
        known = {e.name: e for e in self.exercises} | {self.number(e): e for e in self.exercises}
        wanted = name.lower()
        if found := known.get(wanted) or known.get(PurePath(wanted).stem):
            return found
        close = get_close_matches(wanted, [e.name for e in self.exercises], cutoff=0.7)
        did = f"did you mean {' or '.join(close)}? " if close else ""
        raise UserError(f"no exercise is called {name}; {did}`clearhead learn list` shows all")

    def number(self, exercise: Exercise) -> str:
        """`2.3`: the chapter, and the position in it."""
        return f"{exercise.chapter}.{self.inside(exercise.chapter).index(exercise) + 1}"

    def inside(self, *chapters: int) -> list[Exercise]:
        """The exercises of some chapters, in order."""
        return [e for e in self.exercises if e.chapter in chapters]


def slug(title: str) -> str:
    """`scaled_dot_product_attention`: a title in the name of a file."""
    return "_".join(re.findall(r"[^\W_]+", title.lower()))


@cache
def course() -> Course:
    """The manifest.

    Raises:
        UserError: it has an unknown key, kind or chapter, or misses one.
    """
    table = _read("manifest.toml")
    chapters = {int(number): title for number, title in table["chapters"].items()}
    exercises = tuple(_exercise(entry) for entry in table["exercise"])
    for exercise in exercises:
        if exercise.kind not in KINDS or exercise.chapter not in chapters:
            raise UserError(f"exercise {exercise.name}: unknown kind or chapter")
    parts = tuple(Part(p["title"], tuple(p["chapters"]), p["introduction"]) for p in table["part"])
    return Course(chapters, exercises, parts)


@cache
def subject(name: str) -> Subject:
    """The subject in content/subjects/NAME.toml."""
    table = _read(f"subjects/{name}.toml")
    tables = {v["name"]: v for v in table.get("variant", ())}
    variants = tuple(
        Variant(
            v["name"], {**tables.get(v.get("same_as"), {}), **v}["diagnosis"].strip(),
            tuple(_edit(e) for e in v["edits"]), v.get("lesson", ""), v.get("same_as", ""),
        )
        for v in tables.values()
    )  # fmt: skip
    source = tuple(table["source"])
    return Subject(name, source, table["probe"], table.get("lesson", ""), variants)


@cache
def texts() -> dict[str, Any]:
    """What the course says besides tasks and lessons: content/texts.toml."""
    return _read("texts.toml")


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads((CONTENT / path).read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read the course's {path}: {error}") from error


def _exercise(entry: dict[str, Any]) -> Exercise:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    values["blanks"] = tuple(_edit(blank, "show") for blank in entry.get("blanks", ()))
    try:
        return Exercise(**values)
    except TypeError as error:
        raise UserError(f"exercise {entry.get('name')}: {error}") from error


def _edit(table: dict[str, Any], new: str = "new") -> Edit:
    return Edit(table.get("in", ""), table["old"], table.get(new, BLANK), table.get("nth", 0))
