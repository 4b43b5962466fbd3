from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.export.exporting import TARGETS
from tests.export import models

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tiny") / "little"
    models.tiny(tie=False).save_pretrained(directory)
    models.tokenizer().save(directory)
    return directory


@pytest.fixture
def export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["export", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_it_says_where_the_export_is_and_how_well_it_agrees(export: Run, model: Path) -> None:
    pytest.importorskip("ctranslate2")
    code, out, err = export("--to", "ctranslate2", "--model", str(model), "--sentences", "9")
    assert (code, err) == (0, "")
    place, verdict = out.splitlines()
    assert place.startswith("little.ctranslate2: CTranslate2, float32, ")
    assert verdict.startswith("verify: largest logit difference ")
    assert "9 of 9 sentences greedy" in verdict
    names = {path.name for path in Path("little.ctranslate2").iterdir()}
    assert {"model.bin", "config.json", "tokenizer.json", "README.md"} <= names


def test_without_sentences_nothing_is_verified(export: Run, model: Path) -> None:
    pytest.importorskip("ctranslate2")
    code, out, _ = export(
        "--to", "ctranslate2", "--model", str(model), "-o", "a/b", "--precision", "int8",
        "--sentences", "0",
    )  # fmt: skip
    assert (code, out.count("\n")) == (0, 1)
    assert out.startswith("a/b: CTranslate2, int8, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--to'. Choose from: ctranslate2, onnx, huggingface; "),
        (["--to", "tflite"], "'tflite' is not one of"),
        (["--to", "onnx", "--precision", "int8"], "ONNX exports do not support precision 'int8'"),
        (["--to", "onnx", "--sentences", "-1"], "--sentences -1"),
        (["--to", "onnx", "--model", "nowhere"], "model 'nowhere' does not exist"),
        (["--to", "onnx", "-o", "taken"], "taken exists and is not empty"),
        (["--to", "onnx", "-o", "taken/file"], "taken/file is a file"),
        (["--to", "ctranslate2", "-o", "taken/file/x"], "cannot write taken/file/x"),
        (["--to", "onnx", "--threads", "0"], "threads=0"),
        (["--to", "onnx", "--model", "gpt"], "and gpt holds a gpt2 model"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments: list[str], message: str, export: Run) -> None:
    Path("taken").mkdir()
    (Path("taken") / "file").touch()
    Path("gpt").mkdir()
    (Path("gpt") / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    code, out, err = export(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("clearhead: error: ") and message in err


def test_a_model_that_does_not_translate_is_refused_as_one(export: Run, tmp_path: Path) -> None:
    (tmp_path / "gpt").mkdir()
    (tmp_path / "gpt" / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    code, _, err = export("--to", "onnx", "--model", "gpt")
    assert code == 2 and "holds a gpt2 model" in err and err.count("\n") == 1


def test_a_missing_package_costs_one_line(
    export: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhead.export.exporting.find_spec", lambda name: None)
    code, out, err = export("--to", "huggingface", "--model", str(model))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "needs transformers" in err and "pip install 'clearhead[export]'" in err


def test_without_the_engine_the_export_stands_and_says_what_to_install(
    export: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ctranslate2")
    lacking = replace(TARGETS["ctranslate2"], runs_with=("abacus",))
    monkeypatch.setitem(TARGETS, "ctranslate2", lacking)
    code, out, err = export("--to", "ctranslate2", "--model", str(model))
    assert (code, err) == (0, "")
    assert "verify: not done; running CTranslate2 exports needs abacus" in out


def test_a_model_that_fits_no_architecture_costs_one_line(export: Run, model: Path) -> None:
    pytest.importorskip("transformers")
    code, out, err = export("--to", "huggingface", "--model", str(model))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no architecture of transformers fits" in err
    assert list(Path().iterdir()) == []
