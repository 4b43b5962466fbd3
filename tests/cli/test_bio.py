"""`clearhead bio`: tables whole or not at all, each number named, one line for bad input."""

import csv
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead.biology import cells, training
from clearhead.cli.main import run
from clearhead.data.h5ad import LABELS
from tests.biology.synthetic import write_promoters

Call = Callable[..., tuple[int, str, str]]
AMINO = "ACDEFGHI"
SMALL: dict[str, Any] = {"d_model": 16, "layers": 1, "h": 2, "d_ff": 24}


@pytest.fixture
def call(capsysbinary: pytest.CaptureFixture[bytes]) -> Call:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(["bio", *map(str, arguments)])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bio")
    data = write_promoters(folder / "train.csv", 60, length=None)
    values = {
        "data": {"train": str(data), "domain": "dna"},
        "model": SMALL,
        "run": {"steps": 2, "members": 1},
    }
    training.start(training.resolve(values), folder / "run")
    return folder / "run"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = '"a\tb",ACGTTGCA,no\n"c, d",ACGT,\ne,GGNRTACGTAGCATTA,yes\n'
    (tmp_path / "data.csv").write_text(f"name,sequence,label\n{rows}", encoding="utf-8")
    return tmp_path / "data.csv"


def test_a_table_has_a_row_for_each_record_in_order(
    model: Path, data: Path, tmp_path: Path, call: Call
) -> None:
    code, out, err = call("dna", "predict", model, data)
    assert (code, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["name", "label", "p(no)", "p(yes)"]
    assert [row[0] for row in rows[1:]] == ["a b", "c, d", "e"]
    for _, label, no, yes in rows[1:]:
        assert float(no) + float(yes) == pytest.approx(1, abs=1e-4)
        assert label == ("no" if float(no) > float(yes) else "yes")
    assert call("dna", "predict", model, data, "-o", tmp_path / "x.tsv") == (0, "", "")
    assert (tmp_path / "x.tsv").read_text(encoding="utf-8") == out
    assert call("dna", "predict", model, data, "-o", tmp_path / "x.csv") == (0, "", "")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == rows


def test_vectors_are_written_as_clearhead_embed_writes_them(
    model: Path, data: Path, tmp_path: Path, call: Call
) -> None:
    code, out, err = call("dna", "embed", model, data)
    head, *rows = [line.split("\t") for line in out.splitlines()]
    assert (code, err, head) == (0, "", ["id", *map(str, range(16))])
    assert call("dna", "embed", model, data, "-o", tmp_path / "x.npz") == (0, "", "")
    with np.load(tmp_path / "x.npz") as found:
        assert found["ids"].tolist() == [row[0] for row in rows] == ["a b", "c, d", "e"]
        assert np.array_equal(found["embeddings"], np.array([r[1:] for r in rows], np.float32))


def test_vectors_are_separated_by_commas_in_csv(
    model: Path, data: Path, tmp_path: Path, call: Call
) -> None:
    rows = [line.split("\t") for line in call("dna", "embed", model, data)[1].splitlines()]
    assert call("dna", "embed", model, data, "-o", tmp_path / "x.csv") == (0, "", "")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == rows


def test_a_map_of_cells_takes_the_column_of_labels_of_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    seen: list[str | None] = []
    rows = "".join(f"A:{n + 1} B:2,{'xy'[n % 2]},{'uv'[n % 2]}\n" for n in range(20))
    (tmp_path / "cells.csv").write_text(f"sequence,label,kind\n{rows}", encoding="utf-8")
    values = {
        "data": {"train": str(tmp_path / "cells.csv"), "label": "kind", "domain": "cells"},
        "model": SMALL,
        "run": {"steps": 1, "members": 1},
    }
    training.start(training.resolve(values), tmp_path / "run")
    monkeypatch.setattr(
        cells, "draw_cells", lambda _, records, path: seen.extend(r.label for r in records)
    )
    for options, labels in (([], "xy"), (["--label-column", "kind"], "uv")):
        seen.clear()
        picture = tmp_path / "map.svg"
        found = call(
            "cells", "umap", tmp_path / "run", tmp_path / "cells.csv", "-o", picture, *options
        )
        assert found == (0, "", "") and seen == list(labels) * 10


@pytest.mark.parametrize("name", ["x.h5ad", "x"])
def test_vectors_are_not_written_to_a_file_of_an_unknown_form(
    model: Path, data: Path, tmp_path: Path, call: Call, name: str
) -> None:
    code, _, err = call("dna", "embed", model, data, "-o", tmp_path / name)
    assert code == 2 and "give a name with .npz, .tsv or .csv" in err
    assert not (tmp_path / name).exists()


def test_a_table_with_a_fault_is_not_written(model: Path, tmp_path: Path, call: Call) -> None:
    (tmp_path / "bad.fasta").write_text(">a\nACGT\n>b\nMKL\n", encoding="utf-8")
    code, out, err = call("dna", "predict", model, tmp_path / "bad.fasta", "-o", tmp_path / "x.tsv")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and "line 3: letter" in err
    assert not (tmp_path / "x.tsv").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--record", "e"], "give --explain FILE"),
        (["--record", "f", "--explain", "x.svg"], "has no record 'f'"),
        (["--explain", "x.gif"], "use one of .svg, .png, .pdf"),
        (["--explain", "x.svg", "-o", "x.tsv"], "leave out --output"),
    ],
)
def test_options_that_do_not_fit_are_one_line(
    model: Path, data: Path, call: Call, options: list[str], says: str
) -> None:
    code, _, err = call("dna", "predict", model, data, *options)
    assert code == 2 and says in err and err.count("\n") == 1


