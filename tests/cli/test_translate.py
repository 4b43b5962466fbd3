import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.decoding.engine import DecodingOptions
from clearhead.translation.result import alignment_layer_of
from tests.cli.messages import ENGINE, without_engine
from tests.translation.tiny import save, translator

Run = Callable[..., tuple[int, str, str]]
FAST = ["--beam-size", "1", "--max-length", "5", "--device", "cpu", "--quiet"]


class Terminal(io.TextIOWrapper):
    """Somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("model"))


@pytest.fixture
def clearhead(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """`clearhead translate --model … ARGUMENTS < stdin` -> exit code, stdout, stderr."""

    def call(
        *arguments: str | Path,
        stdin: bytes = b"",
        stream: type[io.TextIOWrapper] = io.TextIOWrapper,
    ) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", stream(io.BytesIO(stdin), encoding="utf-8"))
        code = run(["translate", "--model", str(model), *FAST, *map(str, arguments)])
        out, err = capsysbinary.readouterr()
        return code, out.decode("utf-8"), err.decode("utf-8")

    return call


def expected(*texts: str) -> str:
    return "".join(f"{t}\n" for t in translator().translate(texts, beam_size=1, max_length=5))


def test_a_hyphen_for_a_file_is_standard_input(clearhead: Run) -> None:
    assert clearhead("-i", "-", stdin=b"Hello world\n") == (0, expected("Hello world"), "")


def test_texts_on_the_command_line_give_a_line_each(clearhead: Run) -> None:
    assert clearhead("Hello world", "", "I am fine.") == (
        0,
        expected("Hello world", "", "I am fine."),
        "",
    )


def test_standard_input_gives_one_line_out_for_each_line_in(clearhead: Run) -> None:
    stdin = "Hello\r\n\n \t\nthe\u2028cat\nno last end".encode()
    code, out, err = clearhead(stdin=stdin)
    assert (code, err) == (0, "")
    assert out == expected("Hello", "", "", "the\u2028cat", "no last end")
    assert out.count("\n") == 5


def test_files_in_and_out(clearhead: Run, tmp_path: Path) -> None:
    (tmp_path / "en").write_bytes(b"Hello\n\nthe cat\n")
    assert clearhead("-i", tmp_path / "en", "-o", tmp_path / "fr") == (0, "", "")
    assert (tmp_path / "fr").read_text(encoding="utf-8") == expected("Hello", "", "the cat")


def test_a_hyphen_as_output_is_standard_output(
    clearhead: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert clearhead("Hello", "-o", "-")[:2] == (0, expected("Hello"))
    assert not list(tmp_path.iterdir())


def test_nothing_in_nothing_out(clearhead: Run) -> None:
    assert clearhead() == (0, "", "")


def test_an_output_file_appears_whole_or_not_at_all(clearhead: Run, tmp_path: Path) -> None:
    (tmp_path / "en").write_bytes(b"\n" * 300_000 + b"\xff\n")
    (tmp_path / "fr").write_text("what stood here before\n", encoding="utf-8")
    code, _, err = clearhead("-i", tmp_path / "en", "-o", tmp_path / "fr")
    assert (code, err.count("\n")) == (2, 1)
    assert "line 300001, byte 1 of the line: 0xff" in err
    assert (tmp_path / "fr").read_text(encoding="utf-8") == "what stood here before\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["en", "fr"]


@pytest.mark.skipif(os.name != "posix", reason="there is no such device")
def test_a_device_is_written_to_and_not_replaced(clearhead: Run) -> None:
    assert clearhead("Hello", "-o", os.devnull) == (0, "", "")
    assert Path(os.devnull).is_char_device()


def test_jsonl_counts_lines_and_carries_what_was_asked(clearhead: Run) -> None:
    stdin = b"Hello world\n\nthe cat\n"
    code, out, _ = clearhead("--format", "jsonl", "--scores", "--alignments", stdin=stdin)
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [r["id"] for r in records] == [0, 1, 2]
    assert [r["source"] for r in records] == ["Hello world", "", "the cat"]
    assert all(r["translations"][0]["score"] <= 0 for r in records)
    ours = translator()
    layer = alignment_layer_of(ours.engine.config.decoder_layers)
    (best,) = ours.translate_detailed(["Hello world"], DecodingOptions(1, max_length=5), layer)[0]
    assert best.alignment is not None
    assert records[0]["translations"][0]["alignment"] == " ".join(
        f"{s}-{t}" for s, t in best.alignment
    )
    assert records[1]["translations"][0]["alignment"] == ""


def test_doubtful_lines_are_marked_and_blank_ones_stay_blank(clearhead: Run) -> None:
    stdin = b"Room 408\n\nHello world\n"
    code, out, _ = clearhead("--mark-doubt", stdin=stdin)
    lines = out.split("\n")
    assert code == 0
    assert "number 408 missing" in lines[0].split("\t[doubt: ")[1]
    assert lines[1] == ""
    assert [line.split("\t")[0] for line in lines[:3]] == expected(
        "Room 408", "", "Hello world"
    ).split("\n")[:3]


def test_moses_lists_have_n_best_lines_for_each_text(clearhead: Run) -> None:
    code, out, _ = clearhead("--format=moses", "--n-best=2", "--beam-size=3", stdin=b"Hello\n\nI\n")
    assert code == 0
    assert [line.split(" ||| ")[0] for line in out.splitlines()] == list("001122")
    assert all(" ||| Score= " in line for line in out.splitlines())


def test_scores_come_before_and_alignments_behind(clearhead: Run) -> None:
    _, out, _ = clearhead("Hello world", "--scores", "--alignments")
    score, rest = out.rstrip("\n").split("\t")
    assert float(score) <= 0
    assert rest.split(" ||| ")[0] == expected("Hello world").rstrip("\n")


def test_warnings_go_to_standard_error_and_quiet_keeps_them_away(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["translate", "--model", str(model), "--max-length", "2", "Hello"]
    assert run(arguments) == 0
    out, err = capfd.readouterr()
    assert out.count("\n") == 1
    assert ENGINE.match(err)
    warning = "clearhead: warning: 1 of 1 sentence reached the length limit"
    assert without_engine(err).startswith(warning)
    assert run([*arguments, "--quiet"]) == 0
    assert capfd.readouterr().err == ""


HEAD, TAIL = (
    "The committee has decided that all of the",
    "members of the committee are to come to a",
)
BROKEN = [HEAD, *[TAIL] * 4]


def test_the_lines_of_a_paragraph_are_joined_if_asked_and_texts_stay_apart(clearhead: Run) -> None:
    code, out, err = clearhead("--join-lines", stdin="\n".join([*BROKEN, "", "Go."]).encode())
    assert (code, out, err) == (0, expected(" ".join(BROKEN), "", "Go."), "")
    code, out, _ = clearhead("--join-lines", "so\nlong", "and on")
    assert (code, out) == (0, expected("so long", "and on"))


@pytest.mark.parametrize(
    ("lines", "warned"),
    [
        (BROKEN, True),
        ([line.lower() for line in BROKEN], False),
        ([f"{line}." for line in BROKEN], False),
    ],
)
def test_lines_that_end_within_sentences_are_warned_of(
    lines: list[str], warned: bool, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letter.txt").write_text("\n".join(lines), encoding="utf-8")
    command = ["translate", "--model", str(model), *FAST[:-1], "-i", str(tmp_path / "letter.txt")]
    assert run(command) == 0
    assert ("--join-lines joins" in capsys.readouterr().err) == warned
    assert run([*command, "--join-lines"]) == 0
    assert "--join-lines" not in capsys.readouterr().err
    assert run([*command[:-2], "\n".join(lines)]) == 0
    assert ("--join-lines joins" in capsys.readouterr().err) == warned


def test_the_advised_option_for_a_file_with_a_space_works(clearhead: Run, tmp_path: Path) -> None:
    path = tmp_path / "my letter.txt"
    path.write_text("Hi\n", encoding="utf-8")
    advice = clearhead(path)[2].rpartition("give ")[2]
    assert clearhead(*shlex.split(advice))[:2] == (0, expected("Hi"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Hi", "-i", "x"], "both TEXT and --input"),
        (["Hi", "-"], "TEXT '-' is not standard input; leave TEXT out"),
        ([__file__], f"to read the file, give --input {__file__}"),
        (["The caf\udce9 is open."], "TEXT, character 8: 0xe9 is not valid UTF-8; give the text"),
        (["Hi", "a\ud800b"], "TEXT, character 2: 0xd800 is not valid UTF-8"),
        (["-i", "nowhere.txt"], "nowhere.txt: no such file"),
        (["Hi", "-o", "."], "it is a directory"),
        (["Hi", "-o", "out.txt.gz"], "results are not compressed; give a name without .gz"),
        (["Hi", "--model", "nowhere"], "'nowhere' does not exist"),
        (["Hi", "--beam-size", "0"], "beam_size=0"),
        (["Hi", "--n-best", "9"], "n_best=9 is more than beam_size=1"),
        (["Hi", "--format", "xml"], "xml"),
        (["Hi", "--device", "tpu"], "'tpu' is unknown"),
        (["Hi", "--threads", "0"], "threads=0"),
        (["x" * 200, "--long-input", "refuse"], "202 tokens"),
        (["Hi", "--alignments", "--alignment-layer", "7"], "no decoder layer 7"),
        (["Hi", "--alignment-layer", "0"], "--alignment-layer 0 needs --alignments"),
        (["Hi", "--model", ""], "the name of the model is empty"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(
    arguments: list[str], message: str, clearhead: Run
) -> None:
    code, out, err = clearhead(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_second_input_file_is_refused_and_not_read_in_place_of_the_first(
    clearhead: Run, tmp_path: Path
) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(f"{name}\n", encoding="utf-8")
    code, out, err = clearhead("-i", tmp_path / "one.txt", "--input", tmp_path / "two.txt")
    assert (code, out, err.count("\n")) == (2, "", 1) and "--input is given twice; join" in err
    assert clearhead("--", "-i", "-i")[0] == 0  # two texts


def test_lines_typed_on_a_terminal_are_answered_one_by_one(clearhead: Run) -> None:
    code, out, err = clearhead(stdin=b"Hello\n\nI am fine.\n", stream=Terminal)
    assert (code, out) == (0, expected("Hello", "", "I am fine."))
    assert err.count("> ") == 4  # three answered, the fourth met the end


def test_bytes_that_are_not_utf8_are_one_line_when_they_are_typed_too(clearhead: Run) -> None:
    code, out, err = clearhead(stdin=b"Hello\ncaf\xe9\n", stream=Terminal)
    assert (code, out) == (2, expected("Hello")) and "is not valid UTF-8" in err.splitlines()[-1]


def test_a_reader_that_goes_away_is_no_error_message(model: Path) -> None:
    command = [sys.executable, "-m", "clearhead", "translate", "--model", str(model), *FAST]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b"Hello\n")
        process.stdin.flush()
        assert process.stdout.readline()  # flushed while the input is still open
        process.stdout.close()
        process.stdin.write(b"Hello\n")
        process.stdin.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 141)


@pytest.fixture
def block(tmp_path: Path) -> str:
    """A learner's block, for --with."""
    lines = (
        "import clearhead.blocks",
        "class ResidualConnection(clearhead.blocks.ResidualConnection): ...",
    )
    (tmp_path / "mine.py").write_text("\n".join(lines), encoding="utf-8")
    return f"{tmp_path / 'mine.py'}:ResidualConnection"


