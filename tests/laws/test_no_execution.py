"""What clearhead reads is data: it evaluates no text, starts no shell and fetches no entity."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clearhead.data.tmx import TmxPairs
from clearhead.errors import UserError
from tests.laws.tree import keyword, name_of, parse, source_files

Forbidden = Callable[[ast.Call], bool]

BUILT_IN = {"eval", "exec", "compile", "__import__"}
SHELLS = {
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "pty.spawn",
    "asyncio.create_subprocess_shell",
}  # fmt: skip
YAML = {
    "yaml.load", "yaml.load_all", "yaml.full_load", "yaml.full_load_all", "yaml.unsafe_load",
    "yaml.unsafe_load_all",
}  # fmt: skip
# The course runs an answer with the library's definitions around it, in the process that is
# limited for that: the code is the user's own file and clearhead's own source.
ALLOWED = {("eval and exec", "src/clearhead/learn/answer.py")}
# The only reader of XML: its parser (expat) opens no external entity.
XML = "xml.etree.ElementTree"
OTHER_XML = ("xml.dom", "xml.sax", "xml.parsers", "lxml", "xmlrpc")


def name_of_call(call: ast.Call) -> str:
    return ast.unparse(call.func)


FORBIDDEN: dict[str, Forbidden] = {
    "eval and exec": lambda call: name_of_call(call) in BUILT_IN,
    "shells": lambda call: name_of_call(call) in SHELLS or keyword(call, "shell") is not None,
    "unsafe YAML": lambda call: name_of_call(call) in YAML,
    "XML parsers with settings": lambda call: name_of_call(call).endswith("XMLParser"),
}


def calls() -> Iterator[tuple[Path, ast.Call]]:
    for path in source_files():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call):
                yield path, node


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_the_package_never_calls(kind: str) -> None:
    found = [name_of(path, call) for path, call in calls() if FORBIDDEN[kind](call)]
    assert not [place for place in found if (kind, place.split(":")[0]) not in ALLOWED]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("eval and exec", "eval(text)"),
        ("shells", "subprocess.run(command, shell=True)"),
        ("shells", "os.system(command)"),
        ("unsafe YAML", "yaml.load(text, Loader=yaml.Loader)"),
        ("XML parsers with settings", "ElementTree.XMLParser(target=x)"),
    ],
)
def test_such_a_call_would_be_found(kind: str, code: str) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call) and FORBIDDEN[kind](call)


def test_yaml_is_parsed_by_the_safe_loader_only() -> None:
    parsers = [(path, call) for path, call in calls() if name_of_call(call) == "yaml.parse"]
    for path, call in parsers:
        loader = keyword(call, "Loader")
        assert loader is not None and ast.unparse(loader) == "yaml.SafeLoader", name_of(path, call)


def test_no_other_reader_of_xml_is_imported() -> None:
    for path in source_files():
        for node in ast.walk(parse(path)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not name.startswith(OTHER_XML), name_of(path, node)
                assert not name.startswith("xml") or name.startswith(XML), name_of(path, node)


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY secret SYSTEM "file://{secret}">',
        '<!ENTITY secret PUBLIC "x" "{secret}">',
        '<!ENTITY % load SYSTEM "file://{secret}"> %load;',
    ],
)
def test_external_entities_are_not_read(declaration: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret", encoding="utf-8")
    declared = declaration.format(secret=tmp_path / "secret")
    path = tmp_path / "m.tmx"
    unit = "".join(f'<tuv xml:lang="{lang}"><seg>&secret;</seg></tuv>' for lang in ("en", "fr"))
    path.write_text(
        f"<!DOCTYPE tmx [{declared}]><tmx><body><tu>{unit}</tu></body></tmx>", encoding="utf-8"
    )
    try:
        found = [*TmxPairs(path)]
    except UserError as error:
        assert "a secret" not in str(error)
    else:
        assert "a secret" not in str(found)
