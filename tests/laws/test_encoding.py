"""French on every machine: whoever opens a text file says in which encoding."""

import ast

from tests.laws.tree import called, keyword, name_of, parse, source_files

TEXT_CALLS = {"open", "fdopen", "read_text", "write_text", "TextIOWrapper"}
# These modules open bytes, or descriptors, unless told otherwise.
BINARY_BY_NATURE = {"os.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open", "urlopen"}


def test_every_text_file_is_opened_with_an_encoding() -> None:
    assert not [
        f"{name_of(path, node)} {ast.unparse(node)}"
        for path in source_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and opens_text(node) and not keyword(node, "encoding")
    ]


def opens_text(call: ast.Call) -> bool:
    if called(call) not in TEXT_CALLS:
        return False
    if ast.unparse(call.func) in BINARY_BY_NATURE or opens_a_class_of_ours(call.func):
        return False
    return "b" not in mode(call)


def opens_a_class_of_ours(function: ast.expr) -> bool:
    """`cls.open(…)` and `EncodedCorpus.open(…)` are constructors, not files."""
    owner = function.value if isinstance(function, ast.Attribute) else None
    return isinstance(owner, ast.Name) and (owner.id == "cls" or owner.id[0].isupper())


def mode(call: ast.Call) -> str:
    """The mode of an opening call; what cannot be read off the source counts as text."""
    if called(call) in ("read_text", "write_text", "TextIOWrapper"):
        return "r"
    place = 1 if isinstance(call.func, ast.Name) or called(call) == "fdopen" else 0
    given = keyword(call, "mode") or (call.args[place] if len(call.args) > place else None)
    return str(given.value) if isinstance(given, ast.Constant) else "r"
