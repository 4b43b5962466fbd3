"""The answers in a notebook that a learner returns.

The notebook is read and never run: the text of each answer goes to the grader, as a learner's file
does. In a problem set the cells of an exercise end with its `check("name")`.
"""

import ast
import contextlib
import re
from collections.abc import Iterable, Mapping

from clearhead.errors import UserError
from clearhead.learn.manifest import Exercise, course
from clearhead.learn.notebooks.problem_sets import open_text
from clearhead.learn.source import BLANK, bound_names, definition, symbol_table

STUB = "raise NotImplementedError"
IMPORTS = (ast.Import, ast.ImportFrom)
# A line that calls check, with the lines of a loop below it, or one that the grader refuses.
CHECK = re.compile(
    r"^(?!\s|def)(?:.*\bcheck\(|for\b.*:\s*?\n[ \t]+check\().*|^from clearhead\.learn .*", re.M
)
NAME = re.compile(r"""["']([\w.-]+)["']""")
# %timeit f(x), files = !ls, tensor?; what stands below other cells may import no __future__
MAGIC = re.compile(
    r"^([ \t]*)(?:(?:[\w, ]+= *)?(?:[%!?]{1,2}[\w(/.~].*|[\w.]+\?{1,2})|from __future__ .*)$", re.M
)

Bindings = Mapping[str, ast.stmt]  # names, and the statements that bind them, in order


def handed_in(cells: Iterable[str]) -> dict[Exercise, str]:
    """The text of each answer in the code cells of a notebook; empty where it is not done.

    The last cell before `check("name")` that defines what the exercise asks for is the answer,
    below the definitions of other cells that it uses. One cell may check several exercises.
    """
    known = {key: e for e in course().exercises for key in (e.name, course().number(e))}
    found: dict[Exercise, str] = {}
    earlier: Bindings = {}
    own: list[str] = []  # the cells since the last check
    for text in cells:
        own.append(MAGIC.sub(r"\1pass", text))
        checked = [known[n] for n in NAME.findall("\n".join(CHECK.findall(text))) if n in known]
        for exercise in checked:
            found[exercise] = _answer(exercise, earlier, own) or found.get(exercise, "")
        if checked:
            earlier, own = _bindings(own, earlier), []
    return found


def _bindings(cells: Iterable[str], earlier: Bindings) -> Bindings:
    """The last statement that binds each name; a cell with a syntax error has none.

    An assignment that changes an earlier value (`table |= …`, `table[key] = …`) stands below it.
    """
    found = dict(earlier)
    for text in cells:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            for node in ast.parse(text).body:
                changed = _changed(node) & found.keys()
                for name in bound_names(node) | changed:
                    before = found.pop(name, None)  # it moves to the end
                    both = [before, node] if before and name in changed else []
                    found[name] = ast.If(ast.Constant(True), both, []) if both else node
    return found


def _changed(node: ast.stmt) -> set[str]:
    """The names whose values an assignment reads and binds again, or changes in a part."""
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return set()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [t.value for t in targets if isinstance(t, ast.Subscript)]
    read = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    again = bound_names(node) if isinstance(node, ast.AugAssign) else bound_names(node) & read
    return again | {part.id for part in parts if isinstance(part, ast.Name)}


def _answer(exercise: Exercise, earlier: Bindings, own: list[str]) -> str:
    bound = _bindings([open_text(exercise)], {})
    given = {n: ast.dump(s) for n, s in bound.items() if not isinstance(s, IMPORTS)}
    names = "|".join(given)
    defines = re.compile(rf"^(?:(?:def|class) (?:{names})\b|(?:{names}) *=)", re.M)
    for cell in reversed(own):
        mine, text = _bindings([cell], {}), CHECK.sub("", cell)
        if not mine and defines.search(cell):  # a syntax error, which the grader reports
            return text
        unedited = all(ast.dump(mine[n]) == given[n] for n in given.keys() & mine.keys())
        if unedited or _has_stub(exercise, mine):
            continue
        if exercise.kind == "written":
            return text.partition("=")[2].replace(BLANK, "")
        return _completed(text, mine, given.keys(), [c for c in own if c != cell], earlier)
    return ""


def _has_stub(exercise: Exercise, mine: Bindings) -> bool:
    """Whether a body that the exercise asks for still begins with the stub."""
    tree = ast.Module([*mine.values()], [])
    for path in exercise.bodies:
        with contextlib.suppress(UserError):  # it is in another cell
            body = definition(tree, path).body
            first = next((s for s in body if not isinstance(s, ast.Expr)), None)  # no docstring
            if first and ast.unparse(first).startswith(STUB):
                return True
    return False


def _completed(
    text: str, mine: Bindings, asked: Iterable[str], rest: list[str], earlier: Bindings
) -> str:
    """The cell's text below what it uses of other cells, and what else the exercise asks for."""
    others = _bindings(rest, earlier)
    parts = {*asked} & _bindings(rest, {}).keys() - mine.keys()  # an answer in several cells
    needed = parts | ({"*"} & others.keys())  # `from math import *` binds unknown names
    todo = [*mine.values(), *(others[name] for name in needed)]
    for node in todo:  # which grows
        new = (_used(node) - mine.keys() - needed) & others.keys()
        needed |= new
        todo += [others[name] for name in new]
    return "".join(f"{ast.unparse(node)}\n" for n, node in others.items() if n in needed) + text


def _used(node: ast.stmt) -> set[str]:
    """The names that a statement reads and does not bind itself, as Python's compiler sees them.

    An argument or a variable of one function does not hide a global name that another one reads.
    """
    try:
        tables = [symbol_table(node)]
    except SyntaxError:  # the grader reports it
        return set()
    for table in tables:  # which grows
        tables += table.get_children()
    symbols = (symbol for table in tables for symbol in table.get_symbols())
    return {s.get_name() for s in symbols if s.is_referenced() and s.is_global()}
