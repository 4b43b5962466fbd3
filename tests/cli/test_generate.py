"""`clearhead generate`: text to the terminal, lines and JSON, one clear line for bad input."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.decoding.engine import SamplingOptions
from clearhead.models.weight_files import SHIPPED
from clearhead.pipelines.text_generator import TextGenerator
from tests.cli.messages import without_engine
from tests.pipelines.gpt import gpt

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpt")
    gpt(folder)
    return folder


@pytest.fixture
def clearhead(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """`clearhead generate ARGUMENTS --model … < stdin` -> exit code, stdout, stderr."""

    def call(
        *arguments: str | Path, stdin: bytes = b"", model: Path = model
    ) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        options = ["--model", str(model), "--device", "cpu", "--max-new-tokens", "12"]
        code = run(["generate", *options, *map(str, arguments)])
        out, err = capsysbinary.readouterr()
        return code, out.decode("utf-8"), without_engine(err.decode("utf-8"))

    return call


def expected(model: Path, *prompts: str, seed: int = 5, **more: float) -> list[str]:
    writer = TextGenerator.from_pretrained(model, "cpu")
    options = SamplingOptions(max_new_tokens=12, **more)  # type: ignore[arg-type]
    found = writer.generate(prompts, options, seeds=range(seed, seed + len(prompts)))
    return [one.text for one in found]


def test_a_prompt_comes_with_its_continuation(clearhead: Run, model: Path) -> None:
    (text,) = expected(model, "The man")
    assert clearhead("The man", "--seed", 5) == (0, f"The man{text}\n", "")
    assert clearhead("The man", "--seed", 5, "--no-echo") == (0, f"{text}\n", "")


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
def test_lines_of_standard_input_streamed_or_not_are_the_same(
    clearhead: Run, model: Path, how: str
) -> None:
    lines = ["The man", "", "é"]
    texts = expected(model, *lines)
    whole = "".join(line + text + "\n" for line, text in zip(lines, texts, strict=True))
    assert clearhead("--seed", 5, how, stdin="The man\n\né\n".encode()) == (0, whole, "")


def test_jsonl_tells_all_and_its_seed_gives_the_text_again(clearhead: Run, tmp_path: Path) -> None:
    prompts, output = tmp_path / "in.txt", tmp_path / "out.jsonl"
    prompts.write_text("One\nTwo\n", encoding="utf-8")
    code, out, _ = clearhead(
        "--input", prompts, "--format", "jsonl", "--samples", 2, "-o", output, "--top-k", 0
    )
    records = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert (code, out, [r["prompt"] for r in records]) == (0, "", ["One", "One", "Two", "Two"])
    assert [r["id"] for r in records] == [0, 1, 2, 3]
    third = records[2]
    again = clearhead("Two", "--seed", third["seed"], "--no-echo", "--top-k", 0)
    assert again[1] == third["text"] + "\n"


def test_every_option_reaches_the_writer(clearhead: Run, model: Path) -> None:
    options = {"temperature": 2.0, "top_k": 9, "top_p": 0.8, "min_p": 0.01,
               "repetition_penalty": 1.4}  # fmt: skip
    flags = [part for name, value in options.items()
             for part in (f"--{name.replace('_', '-')}", str(value))]  # fmt: skip
    (text,) = expected(model, "The man", **options)
    assert clearhead("The man", "--seed", 5, *flags)[1] == f"The man{text}\n"
    assert [text] != expected(model, "The man")


def test_greedy_is_temperature_zero(clearhead: Run, model: Path) -> None:
    (text,) = expected(model, "The man", temperature=0)
    for flags in (["--greedy"], ["--temperature", "0"]):
        assert clearhead("The man", *flags)[1] == f"The man{text}\n"


def test_stop_strings_may_be_several(clearhead: Run, model: Path) -> None:
    (text,) = expected(model, "The man")
    middle = text[3:5]
    code, out, _ = clearhead("The man", "--seed", 5, "--stop", "\u2603", "--stop", middle)
    assert (code, out) == (0, f"The man{text[: text.find(middle)]}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["hi", "--temperature", "-1"], "temperature=-1.0 is not a number from 0"),
     (["hi", "--top-p", "1.5"], "top_p=1.5 is not a number from 0 to 1"),
     (["hi", "--top-k", "-2"], "top_k=-2 is not a whole number"),
     (["hi", "--min-p", "2"], "min_p=2.0"),
     (["hi", "--repetition-penalty", "0"], "repetition_penalty=0.0"),
     (["hi", "--max-new-tokens", "0"], "max_new_tokens=0"),
     (["hi", "--seed", "-3"], "seed=-3 is below 0"),
     (["hi", "--stop", ""], "a stop string is empty"),
     (["hi", "--samples", "0"], "--samples 0 is not a number of texts"),
     (["hi", "--precision", "fp4"], "Invalid value for '--precision'"),
     (["word " * 300], "has seq_len=90 positions"),
     (["hi", "--input", "missing.txt"], "both PROMPT and --input"),
     (["--input", "missing.txt"], "cannot read missing.txt"),
     ([__file__], f"to read the file, give --input {__file__}"),
     (["hi", "--output", "."], "cannot write .: it is a directory")],
)  # fmt: skip
def test_bad_input_is_one_line(clearhead: Run, arguments: list[str], message: str) -> None:
    code, out, err = clearhead(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and message in err


def test_a_model_that_does_not_write_is_named_with_its_verb(clearhead: Run, tmp_path: Path) -> None:
    code, _, err = clearhead("hi", model=SHIPPED)
    assert code == 2 and "`clearhead translate`" in err and err.count("\n") == 1
    code, _, err = clearhead("hi", model=tmp_path / "nowhere")
    assert code == 2 and "there is no directory" in err and err.count("\n") == 1


def test_a_text_cut_by_the_positions_is_told_unless_quiet(clearhead: Run, model: Path) -> None:
    writer = TextGenerator.from_pretrained(model, "cpu")
    options = SamplingOptions(max_new_tokens=80)
    seeds = (s for s in range(50) if writer.generate(["word " * 15], options, seeds=[s])[0].ending
             == "positions")  # fmt: skip
    flags = ["word " * 15, "--max-new-tokens", "80", "--seed", next(seeds)]
    warning = "1 of 1 texts ended where the model's 90 positions end, before max_new_tokens"
    assert clearhead(*flags)[2] == f"clearhead: warning: {warning}\n"
    assert clearhead(*flags, "--quiet")[2] == ""
