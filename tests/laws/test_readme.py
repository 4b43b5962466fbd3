"""What the pages tell a reader to type is what the program takes and what CI runs."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.laws.cli_options import root_command
from tests.laws.tree import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("recipes/*.md"))]
BLOCK = re.compile(r"^```(?:bash|console|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)|src=\"([^\"]+)\"")


class Line(NamedTuple):
    """One command of one page."""

    page: Path
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}: {self.text[:60]}"


def commands(page: Path) -> list[Line]:
    """Every command in the page's shell blocks, continued lines joined, comments dropped."""
    text = "".join(BLOCK.findall(page.read_text(encoding="utf-8"))).replace("\\\n", " ")
    lines = (line.removeprefix("$ ").strip() for line in text.splitlines())
    return [Line(page, line) for line in lines if line and not line.startswith("#")]


def verbs(line: Line) -> list[list[str]]:
    """The `clearhead …` calls of one line, redirections and pipes cut off."""
    lexer = shlex.shlex(line.text, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    calls: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("<>"):
            next(lexer, None)  # the file of a redirection
        elif set(word) <= set("|&;"):
            calls.append([])
        else:
            calls[-1].append(word)
    return [call[1:] for call in calls if call[:1] == ["clearhead"]]


ALL = [line for page in PAGES for line in commands(page)]


@pytest.mark.parametrize("line", [line for line in ALL if verbs(line)], ids=str)
def test_every_command_parses(line: Line) -> None:
    """Unknown verbs, unknown options and wrong types raise; nothing is run."""
    for arguments in verbs(line):
        command, name = root_command(), "clearhead"
        while hasattr(command, "commands") and arguments and not arguments[0].startswith("-"):
            name, *arguments = arguments
            command = command.commands[name]
        command.make_context(name, list(arguments))


def targets(text: str) -> list[str]:
    """The targets of every `make` in a text."""
    return [
        target for found in re.findall(r"\bmake((?: [a-z]+)+)", text) for target in found.split()
    ]


def unknown_targets(text: str) -> list[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return [one for one in targets(text) if not re.search(rf"^{one}:", makefile, re.MULTILINE)]


@pytest.mark.parametrize("line", [line for line in ALL if "make " in line.text], ids=str)
def test_every_make_target_exists(line: Line) -> None:
    assert targets(line.text) and not unknown_targets(line.text)


def test_ci_checks_by_make_targets_alone() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
    assert targets(commands) == ["documents", "lint", "types", "layers"]  # and those of the README
    assert not unknown_targets(commands)
    assert not re.findall(r"\b(?:pytest|ruff|mypy|lint-imports)\b", commands)


def test_the_first_screen_is_two_commands_and_a_picture() -> None:
    screen = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert len(BLOCK.findall(screen)) == 2 and "docs/architecture" in screen
    assert len(screen.splitlines()) <= 50


def test_ci_runs_the_two_commands_as_they_stand() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "readme_command 1" in script and "readme_command 2" in script


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_into_the_tree_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [a or b for a, b in LINK.findall(text) if not (a or b).startswith("http")]
    assert not [target for target in targets if not (page.parent / target).exists()]
