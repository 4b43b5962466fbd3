"""French on every machine: whoever opens a text file says in which encoding."""

import ast
import subprocess

import pytest

from tests.laws.tree import ROOT, called, keyword, name_of, parse, source_files

# Calls that always mean text, and the place of the encoding among their arguments.
READING_CALLS = {"read_text": 0, "write_text": 1, "TextIOWrapper": 1}
OPENING_CALLS = {"open", "fdopen"}
# These open bytes, or descriptors, unless told otherwise; so do the members of an archive.
BINARY_BY_NATURE = {"os.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open"}
ARCHIVES = {"archive", "whole"}  # how the package names an open ZipFile


def test_every_text_file_is_opened_with_an_encoding() -> None:
    assert not [
        f"{name_of(path, node)} {ast.unparse(node)}"
        for path in source_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and opens_text(node) and not names_encoding(node)
    ]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a clone has attributes")
def test_git_changes_no_line_end_of_a_file_so_that_checksums_hold_on_windows() -> None:
    command = ["git", "ls-files", "--eol"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8")
    assert not [line for line in listing.stdout.splitlines() if "attr/-text" not in line]


def opens_text(call: ast.Call) -> bool:
    if called(call) in READING_CALLS:
        return True
    if called(call) not in OPENING_CALLS or ast.unparse(call.func) in BINARY_BY_NATURE:
        return False
    return not opens_something_else(call.func) and "b" not in mode(call)


def names_encoding(call: ast.Call) -> bool:
    place = READING_CALLS.get(called(call))
    return bool(keyword(call, "encoding")) or (place is not None and len(call.args) > place)


def opens_something_else(function: ast.expr) -> bool:
    """`cls.open(…)` and `Encoded.open(…)` are constructors; an archive's members are bytes."""
    owner = function.value if isinstance(function, ast.Attribute) else None
    if not isinstance(owner, ast.Name):
        return False
    return owner.id == "cls" or owner.id[0].isupper() or owner.id in ARCHIVES


def mode(call: ast.Call) -> str:
    """Every text in the mode argument; what cannot be read off the source counts as text."""
    place = 1 if isinstance(call.func, ast.Name) or called(call) == "fdopen" else 0
    given = keyword(call, "mode") or (call.args[place] if len(call.args) > place else None)
    constants = ast.walk(given) if given is not None else []
    return "".join(str(node.value) for node in constants if isinstance(node, ast.Constant))
