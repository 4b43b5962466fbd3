"""Problem sets: the exercises of several chapters as one notebook, with a check after each.

They are generated from the manifest that `clearhead learn` uses. The solved edition, for
teachers, holds the library's source and the model answers instead of the blanks.
"""

from clearhead.learn.lesson import KIND_NAMES
from clearhead.learn.manifest import Exercise, Part, course
from clearhead.learn.notebook import variable_of
from clearhead.learn.notebooks.cells import Cell, Notebook, code, install_cell, markdown, notebook
from clearhead.learn.source import BLANK
from clearhead.learn.texts import solution, starting_code

HOW_TO = """
**How it works.** Each exercise has a cell to edit and a cell that checks it. Edit only what the
exercise says: replace a blank `____`, write the body of a function, correct a mistake, or write a
short text. Then run both cells. The check runs your code on several sizes, compares it with the
reference, and names your mistake if it is a known one. Hints come in three steps: the idea, the
formula, the shapes.
"""
TODO = {
    "blank": "# TODO: replace every ____",
    "write": "# TODO: replace every `raise NotImplementedError`",
    "bug": "# TODO: find the mistake and correct it",
    "predict": "# TODO: replace every ____ by your prediction, before you run anything",
    "quiz": '# TODO: replace every ____ by the letter of an answer, as in "b"',
    "written": "# TODO: replace ____ by your answer",
}


def file_stem(number: int) -> str:
    """`part_1_basic_building_blocks`."""
    words = "".join(c if c.isalnum() else " " for c in course().parts[number - 1].title.lower())
    return "_".join([f"part_{number}", *words.split()])


def problem_set(number: int, solved: bool = False) -> Notebook:
    """Part 1, 2, … as a notebook; `solved` is the edition for teachers."""
    part = course().parts[number - 1]
    cells = [markdown(_heading(number, part, solved)), install_cell()]
    cells.append(code("from clearhead.learn import check"))
    for chapter in part.chapters:
        cells.append(markdown(f"## {chapter}. {course().chapters[chapter]}"))
        for exercise in course().exercises:
            if exercise.chapter == chapter:
                cells += _exercise(exercise, solved)
    name = f"part-{number}"
    return notebook(name, cells, {"part": str(number), "edition": "solved" if solved else "open"})


def _heading(number: int, part: Part, solved: bool) -> str:
    edition = "\n\n**Solved edition, for teachers.**" if solved else ""
    title = f"# Part {number}. {part.title}\n\n**Building a Transformer from scratch.**"
    exercises = [e for e in course().exercises if e.chapter in part.chapters]
    hours = max(1, round(sum(e.minutes for e in exercises) / 60))
    time = f"{len(exercises)} exercises, about {hours} hour{'s' * (hours > 1)}."
    return f"{title}{edition} {part.introduction.strip()}\n\n{time}\n{HOW_TO}"


def _exercise(exercise: Exercise, solved: bool) -> list[Cell]:
    """The task, a cell to edit, a cell that checks it."""
    text = _solved_text(exercise) if solved else _open_text(exercise)
    return [markdown(task_of(exercise)), code(text), code(f'check("{exercise.name}")')]


def task_of(exercise: Exercise) -> str:
    """The task in Markdown: title, kind, text, and hints that open."""
    kind = KIND_NAMES[exercise.kind]
    title = f"### {course().number(exercise)} {exercise.title}".replace("_", "\\_")
    about = f"*{kind} · {exercise.minutes} minutes · difficulty {exercise.difficulty} of 3*"
    steps = zip(("Idea", "Formula", "Shapes"), exercise.hints, strict=True)
    hints = "\n".join(
        f"<details><summary>Hint: {name.lower()}</summary>\n\n{hint}\n\n</details>"
        for name, hint in steps
    )
    return f"{title}\n\n{about}\n\n{exercise.task.strip()}\n\n{hints}"


def _open_text(exercise: Exercise) -> str:
    todo = TODO[exercise.kind]
    if exercise.kind == "written":
        return f'{todo}\n{variable_of(exercise)} = """\n{BLANK}\n"""'
    return f"{todo}\n{starting_code(exercise)}"


def _solved_text(exercise: Exercise) -> str:
    if exercise.kind == "written":
        return f'{variable_of(exercise)} = """\n{exercise.answer.strip()}\n"""'
    return solution(exercise.subject)
