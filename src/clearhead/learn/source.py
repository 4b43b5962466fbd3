"""Exercises are cut from the library's source: excerpts, and replacements found by syntax tree."""

import ast
import re
import symtable
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, reduce
from importlib.util import find_spec
from pathlib import Path

from clearhead.errors import UserError

BLANK = "____"

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Edit:
    """Replace the expression or statement `old` of the function `inside` by the text `new`.

    `old` is compared as a syntax tree and must occur once; `nth` selects among several.
    """

    inside: str
    old: str
    new: str
    nth: int = 0


@cache
def _module(name: str) -> tuple[Path, str, ast.Module]:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise UserError(f"no module {name}; correct the address in the manifest or the lesson")
    text = Path(spec.origin).read_text(encoding="utf-8")
    return Path(spec.origin), text, ast.parse(text)


def excerpt(addresses: tuple[str, ...]) -> str:
    """The source at `module:name` or `module:Class.method`, with the imports that it needs.

    `module` alone is the whole file; `module:Class(a, b)` keeps only these methods of
    a class. Checks of arguments are left out.

    Raises:
        UserError: there is no such module or definition.
    """
    pieces, imports = [], []
    if len(addresses) == 1 and ":" not in addresses[0]:
        return _module(addresses[0])[1]
    included = set(map(address_name, addresses))
    for address in addresses:
        module, _, inside = address.partition(":")
        path, _, methods = inside.partition("(")
        piece = _definition_text(module, path, re.findall(r"\w+", methods))
        pieces.append(piece)
        imports += _imports(module, piece, included)
    head = "\n".join(_sorted_imports(imports))
    return "\n\n\n".join([head, *pieces] if head else pieces) + "\n"


def source_lines(address: str) -> tuple[str, int, list[str]]:
    """The source at `module:name` as it stands: its file, its first line's number, its lines.

    Raises:
        UserError: there is no such module or definition.
    """
    module, _, path = address.partition(":")
    origin, text, tree = _module(module)
    node = definition(tree, path, address)
    first = _first_line(node)
    depth = len(module.split(".")) + (origin.stem == "__init__")
    return "/".join(origin.parts[-depth:]), first, text.splitlines()[first - 1 : node.end_lineno]


def address_name(address: str) -> str:
    """The name that an excerpt defines: the last part of its address."""
    return address.partition(":")[2].partition("(")[0].rpartition(".")[2]


def _definition_text(module: str, path: str, kept: list[str]) -> str:
    _, text, tree = _module(module)
    node = definition(tree, path, f"{module}:{path}")
    lines = text.splitlines()
    static = isinstance(node, ast.FunctionDef) and bool(node.decorator_list) and "." in path
    first = node.lineno if static else _first_line(node)
    left_out = [*_argument_checks(node), *_other_methods(node, kept)]
    dropped = {n for d in left_out for n in _lines_of(d, lines)}
    rows = [
        lines[n - 1][node.col_offset :]
        for n in range(first, (node.end_lineno or first) + 1)
        if n not in dropped
    ]
    piece = re.sub(r"\n+ *Raises:\n(?: +.*\n)+?(?= *(?:\"\"\"|\n))", "\n", "\n".join(rows))
    return re.sub(r"\n{3,}", "\n\n", piece).rstrip()


def definition(tree: ast.AST, path: str, name: str = "") -> Definition:
    """The function or class at a dotted path of a syntax tree.

    Raises:
        UserError: there is none.
    """
    node = tree
    for part in path.split("."):
        body = getattr(node, "body", [])
        found = [n for n in body if isinstance(n, Definition) and n.name == part]
        if not found:
            raise UserError(f"{name or path} is not in the source any more; correct its address")
        node = found[-1]
    assert isinstance(node, Definition)
    return node


def _first_line(node: Definition) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _lines_of(node: ast.stmt, lines: list[str]) -> range:
    first = _first_line(node) if isinstance(node, Definition) else node.lineno
    while isinstance(node, Definition) and not lines[first - 2].strip():
        first -= 1
    return range(first, (node.end_lineno or first) + 1)


def _other_methods(node: Definition, kept: list[str]) -> list[ast.stmt]:
    """Methods that are not kept; also one that is assigned, as in `__repr__ = tree`."""
    return [s for s in node.body if kept and {*bound_names(s)} - {*kept}]


def _argument_checks(node: Definition) -> list[ast.stmt]:
    """Statements that only refuse wrong arguments, and methods that only do that or print."""
    bodies = [getattr(child, "body", None) for child in ast.walk(node)]
    statements = [s for body in bodies if isinstance(body, list) for s in body]
    return [s for s in statements if _is_check(s)]