def test_an_option_and_a_change_of_the_same_value_are_refused(
    data: Path, tmp_path: Path, call: Call
) -> None:
    for given, change in (
        ([data], "data.train=other.csv"),
        ([data, "--label-column", "label"], "data.label = name"),
        ([data, "--model", "one"], "model.path=two"),
    ):
        code, out, err = call(
            "dna", "train", *given, "--run-dir", tmp_path / "run", "--set", change, "--show-config"
        )
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"--set {change} changes it; give one of them" in err


def test_a_file_that_is_refused_leaves_no_head_on_standard_output(
    model: Path, tmp_path: Path, call: Call
) -> None:
    (tmp_path / "x.fa").write_text(">a\nACGT\n>a\nACGT\n", encoding="utf-8")
    for name in ("nowhere.fa", "x.fa"):
        code, out, err = call("dna", "predict", model, tmp_path / name)
        assert (code, out, err.count("\n")) == (2, "", 1)


def test_a_benchmark_needs_one_seed(data: Path, call: Call) -> None:
    code, _, err = call("dna", "benchmark", data, "--seeds", 0)
    assert code == 2 and "--seeds" in err and err.count("\n") == 1


def test_cells_have_no_letters_to_be_similar(data: Path, call: Call) -> None:
    code, _, err = call("cells", "benchmark", data, "--similarity", 0.6)
    assert code == 2 and "--similarity 0.6 compares letters" in err and err.count("\n") == 1


@pytest.mark.parametrize("verb", ["train", "pretrain", "benchmark"])
def test_the_command_decides_the_domain(data: Path, call: Call, verb: str) -> None:
    code, _, err = call("dna", verb, data, "--set", "data.domain=protein")
    assert code == 2 and "data.domain=protein is not for `clearhead bio dna`" in err


@pytest.mark.parametrize("verb", [("protein", "train"), ("dna", "pretrain")])
def test_a_run_is_resumed_by_its_own_command(model: Path, call: Call, verb: tuple[str]) -> None:
    code, _, err = call(*verb, "--resume", "--run-dir", model)
    assert code == 2 and "holds a run of `clearhead bio dna train`" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "given", [("other.csv",), ("--label-column", "x"), ("--split-column", "x"), ("--model", "x")]
)
def test_options_that_differ_from_those_of_the_run_are_refused(
    model: Path, call: Call, given: tuple[str, ...]
) -> None:
    code, _, err = call("dna", "train", *given, "--resume", "--run-dir", model)
    assert code == 2 and "when this run began and is" in err and err.count("\n") == 1


def test_the_recipe_of_a_run_is_shown(model: Path, call: Call) -> None:
    again = model.parent / "train.csv"
    options = ("--resume", "--show-config", "--run-dir", model, "--set", "run.steps=7")
    code, out, _ = call("dna", "train", again, *options)
    assert code == 0 and f"train: {again}" in out and "steps: 7" in out


@pytest.mark.parametrize(
    ("domain", "own", "others"),
    [
        ("dna", ("FASTA", "DNABERT"), ("h5ad", "ESM-2", "Geneformer", "cell")),
        ("protein", ("FASTA", "ESM-2"), ("h5ad", "DNABERT", "Geneformer", "cell")),
        ("cells", ("h5ad", "Geneformer"), ("FASTA", "DNABERT", "ESM-2", "sequences")),
    ],
)
def test_help_speaks_of_the_data_of_its_domain(
    call: Call, domain: str, own: tuple[str, ...], others: tuple[str, ...]
) -> None:
    verbs = ("train", "pretrain", "predict", "embed")
    text = "".join(call(domain, verb, "--help")[1] for verb in verbs) + call(domain, "--help")[1]
    assert all(word in text for word in own)
    assert not any(word in text for word in (*others, "{forms}", "{record}", "{peer}"))


def test_help_and_page_name_the_columns_in_which_labels_are_looked_for(call: Call) -> None:
    page = (Path(__file__).parents[2] / "docs" / "biology.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in LABELS)
    for verb in ("train", "benchmark", "umap"):
        told = " ".join(call("cells", verb, "--help")[1].split())
        assert f"{', '.join(LABELS[:2])}, … of .h5ad" in told
        assert "[default: (label, class, target, …)]" not in told
    told = " ".join(call("dna", "train", "--help")[1].split())
    assert "[default: (label, class, target, …)]" in told


def test_contacts_need_attention_between_all_positions(tmp_path: Path, call: Call) -> None:
    """A model of numbers reads only the positions that varied in training."""
    rows = [f"MKT{one}{other}GLWYV,{n}.5" for n, (one, other) in enumerate(product(AMINO, AMINO))]
    (tmp_path / "x.csv").write_text("\n".join(["sequence,fitness", *rows]), encoding="utf-8")
    values = {
        "data": {"train": str(tmp_path / "x.csv"), "domain": "protein"},
        "model": SMALL,
        "run": {"steps": 2, "members": 1},
    }
    training.start(training.resolve(values), tmp_path / "run")
    (tmp_path / "wild.fasta").write_text(">wild\nMKTACGLWYV\n", encoding="utf-8")
    wanted = ["protein", "contacts", tmp_path / "run", tmp_path / "wild.fasta"]
    code, _, err = call(*wanted, "-o", tmp_path / "map.svg")
    assert code and "attention between 2 of 12 tokens" in err and err.count("\n") == 1
    assert not (tmp_path / "map.svg").exists()
