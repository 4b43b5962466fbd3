"""Problem sets: the exercises of several chapters as one notebook, with a check after each.

They are generated from the manifest that `clearhead learn` uses. The solved edition, for
teachers, holds the library's source and the model answers instead of the blanks. So does the
edition for nbgrader, between `### BEGIN SOLUTION` and `### END SOLUTION`: `nbgrader
generate_assignment` replaces what is between the two by a stub, and `nbgrader autograde` runs the
cells that check. Cell metadata: nbgrader's schema 3.

`handed_in` finds the answers in a notebook that a learner returns. The notebook is read and never
run: the text of each answer goes to the grader, as a learner's file does.
"""

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping

from clearhead.learn.manifest import Exercise, Part, course, slug, texts
from clearhead.learn.notebooks import Cell, Notebook, code, install_cell, markdown, notebook
from clearhead.learn.source import BLANK, bound_names
from clearhead.learn.texts import solution, starting_code, variable_of

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "raise NotImplementedError"
IMPORTS = (ast.Import, ast.ImportFrom)
# A line with check("scale"), or one that the grader refuses.
CHECK = re.compile(
    r"""^(?!\s|def).*?\bcheck\((?:.*?["']([\w.-]+)["'])?.*|^from clearhead\.learn .*""", re.M
)
# %timeit f(x), files = !ls, tensor?
MAGIC = re.compile(r"^([ \t]*)(?:[\w, ]+= *)?(?:[%!?]{1,2}[\w(/.~].*|[\w.]+\?{1,2})$", re.M)


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
    text = _solved_text(exercise) if solved else _open_text(exercise)
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


def _open_text(exercise: Exercise) -> str:
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


def handed_in(cells: Iterable[str]) -> dict[Exercise, str]:
    """The text of each answer in the code cells of a notebook; empty where it is not done.

    The cells of an exercise end with its `check("name")`. The last of them that defines what the
    exercise asks for is the answer, below the definitions of other cells that it uses.
    """
    known = {key: e for e in course().exercises for key in (e.name, course().number(e))}
    found, earlier, own = dict[Exercise, str](), dict[str, ast.stmt](), list[str]()
    for text in cells:
        own.append(MAGIC.sub(r"\1pass", text))
        for exercise in [known[name] for name in CHECK.findall(text) if name in known]:
            found[exercise] = _answer(exercise, earlier, own) or found.get(exercise, "")
            earlier, own = _definitions(own, earlier), []
    return found


def _definitions(cells: Iterable[str], earlier: Mapping[str, ast.stmt]) -> dict[str, ast.stmt]:
    """The last statement that binds each name; a cell with a syntax error has none."""
    found = dict(earlier)
    for text in cells:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            for name, node in [(n, s) for s in ast.parse(text).body for n in bound_names(s)]:
                found.pop(name, None)  # it moves to the end
                found[name] = node
    return found


def _answer(exercise: Exercise, earlier: Mapping[str, ast.stmt], own: list[str]) -> str:
    known = _definitions([_open_text(exercise)], {})
    given = {n: ast.dump(s) for n, s in known.items() if not isinstance(s, IMPORTS)}
    names = "|".join(given)
    defines = re.compile(rf"^(?:(?:def|class) (?:{names})\b|(?:{names}) *=)", re.M)
    for cell in reversed(own):
        mine, text = _definitions([cell], {}), CHECK.sub("", cell)
        if not mine and defines.search(cell):  # a syntax error
            return text
        if STUB in cell or all(ast.dump(mine[n]) == given[n] for n in given.keys() & mine.keys()):
            continue
        if exercise.kind == "written":
            return text.partition("=")[2].replace(BLANK, "")
        rest = [other for other in own if other != cell]
        others = _definitions(rest, earlier)
        parts = {"*"} & others.keys() | given.keys() & _definitions(rest, {}).keys() - mine.keys()
        return _needed(mine, parts, others) + text
    return ""


def _needed(mine: Mapping[str, ast.stmt], parts: set[str], others: Mapping[str, ast.stmt]) -> str:
    """The statements of other cells that are parts of an answer, or that it uses."""
    todo, needed = [*mine.values(), *(others[name] for name in parts)], {*parts}
    for node in todo:
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        local = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        local |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        new = ({n.id for n in names} - local - mine.keys() - needed) & others.keys()
        needed |= new
        todo += [others[name] for name in new]
    return "".join(f"{ast.unparse(node)}\n" for n, node in others.items() if n in needed)
