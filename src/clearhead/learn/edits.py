"""Replacing one expression or statement of a source text, found by its syntax tree."""

import ast
import re
from collections.abc import Iterable, Iterator

from clearhead.errors import UserError
from clearhead.learn.source import Edit, definition


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with every edit made, one after the other.

    Raises:
        UserError: what an edit replaces does not occur, or occurs more than once.
    """
    for edit in edits:
        text = replace(text, edit)
    return text


def replace(text: str, edit: Edit) -> str:
    """The text with one expression or statement replaced; comments and layout stay."""
    tree = ast.parse(text)
    scope = definition(tree, edit.inside) if edit.inside else tree
    found = list(_occurrences(scope, _pattern(edit.old)))
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
    start = _before_comments(text, start)
    _, end = _span(text, body[-1])
    return text[:start] + "raise NotImplementedError" + text[end:]


def _before_comments(text: str, start: int) -> int:
    """The comment lines above a body belong to the solution."""
    head = text[:start]
    comments = re.search(r"(?:^[ \t]*#[^\n]*\n)*[ \t]*\Z", head, re.MULTILINE)
    if comments is None or not comments.group().strip():
        return start
    indent = len(head) - len(head.rstrip(" "))
    return comments.start() + indent


def _pattern(code: str) -> ast.AST:
    statement = ast.parse(code).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _occurrences(scope: ast.AST, pattern: ast.AST) -> Iterator[ast.AST]:
    return (node for node in _in_order(scope) if _same(node, pattern))


def _same(a: object, b: object) -> bool:
    """Whether two syntax trees are equal; most pairs differ at their first node."""
    if isinstance(a, ast.AST):
        return type(a) is type(b) and all(
            _same(getattr(a, field, None), getattr(b, field, None)) for field in a._fields
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and a == b


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below, in the order of the text."""
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _in_order(child)


def _span(text: str, node: ast.AST) -> tuple[int, int]:
    """Where a node stands in the text, in characters (the tree counts bytes)."""
    lines = text.splitlines(keepends=True)

    def index(line: int, column: int) -> int:
        before = sum(map(len, lines[: line - 1]))
        return before + len(lines[line - 1].encode()[:column].decode())

    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None and node.end_col_offset is not None
    return index(node.lineno, node.col_offset), index(node.end_lineno, node.end_col_offset)