def test_own_blocks_translate_with_the_options_that_they_support(
    clearhead: Run, block: str, tmp_path: Path
) -> None:
    usual = ["--engine", "readable", "--format", "text", "--split", "--no-check-copies"]
    code, out, err = clearhead("Hello", "--with", block, *usual, "-o", tmp_path / "out")
    assert (code, out) == (0, ""), err
    assert (tmp_path / "out").read_text(encoding="utf-8") == expected("Hello")


def test_own_blocks_that_compute_the_same_are_reported_and_not_warned_of(
    model: Path, block: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["translate", "--model", str(model), "--with", block, "Hello"]) == 0
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "mine.py" in line]
    assert line.startswith("clearhead: ResidualConnection of ")


@pytest.mark.parametrize(
    "option",
    [
        "--format jsonl", "--n-best 1 --beam-size 2 --n-best 2", "--mark-doubt", "--scores",
        "--no-split", "--device cuda", "--precision bfloat16", "--engine native", "--threads 1",
        "--ensemble other", "--check-copies", "--alignments", "--long-input refuse",
    ],
)  # fmt: skip
def test_own_blocks_refuse_an_option_that_would_have_no_effect(
    option: str, clearhead: Run, block: str
) -> None:
    code, out, err = clearhead("Hello", "--with", block, *option.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"--with does not support {option.split()[0]}; leave one of them out" in err
