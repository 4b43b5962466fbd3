"""`clearhead attention`: a picture or a page of one sentence, or one clear line."""

import logging
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.explain.plots import Plot
from tests.explain import tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("model")
    tiny.model().save_pretrained(directory)
    tiny.tokenizer().save(directory)
    return str(directory)


def attention(model: str, output: Path, *options: str) -> int:
    given = [tiny.SOURCE, "--target", tiny.TARGET, "--model", model, "-o", str(output)]
    return run(["attention", *given, *options])


@pytest.mark.parametrize(
    ("name", "begins"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")]
)
def test_the_ending_decides_the_format(
    model: str, tmp_path: Path, name: str, begins: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attention(model, tmp_path / name) == 0
    assert (tmp_path / name).read_bytes().startswith(begins)
    assert capsys.readouterr().out == f"{tmp_path / name}: {tiny.TARGET}\n"


def test_a_warning_of_the_plot_is_marked_as_one(
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = logging.getLogger("clearhead.explain.plots.plot")
    monkeypatch.setattr(Plot, "save", lambda plot, path: log.warning("the font lacks glyphs"))
    assert attention(model, tmp_path / "a.png") == 0
    assert capsys.readouterr().err == "clearhead: warning: the font lacks glyphs\n"


def test_a_page_holds_all_kinds_and_saliency_beside_them(model: str, tmp_path: Path) -> None:
    assert attention(model, tmp_path / "a.html") == 0
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    for title in (
        "Encoder self-attention",
        "Decoder self-attention",
        "Cross-attention",
        "Saliency",
    ):
        assert f'"title":"{title}' in html


@pytest.mark.parametrize(
    ("options", "title"),
    [
        ([], "Cross-attention, 6 x 8 tokens"),
        (["--kind", "encoder"], "Encoder self-attention, 8 x 8 tokens"),
        (["--layer", "1"], "Cross-attention, layer 1"),
        (["--layer", "1", "--head", "2"], "Cross-attention, layer 1, head 2"),
        (["--alignment"], "Cross-attention, layer 1, average of its heads"),
        (["--alignment", "--layer", "0"], "Cross-attention, layer 0, average of its heads"),
    ],
)
def test_options_choose_the_picture(
    model: str, tmp_path: Path, options: list[str], title: str
) -> None:
    assert attention(model, tmp_path / "a.svg", *options) == 0
    assert title in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.gif", [], "unknown file extension; give a name with .html, .svg, .png, .pdf"),
        ("a", [], "unknown file extension; give a name with .html, .svg, .png, .pdf"),
        (
            "a.html",
            ["--layer", "1"],
            "--layer 1 applies to plots; write a .svg, .png or .pdf, or omit it",
        ),
        (
            "a.html",
            ["--alignment"],
            "--alignment applies to plots; write a .svg, .png or .pdf, or omit it",
        ),
        ("a.html", ["--kind", "encoder"], "--kind encoder applies to plots; write a .svg"),
        ("a.svg", ["--head", "1"], "--head 1 needs --layer; give both"),
        ("a.svg", ["--alignment", "--kind", "encoder"], "--alignment applies to cross-attention"),
        ("a.svg", ["--layer", "7"], "there is no layer 7; choose from 0 to 1"),
        ("a.svg", ["--layer", "0", "--head", "4"], "there is no head 4; choose from 0 to 3"),
        ("a.svg", ["--target", "chat " * 50], "this model has 40 positions; give a shorter"),
        ("a.svg", ["--target", "un\nchat"], "the target has more than one line; give one sentence"),
        ("a.svg", ["--target", "caf\udce9"], "--target, character 4: 0xe9 is not valid UTF-8"),
        ("a.html", ["--model", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_one_clear_line(
    model: str,
    tmp_path: Path,
    name: str,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert attention(model, tmp_path / name, *options) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("clearhead: error: ")
    assert message in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "command"), [("bert", "clearhead fill-mask"), ("clearhead-biology", "clearhead bio")]
)
def test_a_model_without_cross_attention_is_one_clear_line(
    kind: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text(f'{{"model_type": "{kind}"}}', encoding="utf-8")
    (tmp_path / "bert" / "model.safetensors").write_bytes(b"")
    tiny.tokenizer().save(tmp_path / "bert")
    given = ["attention", "a", "--model", str(tmp_path / "bert"), "-o", str(tmp_path / "a.svg")]
    assert run(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"holds a {kind} model, which cannot translate; use `{command}`" in line
