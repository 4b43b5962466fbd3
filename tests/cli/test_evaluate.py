import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clearhead.cli.main import run
from clearhead.evaluation.scores import score
from clearhead.translation import Translator
from tests.cli.messages import without_engine
from tests.evaluation.tiny import HEADS, LAYERS, model, pairs, save, tokenizer

Run = Callable[..., tuple[int, str, str]]
GRAMMAR = "grammar:test:6"
FAST = ["--beam-size", "1", "--device", "cpu"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """`clearhead evaluate ARGUMENTS` in an empty directory -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        code = run(["evaluate", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def write(name: str, *lines: str) -> str:
    Path(name).write_text("".join(f"{x}\n" for x in lines), encoding="utf-8", newline="\n")
    return name


def references() -> list[str]:
    return [pair.target for pair in pairs()[:6]]


def parsed(outcome: tuple[int, str, str]) -> dict[str, Any]:
    code, out, err = outcome
    assert code == 0, err
    return dict(json.loads(out))


def test_a_model_is_scored_and_its_translations_are_kept(evaluate: Run, directory: Path) -> None:
    found = parsed(evaluate("--data", GRAMMAR, "--model", directory, *FAST, "--json"))
    kept = Path(found["hypotheses"])
    assert kept.name == f"grammar-test-6.{directory.name}.hyp"
    lines = kept.read_text(encoding="utf-8").split("\n")[:-1]
    translator = Translator(model(), tokenizer())
    assert lines == translator.translate([pair.source for pair in pairs()[:6]], beam_size=1)
    expected = score(lines, references())
    assert found["bleu"] == {
        "score": expected.bleu.value,
        "signature": expected.bleu.signature,
    }
    assert found["chrf"]["score"] == expected.chrf.value
    assert found["length_ratio"] == expected.length_ratio
    assert found["system"]["beam_size"] == 1
    assert len(found["alignment_error_rate"]["heads"]["output"]) == LAYERS
    assert len(found["alignment_error_rate"]["heads"]["input"][0]) == HEADS


def test_the_table_shows_the_search_and_the_signatures_beside_the_scores(
    evaluate: Run, directory: Path
) -> None:
    kept = Path("mine.txt")
    code, out, err = evaluate("--data", GRAMMAR, "--model", directory, *FAST, "-o", kept)
    assert code == 0 and without_engine(err).startswith("translating 6 lines\n")
    found = score(kept.read_text(encoding="utf-8").split("\n")[:-1], references())
    assert "beam size 1, length penalty 1.0, device cpu" in out
    for each in (found.bleu, found.chrf):
        assert f"{each.name:<8}{each.value:7.2f}   {each.signature}\n" in out
    assert "exact match" in out and "layer 1" in out and out.endswith("hypotheses: mine.txt\n")


def test_a_file_of_hypotheses_is_scored_as_it_is(evaluate: Run) -> None:
    hypotheses = write("perfect", *references())
    found = parsed(evaluate("--data", GRAMMAR, "--hyp", hypotheses, "--json"))
    assert found["bleu"]["score"] == pytest.approx(100)
    assert found["exact_match"]["overall"] == {"right": 6, "total": 6, "percent": 100.0}
    assert found["system"] is None and "alignment_error_rate" not in found
    assert Path(hypotheses).read_text(encoding="utf-8").split("\n")[:-1] == references()


def test_a_model_beside_the_hypotheses_shows_where_it_looks(evaluate: Run, directory: Path) -> None:
    hypotheses = write("perfect", *references())
    found = parsed(evaluate("--data", GRAMMAR, "--hyp", hypotheses, "--model", directory, "--json"))
    assert found["alignment_error_rate"]["sentences"] == 6
    assert found["system"] is None


def test_two_systems_are_compared(evaluate: Run) -> None:
    ours = write("ours", *references())
    theirs = write("theirs", *(f"Voilà {line}" for line in references()))
    arguments = ["--data", GRAMMAR, "--hypotheses", ours, "--against", theirs]
    found = parsed(evaluate(*arguments, "--json"))["comparison"]
    assert found["against"] == "theirs"
    assert found["bleu"]["difference"] > 0
    assert "|bs:1000|seed:12345|" in found["chrf"]["signature"]
    code, out, _ = evaluate(*arguments)
    assert code == 0
    assert "against theirs, paired bootstrap" in out and found["bleu"]["signature"] in out


def test_the_way_papers_score_stands_below_with_its_own_signature(evaluate: Run) -> None:
    pytest.importorskip("sacremoses")
    from clearhead.evaluation.scores import moses_bleu

    small = write("small", *(line.lower() for line in references()))
    arguments = ["--data", GRAMMAR, "--hyp", small]
    expected = moses_bleu().score([line.lower() for line in references()], references())
    assert expected.value == pytest.approx(100)
    found = parsed(evaluate(*arguments, "--as-papers", "--json"))
    assert found["bleu"]["score"] < 100
    assert found["bleu_as_papers"] == {"score": expected.value, "signature": expected.signature}
    code, out, _ = evaluate(*arguments, "--as-papers")
    assert code == 0 and f"BLEU     100.00   {expected.signature}\n" in out
    code, out, _ = evaluate(*arguments)
    assert code == 0 and "papers" not in out


def test_tokenized_references_are_compared_with_as_they_are(evaluate: Run) -> None:
    pytest.importorskip("sacremoses")
    hypotheses = write("h", "L'eau est là.", "Oui, oui, c'est vrai.")
    ready = write("r", "l&apos; eau est là .", "oui , oui , c&apos; est vrai .")
    data = f"{write('t.en', 'a', 'b')},{write('t.fr', 'x', 'y')}"
    arguments = ["--data", data, "--hyp", hypotheses, "--tokenized-references", ready, "--json"]
    found = parsed(evaluate(*arguments))
    assert found["bleu"]["score"] < 10
    assert found["bleu_as_papers"]["score"] == pytest.approx(100)
    assert "bleu_as_papers" in parsed(evaluate(*arguments, "--limit", "1"))


def test_lines_with_an_empty_side_keep_their_place(evaluate: Run) -> None:
    sources = write("t.en", "a b", "", "c d")
    targets = write("t.fr", "un deux trois quatre", "cinq", "")
    hypotheses = write("h", "un deux trois quatre", "", "")
    found = parsed(evaluate("--data", f"{sources},{targets}", "--hyp", hypotheses, "--json"))
    assert (found["lines"], found["length_ratio"]) == (3, 4 / 5)
    assert "exact_match" not in found


def test_a_limit_beyond_the_test_set_does_not_hide_surplus_hypotheses(evaluate: Run) -> None:
    data, found = write("one.tsv", "Hello.\tBonjour."), write("two.hyp", "Bonjour.", "Salut.")
    code, _, err = evaluate("--data", data, "--hyp", found, "--limit", "9")
    assert code == 2
    assert "two.hyp has 2 lines and the test set has 1" in err


def test_a_limit_takes_the_first_lines_of_test_set_and_hypotheses(evaluate: Run) -> None:
    hypotheses = write("h", *references())
    found = parsed(evaluate("--data", GRAMMAR, "--hyp", hypotheses, "--limit", "2", "--json"))
    assert found["exact_match"]["overall"]["total"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no test set: give one with --data"),
        (["--data", "nowhere.tsv"], "nowhere.tsv does not exist"),
        (["--data", GRAMMAR, "--hyp", "nowhere"], "cannot read nowhere"),
        (["--data", GRAMMAR, "--hyp", "short"], "short has 1 line and the test set has 6"),
        (["--data", GRAMMAR, "--hyp", "short", "--against", "short"], "short has 1 line "),
        (["--data", GRAMMAR, "--tokenized-references", "short"], "short has 1 line "),
        (["--data", GRAMMAR, "--tokenized-references", "nowhere"], "cannot read nowhere"),
        (["--data", GRAMMAR, "--hyp", "short", "-o", "x"], "both --hypotheses and --output"),
        (["--data", "t.tsv", "--limit", "1", "-o", "t.tsv"], "t.tsv: it is the test set"),
        (
            ["--data", GRAMMAR, "--limit", "1", "--against", "short", "-o", "short"],
            "it is the file of --ag",
        ),
        (["--data", GRAMMAR, "--limit", "0"], "limit=0"),
        (["--data", GRAMMAR, "-o", "."], "it is a directory"),
        (["--data", GRAMMAR, "-o", "-"], "--output -: this command writes a file; give its name"),
        (["--data", GRAMMAR, "--model", "nowhere"], "model 'nowhere' does not exist"),
        (["--data", GRAMMAR, "--device", "abacus"], "device 'abacus' is unknown"),
        (["--data", "grammar:tset:6"], "grammar split 'tset' is unknown"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    arguments: list[str], message: str, evaluate: Run
) -> None:
    write("short", "a")
    write("t.tsv", "a\tb", "c\td")
    code, out, err = evaluate(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert Path("t.tsv").read_text(encoding="utf-8") == "a\tb\nc\td\n"
    assert err.startswith("clearhead: error: ") and message in err


def test_scoring_a_file_does_not_wait_for_torch(evaluate: Run) -> None:
    hypotheses = write("h", *references())
    program = (
        "import sys; from clearhead.cli.main import run\n"
        f"code = run(['evaluate', '--data', '{GRAMMAR}', '--hyp', '{hypotheses}'])\n"
        "print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines()[-1] == "0 False"


def test_a_model_that_does_not_translate_is_named_before_the_data(evaluate: Run) -> None:
    Path("bert").mkdir()
    Path("bert/config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    code, _, err = evaluate("--data", write("t.csv", "text,label", "a,b"), "--model", "bert")
    assert code == 2 and err.count("\n") == 1
    assert "scores translators, and bert holds a bert model" in err and "README.md" in err
    assert "`clearhead fill-mask`, `embed` or `classify`" in err
