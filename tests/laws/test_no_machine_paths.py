"""What is committed runs anywhere: no path of the machine it was written on, no unsafe links."""

import re

from tests.laws.tree import ROOT, name_of, tracked_files

MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:tmp|root|home|work|opt|mnt|Users)/\w")
# Shell scripts of the build machine may speak of that machine; this file names the pattern.
EXEMPT = (".ci/", "tests/laws/test_no_machine_paths.py")


def test_no_tracked_file_names_a_path_of_this_machine() -> None:
    found = [
        f"{name_of(path)}:{number} {line.strip()[:100]}"
        for path in tracked_files()
        if not name_of(path).startswith(EXEMPT)
        for number, line in enumerate(lines(path.read_bytes()), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert not found


def test_the_tree_is_where_the_tests_think_it_is() -> None:
    assert ROOT / "pyproject.toml" in tracked_files()


def lines(content: bytes) -> list[str]:
    """The lines of a text file; a binary file has none."""
    return [] if b"\0" in content else content.decode("utf-8", errors="replace").splitlines()