def _is_check(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return all(isinstance(s, ast.Raise) for s in statement.body) and not statement.orelse
    if isinstance(statement, ast.FunctionDef):
        return statement.name == "extra_repr" or statement.name.startswith("_check")
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        name = ast.unparse(statement.value.func).rpartition(".")[2]
        return name.lstrip("_").startswith("check")
    return False


def _imports(module: str, piece: str, included: set[str]) -> list[str]:
    """Import lines for the names that a piece of a module uses and does not define."""
    tree = ast.parse(piece)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - included
    found = []
    for statement in _module(module)[2].body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            begin = "" if isinstance(statement, ast.Import) else f"from {statement.module} "
            names = [a for a in statement.names if (a.asname or a.name).split(".")[0] in used]
            found += [begin + ast.unparse(ast.Import([name])) for name in names]
        else:
            found += [f"from {module} import {n}" for n in bound_names(statement) if n in used]
    return found


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module binds, also inside `if`, `try` or `with`."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    table = symbol_table(statement)
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


class _Comprehensions(ast.NodeTransformer):
    """Replaces [… for …] and {… for …} by (… for …), which has a scope of its own."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.AST:
        return self.generic_visit(ast.GeneratorExp(node.elt, node.generators))

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return self.generic_visit(ast.GeneratorExp(pair, node.generators))


def symbol_table(statement: ast.stmt) -> symtable.SymbolTable:
    """The names of a statement as Python's compiler sees them.

    From Python 3.12 on its table lists the variable of a comprehension among those of the module.

    Raises:
        SyntaxError: the compiler refuses the statement.
    """
    tree = _Comprehensions().visit(ast.parse(ast.unparse(statement)))
    return symtable.symtable(ast.unparse(tree), "answer", "exec")


def _sorted_imports(lines: list[str]) -> list[str]:
    """As ruff would sort them: the standard library, then others, names of one module joined."""
    joined: dict[str, list[str]] = {}
    for line in sorted(set(lines)):
        head, _, name = line.partition("import ")  # "from math ", or nothing
        joined.setdefault(head or line, []).append(name)
    groups: tuple[list[str], ...] = ([], [], [])
    for head in sorted(joined, key=lambda head: (head.startswith("from"), head)):
        place = {"torch": 1, "clearhead": 2}.get(head.split()[1].partition(".")[0], 0)
        names = f"import {', '.join(joined[head])}" if head.startswith("from") else ""
        groups[place].append(head + names)
    return "\n\n".join("\n".join(group) for group in groups if group).splitlines()


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with every edit made, one after the other.

    Raises:
        UserError: what an edit replaces is no code, does not occur, or occurs more than once.
    """
    return reduce(replace, edits, text)


def replace(text: str, edit: Edit) -> str:
    """The text with one expression or statement replaced; comments and layout stay."""
    tree = ast.parse(text)
    scope = definition(tree, edit.inside) if edit.inside else tree
    wanted = _pattern(edit.old)
    same = [n for n in ast.walk(scope) if isinstance(n, type(wanted))]
    found = [node for node in same if ast.dump(node) == ast.dump(wanted)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    if not found or len(found) < edit.nth or (len(found) > 1 and not edit.nth):
        raise UserError(
            f"`{edit.old}` occurs {len(found)} times in {edit.inside or 'the source'}; "
            "it must occur once (or give nth): adapt the edit to the changed source"
        )
    node = found[max(0, edit.nth - 1)]
    start, end = _span(text, node)
    column = len(text[:start]) - (text.rfind("\n", 0, start) + 1)
    new = edit.new.replace("\n", "\n" + " " * column)
    return text[:start] + new + text[end:]


def body_removed(text: str, path: str) -> str:
    """The text with a function's body replaced by `raise NotImplementedError`."""
    node = definition(ast.parse(text), path)
    body = node.body[1:] if ast.get_docstring(node) else node.body
    start, _ = _span(text, body[0])
    _, end = _span(text, body[-1])
    # The comment lines above a body belong to the solution.
    comments = re.search(r"^([ \t]*)(?:#[^\n]*\n[ \t]*)*\Z", text[:start], re.MULTILINE)
    first = comments.end(1) if comments else start
    return text[:first] + "raise NotImplementedError" + text[end:]


def _pattern(code: str) -> ast.expr | ast.stmt:
    try:
        (statement,) = ast.parse(code).body
    except (SyntaxError, ValueError) as error:
        raise UserError(f"`{code}` is not one expression or statement; correct the edit") from error
    return statement.value if isinstance(statement, ast.Expr) else statement


def _span(text: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Where a node stands in the text, in characters (the tree counts bytes)."""
    lines = text.splitlines(keepends=True)

    def index(line: int, column: int) -> int:
        before = sum(map(len, lines[: line - 1]))
        return before + len(lines[line - 1].encode()[:column].decode())

    assert node.end_lineno is not None and node.end_col_offset is not None
    return index(node.lineno, node.col_offset), index(node.end_lineno, node.end_col_offset)
