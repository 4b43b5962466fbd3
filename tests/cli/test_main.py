"""Every ending of a command line: an exit code and at most one line, never a traceback."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from clearhead import __version__
from clearhead.cli import main
from clearhead.errors import UserError


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the verbs by ones that end in every way a verb can end."""
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    raises = {
        "refuses": UserError("given 3 columns,\nexpected 2; drop one"),
        "interrupted": KeyboardInterrupt(),
        "gives-up": typer.Abort(),
        "exits": typer.Exit(3),
        "has-a-bug": ZeroDivisionError("a bug"),
    }
    for name, error in raises.items():
        app.command(name)(raiser(error))
    app.command("counts")(counts)
    monkeypatch.setattr(main, "app", app)


def raiser(error: BaseException) -> object:
    def verb() -> None:
        raise error

    return verb


def counts(times: int = 1) -> None:
    print("done" * times)


@pytest.mark.usefixtures("endings")
class TestEndings:
    def test_success_is_zero(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main.run(["counts"]) == 0
        assert capsys.readouterr() == ("done\n", "")

    def test_bad_input_is_two_and_one_line_on_stderr(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main.run(["refuses"]) == 2
        expected = "clearhead: error: given 3 columns, expected 2; drop one\n"
        assert capsys.readouterr() == ("", expected)

    @pytest.mark.parametrize(
        "arguments",
        [["counts", "--tims", "2"], ["counts", "--times", "two"], ["count"], ["counts", "more"]],
    )
    def test_bad_usage_is_two_and_one_line_that_points_to_help(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main.run(arguments) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert err.startswith("clearhead: error: ") and "--help` lists" in err

    @pytest.mark.parametrize("times", [["--times", "two"], ["--times"]])
    def test_bad_usage_points_to_the_help_of_its_verb(
        self, times: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main.run(["counts", *times]) == 2
        assert "`clearhead counts --help` lists" in capsys.readouterr().err

    def test_ctrl_c_is_130(self) -> None:
        assert main.run(["interrupted"]) == 130
        assert main.run(["gives-up"]) == 130

    def test_a_verb_may_choose_its_code(self) -> None:
        assert main.run(["exits"]) == 3

    def test_a_bug_is_not_hidden(self) -> None:
        with pytest.raises(ZeroDivisionError):
            main.run(["has-a-bug"])


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"clearhead {__version__}\n"


def test_help_names_every_verb_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    words = capsys.readouterr().out.split()
    assert {verb: words.count(verb) for verb in ("translate", "train", "evaluate", "data")} == {
        "translate": 1,
        "train": 1,
        "evaluate": 1,
        "data": 1,
    }


def every_verb(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from every_verb(child, (*words, name))


@pytest.mark.parametrize("words", [*every_verb(typer.main.get_command(main.app))], ids=" ".join)
def test_no_help_shows_a_type_of_python(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    usage = shown.partition("\n\n")[0]
    assert not re.search(r"<(str|int|float|path|bool)\b|list\[", shown)
    assert "[[" not in usage


def test_a_help_names_a_directory_as_one_and_an_argument_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["translate", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: clearhead translate [OPTIONS] [TEXT]...\n")
    assert "  --model DIRECTORY  " in shown and "\n  TEXT  What to translate" in shown


def test_no_verb_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Usage: clearhead") and err == ""


def test_a_reader_who_left_is_141_and_silence() -> None:
    """The reader closes at once, as `clearhead … | head -0` does."""
    command = [sys.executable, "-m", "clearhead", "--help"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141 and error == b""


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process without a signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_stopped_command_leaves_no_unfinished_file(number: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clearhead", "translate", "-o", str(tmp_path / "out.txt")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a background job ignores some
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b"Hello.\n")
        process.stdin.flush()
        process.stderr.readline()  # the engine is loaded
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        process.send_signal(number)
        # A shell reports 128 + number in both cases: it exits so, or ends by the signal itself.
        assert process.wait() in (128 + number, -number)
        assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_during_the_imports_is_130_and_silence() -> None:
    code = (
        "import runpy, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'clearhead.cli.main': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "runpy.run_module('clearhead', run_name='__main__')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (130, b"")


def test_nohup_still_ignores_the_end_of_the_terminal() -> None:
    code = (
        "import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from clearhead.cli import main; import sys; sys.argv = ['clearhead', '--version'];\n"
        "try: main.main()\n"
        "except SystemExit: os.kill(os.getpid(), signal.SIGHUP); print('alive')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert found.stdout.endswith(b"alive\n")


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of Unix closes streams")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("data list >&-", "standard output is closed"),
        ("--help >&-", "standard output is closed"),
        ("translate --quiet Hello. <&- >&-", "standard output is closed"),
        ("translate --quiet <&-", "standard input is closed"),
        ("translate --quiet --input - <&-", "standard input is closed"),
    ],
)
def test_a_closed_stream_is_one_line(arguments: str, message: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m clearhead {arguments}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"clearhead: error: {message}; ")


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of Unix closes streams")
def test_messages_do_not_go_to_standard_output_where_standard_error_is_closed() -> None:
    command = f"{shlex.quote(sys.executable)} -m clearhead translate --input nowhere 2>&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "command",
    [
        ["translate", "-i", "in.tsv"],
        ["generate", "--model", "m", "-i", "in.tsv"],
        ["embed", "--model", "m", "in.tsv"],
        ["bio", "dna", "predict", "m", "in.tsv"],
        ["bio", "protein", "embed", "m", "in.tsv"],
        ["bio", "cells", "benchmark", "in.tsv"],
    ],
)
def test_no_command_replaces_the_file_that_it_reads(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.tsv").write_text("Hello.\n", encoding="utf-8")
    assert main.run([*command, "-o", str(tmp_path / "in.tsv")]) != 0
    _, err = capsys.readouterr()
    assert "it is the input; give another file with --output" in err and err.count("\n") == 1
    assert (tmp_path / "in.tsv").read_text(encoding="utf-8") == "Hello.\n"


@pytest.mark.parametrize("given", [(b"--\xff",), (b"-i", b"\xff.txt")])
def test_an_argument_that_is_not_utf8_is_one_line(given: tuple[bytes, ...]) -> None:
    command = [os.fsencode(sys.executable), b"-m", b"clearhead", b"translate", *given]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1), done.stderr
