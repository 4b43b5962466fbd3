"""Problem sets: the exercises of several chapters as one notebook, with a check after each.

They are generated from the manifest that `clearhead learn` uses. The solved edition, for
teachers, holds the library's source and the model answers instead of the blanks. So does the
edition for nbgrader, between `### BEGIN SOLUTION` and `### END SOLUTION`: `nbgrader
generate_assignment` replaces what is between the two by a stub, and `nbgrader autograde` runs the
cells that check. Cell metadata: nbgrader's schema 3.
"""

import ast
from collections.abc import Iterator

from clearhead.learn.manifest import Exercise, Part, course, slug, texts
from clearhead.learn.notebooks import Cell, Notebook, code, install_cell, markdown, notebook
from clearhead.learn.source import BLANK
from clearhead.learn.texts import solution, starting_code, variable_of

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


def file_stem(number: int) -> str:
    """`part_1_basic_building_blocks`."""
    return f"part_{number}_{slug(course().parts[number - 1].title)}"


def problem_set(number: int, solved: bool = False) -> Notebook:
    """Part 1, 2, … as a notebook; `solved` is the edition for teachers."""
    part = course().parts[number - 1]
    cells = [markdown(_heading(number, part, solved)), install_cell()]
    cells.append(code("from clearhead.learn import check"))
    for chapter in part.chapters:
        cells.append(markdown(f"## {chapter}. {course().chapters[chapter]}"))
        for exercise in course().inside(chapter):
            cells += _exercise(exercise, solved)
    name = f"part-{number}"
    return notebook(name, cells, {"part": str(number), "edition": "solved" if solved else "open"})


def _heading(number: int, part: Part, solved: bool) -> str:
    edition = "\n\n**Solved edition, for teachers.**" if solved else ""
    title = f"# Part {number}. {part.title}\n\n**Building a Transformer from scratch.**"
    exercises = course().inside(*part.chapters)
    hours = max(1, round(sum(e.minutes for e in exercises) / 60))
    time = f"{len(exercises)} exercises, about {hours} hour{'s' * (hours > 1)}."
    return f"{title}{edition} {part.introduction.strip()}\n\n{time}\n{texts()['how_to']}"


def _exercise(exercise: Exercise, solved: bool) -> list[Cell]:
    """The task, a cell to edit, a cell that checks it."""
    text = _solved_text(exercise) if solved else open_text(exercise)
    return [markdown(task_of(exercise)), code(text), code(f'check("{exercise.name}")')]


def task_of(exercise: Exercise) -> str:
    """The task in Markdown: title, kind, text, and hints that open."""
    kind = exercise.kind_name
    title = f"### {course().number(exercise)} {exercise.title}".replace("_", "\\_")
    about = f"*{kind} · {exercise.minutes} minutes · difficulty {exercise.difficulty} of 3*"
    steps = zip(("Idea", "Formula", "Shapes"), exercise.hints, strict=True)
    hints = "\n".join(
        f"<details><summary>Hint: {name.lower()}</summary>\n\n{hint}\n\n</details>"
        for name, hint in steps
    )
    return f"{title}\n\n{about}\n\n{exercise.task.strip()}\n\n{hints}"


def open_text(exercise: Exercise) -> str:
    """The cell that a learner edits."""
    todo = texts()["kind"][exercise.kind]["todo"]
    if exercise.kind == "written":
        return f'{todo}\n{variable_of(exercise)} = """\n{BLANK}\n"""'
    return f"{todo}\n{starting_code(exercise)}"


def _solved_text(exercise: Exercise) -> str:
    if exercise.kind == "written":
        return f'{variable_of(exercise)} = """\n{exercise.answer.strip()}\n"""'
    return solution(exercise.subject)


def nbgrader_source(number: int) -> Notebook:
    """Part 1, 2, … as the source of an nbgrader assignment; a passed exercise is a point."""
    part = course().parts[number - 1]
    cells = [markdown(f"# Part {number}. {part.title}"), code("from clearhead.learn import check")]
    for exercise in course().inside(*part.chapters):
        cells += _assignment(exercise)
    return notebook(f"part-{number}", cells, {"part": str(number), "edition": "nbgrader"})


def _assignment(exercise: Exercise) -> Iterator[Cell]:
    yield markdown(task_of(exercise))
    yield _graded(code(_source(exercise)), exercise.name, solution=True)
    checked = f'result = check("{exercise.name}")\nassert result.passed, repr(result)'
    yield _graded(code(checked), f"{exercise.name}-check", solution=False)


def _graded(cell: Cell, name: str, solution: bool) -> Cell:
    points = {} if solution else {"points": 1}
    metadata = {
        "grade": not solution, "grade_id": name, "locked": not solution, "schema_version": 3,
        "solution": solution, "task": False, **points,
    }  # fmt: skip
    return {**cell, "metadata": {"nbgrader": metadata}}


def _source(exercise: Exercise) -> str:
    """The solution; the statements that differ from what a learner is given are marked."""
    if exercise.kind == "written":
        text = f"{BEGIN}\n{_solved_text(exercise)}\n{END}"
        return f"# Assign your answer, a string, to {variable_of(exercise)}.\n{text}"
    return marked(solution(exercise.subject), starting_code(exercise))


def marked(solved: str, given: str) -> str:
    """`solved` with the marks around each statement that `given` does not have.

    The marks enclose whole statements, so that the stub of nbgrader is valid Python.
    """
    known = {ast.dump(node) for node in ast.walk(ast.parse(given)) if isinstance(node, ast.stmt)}
    lines = solved.splitlines()
    spans = list(_different(ast.parse(solved).body, known))
    for first, last in reversed(list(_joined(spans))):
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines[first : last + 1] = [indent + BEGIN, *lines[first : last + 1], indent + END]
    return "\n".join(lines)


def _different(body: list[ast.stmt], known: set[str]) -> Iterator[tuple[int, int]]:
    """First and last line, from 0, of the innermost statements that are not known.

    Only definitions are opened: the header of a loop or condition belongs to its body.
    """
    for node in body:
        if ast.dump(node) in known:
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from _different(node.body, known)
        else:
            assert node.end_lineno is not None
            yield node.lineno - 1, node.end_lineno - 1


def _joined(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that follow one another, with nothing or an empty line between, become one."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and first <= joined[-1][1] + 2:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    yield from joined
