"""What is committed runs anywhere: no path of one machine, no host of one package registry."""

import re

from tests.laws.tree import ROOT, name_of, tracked_files

MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:tmp|root|home|work|opt|mnt|Users)/\w")
# Where packages come from is the reader's choice: pip and its configuration know.
REGISTRY = re.compile(r"pypi\.org|pythonhosted|registry\.npmjs|download\.pytorch|--index-url")
# Shell scripts of the build machine may speak of that machine; this file names the pattern.
EXEMPT = (".ci/", "tests/laws/test_no_machine_paths.py")


def test_no_tracked_file_names_a_path_of_this_machine() -> None:
    assert not mentions(MACHINE_PATH, exempt=EXEMPT)


def test_no_tracked_file_names_a_package_registry() -> None:
    assert not mentions(REGISTRY, exempt=EXEMPT[1:])


def test_the_tree_is_where_the_tests_think_it_is() -> None:
    assert ROOT / "pyproject.toml" in tracked_files()


def mentions(pattern: re.Pattern[str], exempt: tuple[str, ...]) -> list[str]:
    """Every tracked line that the pattern meets."""
    return [
        f"{name_of(path)}:{number} {line.strip()[:100]}"
        for path in tracked_files()
        if not name_of(path).startswith(exempt)
        for number, line in enumerate(lines(path.read_bytes()), start=1)
        if pattern.search(line)
    ]


def lines(content: bytes) -> list[str]:
    """The lines of a text file; a binary file has none."""
    return [] if b"\0" in content else content.decode("utf-8", errors="replace").splitlines()
