"""Cells: rank values by Geneformer's rule, counts recognized, known layouts load."""

import gzip
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
import torch
import transformers

from clearhead.biology import training
from clearhead.biology.benchmark import Plan, benchmark
from clearhead.biology.cells import deletion_shifts, draw_cells, fit_medians, ranked
from clearhead.biology.domains import read, read_labelled
from clearhead.biology.encoder import MotifConfig
from clearhead.biology.model import Loaded, ModelConfig, SequenceModel, load_model
from clearhead.biology.predicting import Predictor
from clearhead.biology.vocabulary import Vocabulary
from clearhead.compare.sequence_baselines import baselines, features_for
from clearhead.data.h5ad import kind_of_values, read_cell, read_cells, write_cell
from clearhead.data.sequences import Columns, Record
from clearhead.errors import UserError
from clearhead.explain.plots import biology as plots
from tests.pretrained.reference import CLOSE, disturbed, furthest, ragged, saved

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
# How the file is written, not how it is read: anndata cannot write the strings of pandas 3.
pytestmark = pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
GENES = [f"ENSG{number:011d}" for number in range(37)]


def counts(cells: int, seed: int = 0) -> np.ndarray:
    """Two types, each with five genes of its own."""
    rng = np.random.default_rng(seed)
    rates = np.full((cells, len(GENES)), 0.7)
    rates[::2, :5] = rates[1::2, 5:10] = 6.0
    return rng.poisson(rates).astype(np.float32)


def write(path: Path, matrix: np.ndarray, genes: list[str] = GENES, **parts: Any) -> Path:
    with pandas.option_context("future.infer_string", False):  # anndata cannot write Arrow's
        data = anndata.AnnData(matrix)
        data.obs_names = [f"cell{number}" for number in range(len(matrix))]
        data.var_names = genes
        data.obs["cell_type"] = ["A" if number % 2 == 0 else "B" for number in range(len(matrix))]
        for name, value in parts.items():
            setattr(data, name, value)
        data.write_h5ad(path)
    return path


def table(names: list[str], **columns: Any) -> Any:
    """For obs or var."""
    with pandas.option_context("future.infer_string", False):
        return pandas.DataFrame(columns, names)


def test_ranks_equal_an_implementation_cell_by_cell() -> None:
    """Geneformer's lines, written with dense arrays and loops, on 700 cells."""
    matrix = counts(700)
    totals = matrix.sum(axis=1, keepdims=True)
    normalized = matrix.astype(np.float64) / totals * 10_000
    medians = np.array([np.median(column[column > 0]) for column in normalized.T])
    cells = [write_cell(GENES, row) for row in normalized]
    fitted = fit_medians(cells)
    assert np.allclose([fitted[gene] for gene in GENES], medians)
    for cell, row in zip(cells, normalized, strict=True):
        values = row / medians
        expressed = [i for i in range(len(GENES)) if row[i] != 0]
        expected = sorted(expressed, key=lambda i: (-values[i], i))
        assert ranked(cell, fitted) == [GENES[i] for i in expected]


def test_counts_and_their_logarithm_give_the_same_cells(tmp_path: Path) -> None:
    matrix = counts(20)
    logs = np.log1p(matrix / matrix.sum(axis=1, keepdims=True) * 10_000)
    plain = list(read_cells(write(tmp_path / "counts.h5ad", matrix)))
    logged = list(read_cells(write(tmp_path / "log.h5ad", logs)))
    medians = fit_medians(record.sequence for record in plain)
    assert [ranked(r.sequence, medians)[:3] for r in plain] != [[]] * 20
    for one, other in zip(plain, logged, strict=True):
        assert one.name == other.name and one.label == other.label
        mine = dict(part.split(":") for part in one.sequence.split())
        theirs = dict(part.split(":") for part in other.sequence.split())
        assert mine.keys() == theirs.keys()
        assert all(abs(float(mine[g]) / float(theirs[g]) - 1) < 1e-4 for g in mine)


def test_scaled_values_are_refused_with_the_reason(tmp_path: Path) -> None:
    matrix = counts(20)
    scaled = (matrix - matrix.mean(axis=0)) / matrix.std(axis=0)
    path = write(tmp_path / "x.h5ad", scaled)
    with pytest.raises(UserError, match="X: scaled, since values are negative"):
        next(read_cells(path))
    path = write(tmp_path / "y.h5ad", scaled, layers={"counts": matrix})
    assert next(read_cells(path)).label == "A"


def test_the_baselines_of_cells_read_expression(tmp_path: Path) -> None:
    """Letters and k-mers mean nothing here; each column is one gene's value."""
    records = list(read_cells(write(tmp_path / "cells.h5ad", counts(60))))
    models = baselines("classes", records)
    assert {model.features for model in models} == {"expression"}
    assert not any("mer" in model.name or "hot" in model.name for model in models)
    table = features_for(records)["expression"](records)
    gene, cell = (
        sorted(GENES).index(GENES[0]),
        dict(p.split(":") for p in records[0].sequence.split()),
    )
    assert table[0, gene] == pytest.approx(np.log1p(float(cell[GENES[0]])))
    (line,) = benchmark(records, {}, Plan(3, only=("logistic regression",)), tmp_path / "runs")
    assert line.scores["macro_f1"][0] > 0.9


def write_sparse(folder: Path, matrix: np.ndarray, genes: list[str], end: str = "") -> Path:
    """As 10x Genomics: genes in rows, a file of genes and one of cells beside the matrix."""
    path = folder / f"matrix.mtx{end}"
    make: Any = gzip.open if end else open
    with make(path, "wb") as file:
        scipy.io.mmwrite(file, scipy.sparse.coo_matrix(matrix.T.astype(int)))
    with make(folder / f"features.tsv{end}", "wt") as file:
        file.write("".join(f"{gene}\tSYMBOL\tGene Expression\n" for gene in genes))
    with make(folder / f"barcodes.tsv{end}", "wt") as file:
        file.write("".join(f"cell{number}\n" for number in range(len(matrix))))
    return path


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_sparse_matrix_gives_the_same_cells(tmp_path: Path, end: str) -> None:
    matrix = counts(20)
    plain = list(read(write(tmp_path / "counts.h5ad", matrix), Columns(), "cells"))
    sparse = list(read(write_sparse(tmp_path, matrix, GENES, end), Columns(), "cells"))
    assert [(one.name, one.label) for one in sparse] == [(one.name, None) for one in plain]
    for one, other in zip(sparse, plain, strict=True):
        mine, theirs = read_cell(one.sequence), read_cell(other.sequence)
        assert mine[0] == theirs[0]
        assert np.allclose(mine[1], theirs[1], rtol=1e-6)


def test_genes_of_a_sparse_matrix_have_the_names_of_the_model(tmp_path: Path) -> None:
    matrix = counts(20)
    path = write_sparse(tmp_path, matrix, GENES)
    symbols = [f"S{number}" for number in range(35)] + ["S0", "S34"]
    rows = zip(GENES, symbols, strict=True)
    text = "".join(f"{gene}\t{symbol}\tGene Expression\n" for gene, symbol in rows)
    (tmp_path / "features.tsv").write_text(text, encoding="utf-8")
    shared = {0, 34}
    own = [f"S{n}" if n < 35 and n not in shared else gene for n, gene in enumerate(GENES)]
    for known, names in (((), GENES), (GENES[:9], GENES), (["S1", "S2", GENES[3]], own)):
        sparse = read(path, Columns(), "cells", known)
        for record, row in zip(sparse, matrix.astype(np.float64), strict=True):
            assert record.sequence == write_cell(names, row / row.sum() * 10_000)


@pytest.mark.parametrize("form", ["h5ad", "mtx"])
def test_cells_without_a_gene_are_left_out_and_counted(
    tmp_path: Path, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    matrix = counts(20)
    matrix[[3, 7]] = 0
    if form == "h5ad":
        path = write(tmp_path / "x.h5ad", matrix)
    else:
        path = write_sparse(tmp_path, matrix, GENES)
    names = [record.name for record in read(path, Columns(), "cells")]
    assert names == [f"cell{number}" for number in range(20) if number not in (3, 7)]
    assert "cells without any expressed gene are left out: 2" in caplog.text


def test_faults_of_a_sparse_matrix_are_one_line(tmp_path: Path) -> None:
    path = write_sparse(tmp_path, counts(20), GENES[:-1])
    with pytest.raises(UserError, match=r"features\.tsv has 36 names, but .* has 37 rows"):
        next(read(path, Columns(), "cells"))
    (tmp_path / "features.tsv").unlink()
    with pytest.raises(UserError, match=r"features\.tsv or genes\.tsv is missing; put it"):
        next(read(path, Columns(), "cells"))
    with pytest.raises(UserError, match="holds cells, not sequences: use `clearhead bio cells`"):
        next(read(path, Columns(), "dna"))
    path.write_text("nothing", encoding="utf-8")
    with pytest.raises(UserError, match="as Matrix Market"):
        next(read(path, Columns(), "cells"))


def test_numbers_of_cells_have_no_linear_model(tmp_path: Path) -> None:
    """That of ranks is of classes."""
    rows = "".join(f"A:{n + 1} B:2,{n / 7}\n" for n in range(60))
    (tmp_path / "cells.csv").write_text(f"sequence,label\n{rows}", encoding="utf-8")
    recipe: Any = training.resolve(small(tmp_path / "cells.csv"))
    assert (recipe.data.answer, recipe.model.linear) == ("number", "")


def test_kinds_of_values() -> None:
    assert kind_of_values(np.array([[0, 3.0, 1], [2, 0, 0]])) == "counts"
    rng = np.random.default_rng(0)
    assert "neither" in kind_of_values(rng.random((4, 9)))
    assert kind_of_values(np.array([[np.nan, 1.0]])) == "not finite"
    assert "neither" in kind_of_values(counts(9) * 333.3)  # per 10,000, without the logarithm


def test_the_logarithm_to_base_2_is_not_read_as_the_natural_one() -> None:
    """As scater's logcounts are; the natural one may be of any total."""
    rates = np.random.default_rng(1).lognormal(0, 2, 300)
    found = np.random.default_rng(2).poisson(rates * 3, (20, 300)).astype(np.float64)
    shares = found / found.sum(axis=1, keepdims=True)
    for total in (2_000, 10_000):
        assert kind_of_values(np.log1p(shares * total)) == "log"
        assert "base 2" in kind_of_values(np.log2(shares * total + 1))


def test_a_cell_without_a_label_is_read_and_only_training_refuses_it(tmp_path: Path) -> None:
    types = ["A" if number % 2 else None for number in range(20)]
    observed = table([f"c{n}" for n in range(20)], cell_type=types)
    path = write(tmp_path / "x.h5ad", counts(20), obs=observed)
    assert [record.label for record in read(path, Columns(), "cells")] == types
    with pytest.raises(UserError, match="cell 'c0': no label; fill it in or remove the record"):
        read_labelled(path, Columns(), "cells")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"obs_names": ["c"] * 20}, "the name 'c' occurs twice"),
        ({"var_names": [*GENES[:-1], GENES[0]]}, f"the gene '{GENES[0]}' occurs twice"),
        ({"var_names": ["CD 3", *GENES[1:]]}, "the gene 'CD 3' has white space"),
        ({"n_counts": np.nan}, r"cell 'cell0': obs\['n_counts'\] is nan"),
        ({"n_counts": "many"}, r"obs\['n_counts'\] is many, expected the cell's total count"),
    ],
)
def test_faults_of_cells_are_one_line(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    if total := change.pop("n_counts", None):
        change["obs"] = table([f"cell{n}" for n in range(20)], n_counts=[total] * 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the names are not unique
        path = write(tmp_path / "x.h5ad", counts(20), **change)
    with pytest.raises(UserError, match=says):
        list(read(path, Columns(), "cells"))


def test_files_without_cells_are_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5ad", counts(20)[:0])
    with pytest.raises(UserError, match="holds no cell"):
        next(read(path, Columns(), "cells"))
    packed = tmp_path / "x.h5ad.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(UserError, match="decompress it with gunzip"):
        next(read(packed, Columns(), "cells"))
    for name, says in (("none.h5ad", "no such file"), (".", "it is a directory")):
        with pytest.raises(UserError, match=says):
            next(read(tmp_path / name, Columns(), "cells"))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UserError, match="cannot read"):
        next(read(path, Columns(), "cells"))


def test_genes_without_an_ensembl_id_count_in_the_totals_alone(tmp_path: Path) -> None:
    matrix = counts(20).astype(np.float64)
    named = table([f"S{n}" for n in range(37)], ensembl_id=[None, *GENES[1:]])
    path = write(tmp_path / "x.h5ad", matrix, var=named)
    shares = matrix / matrix.sum(axis=1, keepdims=True) * 10_000
    for record, row in zip(read(path, Columns(), "cells"), shares, strict=True):
        assert record.sequence == write_cell(GENES[1:], row[1:])


def test_numbers_of_cells_are_learned(tmp_path: Path) -> None:
    """Such as a pseudotime: there are no ranks of classes beside the Transformer."""
    observed = table([f"c{n}" for n in range(20)], age=np.arange(20) / 7)
    path = write(tmp_path / "x.h5ad", counts(20), obs=observed)
    values = small(path)
    values["data"]["label"] = "age"
    predictor = Predictor.from_pretrained(
        training.start(training.resolve(values), tmp_path / "run"), "cells"
    )
    assert predictor.columns == ["name", "value"]


@pytest.mark.parametrize(("name", "given"), [("split", ""), ("Fold", ""), ("batch", "batch")])
def test_parts_of_cells_are_a_column_of_obs(tmp_path: Path, name: str, given: str) -> None:
    parts = ["train", "valid", "test", None] * 5
    observed = table([f"c{n}" for n in range(20)], cell_type=["A"] * 20, **{name: parts})
    path = write(tmp_path / "x.h5ad", counts(20), obs=observed)
    found = list(read(path, Columns(split=given), "cells"))
    assert [record.split for record in found] == [part or "" for part in parts]
    with pytest.raises(UserError, match="cell 'c3': no split"):
        read_labelled(path, Columns(split=given), "cells")


def test_cells_without_a_matrix_are_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5ad", counts(20), X=None)
    with pytest.raises(UserError, match=r"holds no counts \(no X\)"):
        next(read(path, Columns(), "cells"))


def test_a_column_that_cells_do_not_have_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5ad", counts(20))
    assert next(read(path, Columns(), "cells")).split is None
    for columns in (Columns(split="nope"), Columns(label="nope")):
        with pytest.raises(UserError, match="obs has no column 'nope'; give one of cell_type"):
            next(read(path, columns, "cells"))
    with pytest.raises(UserError, match="leave out --sequence-column"):
        next(read(path, Columns("nope"), "cells"))


FAULTS = ["A:nan", "A:inf", "A:-1", "A:0", "A:b", ":2", "C:1 C:3", "C", "C:1 7"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_cell_in_a_table_is_named_with_its_line(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"sequence,label\nA:1 B:2.5,x\nB:2 {fault},y\n", encoding="utf-8")
    odd = fault.split()[-1]
    with pytest.raises(UserError, match=rf"line 3: '{odd}'.* each gene once") as caught:
        list(read(path, Columns(), "cells"))
    assert "\n" not in str(caught.value)


def test_genes_that_the_model_does_not_have_are_counted_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "cells.h5ad", counts(40))
    best = training.start(training.resolve(small(path)), tmp_path / "run")
    for known, warned in ((37, 0), (20, 0), (3, 1)):
        named = [*GENES[:known], *(f"G{number}" for number in range(37 - known))]
        matrix = counts(20, 1) + 1
        cells = list(read(write(tmp_path / "x.h5ad", matrix, named), Columns(), "cells"))
        predictor = Predictor.from_pretrained(best, "cells")
        caplog.clear()
        list(predictor.predict(cells))
        list(predictor.vectors(cells))
        assert caplog.text.count(f"only {known} of 37 genes are known to the model") == warned


def test_numbers_of_cells_are_compared_with_baselines(tmp_path: Path) -> None:
    ages = table([f"c{n}" for n in range(40)], label=np.arange(40) / 7)
    path = write(tmp_path / "x.h5ad", counts(40), obs=ages)
    records = read_labelled(path, Columns(), "cells")
    only = ("ridge regression, one-hot",)
    (line,) = benchmark(records, {}, Plan(2, only=only), tmp_path / "runs")
    assert list(line.scores) == ["spearman"]


def test_versions_differ_in_their_special_tokens() -> None:
    medians = {"G1": 1.0, "G2": 2.0, "G3": 1.0}
    cell = "G1:2.0 G2:8.0 G3:1.0"
    assert Vocabulary.of_genes(medians, 1).tokens[:3] == ["<pad>", "<mask>", "G1"]
    assert Vocabulary.of_genes(medians, 1).encode(cell) == [3, 2, 4]
    second = Vocabulary.of_genes(medians, 2)
    assert second.encode(cell) == [2, 5, 4, 6, 3]
    assert second.fitted(second.encode(cell), 4) == [2, 5, 4, 3]


def test_symbols_where_ensembl_ids_are_needed_are_one_line() -> None:
    vocabulary = Vocabulary.of_genes({"ENSG00000000001": 1.0})
    with pytest.raises(UserError, match=r"the data has CD3E.*Ensembl ids"):
        vocabulary.encode("CD3E:2.0")
    with pytest.raises(
        UserError, match=r"the data has ENSG00000000001\.7.*remove the version numbers"
    ):
        vocabulary.encode("ENSG00000000001.7:2.0")
    with pytest.raises(UserError, match="the names that the model has"):
        vocabulary.encode("ENSG00000000002:2.0")


def test_types_are_learned_and_deletion_moves_cells(tmp_path: Path) -> None:
    data = write(tmp_path / "cells.h5ad", counts(80))
    values = small(data, steps=60, eval_every=30)
    best = training.start(training.resolve(values), tmp_path / "run")
    predictor = Predictor.from_pretrained(best, "cells")
    test = list(read(write(tmp_path / "test.h5ad", counts(30, 1)), Columns(), "cells"))
    said = [found.label for found in predictor.predict(test)]
    assert sum(a == r.label for a, r in zip(said, test, strict=True)) >= 27
    shifts = list(deletion_shifts(predictor, test, GENES[0]))
    expressed = [record.name for record in test if f"{GENES[0]}:" in record.sequence]
    assert [shift.name for shift in shifts] == expressed
    assert all(shift.distance > 0 for shift in shifts)
    with pytest.raises(UserError, match="no cell expresses CD3E"):
        list(deletion_shifts(predictor, test, "CD3E"))


def test_members_share_their_genes_and_medians(tmp_path: Path) -> None:
    """Each holds out other cells, and some genes are expressed by one cell alone."""
    matrix = counts(40)
    matrix[:, 10:] = 0
    matrix[np.arange(27), np.arange(10, 37)] = 3
    data = write(tmp_path / "cells.h5ad", matrix)
    best = training.start(training.resolve(small(data, members=3)), tmp_path / "run")
    every = [load_model(path) for path in sorted(best.glob("member-*"))]
    assert len({cell_names(tmp_path / "run" / f"run-{n}") for n in (1, 2, 3)}) == 3
    assert all(one.vocabulary.tokens == every[0].vocabulary.tokens for one in every)
    assert all(one.vocabulary.cut == every[0].vocabulary.cut for one in every)
    cells = list(read(data, Columns(), "cells"))
    assert every[0].vocabulary.cut.medians == fit_medians(cell.sequence for cell in cells)
    predictor = Predictor.from_pretrained(best, "cells")
    alone = [
        Predictor(one._replace(temperature=predictor.loaded.temperature)).scores(cells)
        for one in every
    ]
    assert np.allclose(predictor.scores(cells), np.mean(alone, axis=0))


def test_medians_come_from_training_cells_alone(tmp_path: Path) -> None:
    """Cells given for validation have no part in them; a resumed run has the same medians."""
    data = write(tmp_path / "cells.h5ad", counts(40))
    dev = write(tmp_path / "dev.h5ad", 2 * counts(20, 1))
    wanted = small(data)
    wanted["data"]["dev"] = str(dev)
    best = training.start(training.resolve(wanted), tmp_path / "run")
    medians = fit_medians(record.sequence for record in read(data, Columns(), "cells"))
    assert load_model(best).vocabulary.cut.medians == medians
    assert load_model(training.resume(tmp_path / "run")).vocabulary.cut.medians == medians


def small(data: Path, **run: Any) -> dict[str, Any]:
    return {
        "data": {"train": str(data), "domain": "cells"},
        "model": {"d_model": 16, "layers": 1, "h": 2, "d_ff": 24},
        "run": {"steps": 2, "members": 1} | run,
    }


def cell_names(run: Path) -> str:
    """Of the cells that a run learns from."""
    kept = (run / "data" / "train.jsonl").read_text(encoding="utf-8")
    return " ".join(json.loads(line)["name"] for line in kept.splitlines())


@torch.no_grad()
def test_weights_in_geneformers_layout_load(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of_genes(dict.fromkeys(GENES, 1.0), 1)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary.tokens), hidden_size=16, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=32, max_position_embeddings=30,
        hidden_act="relu", hidden_dropout_prob=0.02, attention_probs_dropout_prob=0.02,
    )  # fmt: skip
    theirs = saved(disturbed(transformers.BertForMaskedLM(config)), tmp_path)
    vocabulary.save(tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.config.domain == "cells"
    ids = ragged(len(vocabulary.tokens), (7, 28, 19), 0, low=2)
    real = ids != 0
    assert furthest(loaded.models[0](ids), theirs(ids, real.long()).logits, real) <= CLOSE


def test_a_map_of_cells_has_a_point_for_each_cell_in_the_colour_of_its_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    class Projection:
        def __init__(self, **options: Any) -> None:
            seen.update(options)

        def fit_transform(self, vectors: Any) -> Any:
            seen["vectors"] = vectors
            return vectors[:, :2]

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=Projection))
    monkeypatch.setattr(plots, "draw_points", lambda *given: seen.update(drawn=given))
    names = [f"g{n}" for n in range(12)]
    vocabulary = Vocabulary.of_genes(dict.fromkeys(names, 1.0))
    sizes = MotifConfig(len(vocabulary.tokens), d_model=8, layers=1, h=2, d_ff=6, motif=1)
    torch.manual_seed(1)
    model = SequenceModel(ModelConfig("cells", sizes, "pooled", ("B", "T"))).eval()
    rng = np.random.default_rng(1)
    cells = [
        Record("here", str(n), write_cell(names, rng.random(12)), "BT"[n % 2]) for n in range(11)
    ]
    predictor = Predictor(Loaded((model,), vocabulary))
    draw_cells(predictor, iter(cells), tmp_path / "map.svg")
    points, labels, title, path = seen["drawn"]
    assert title == "Cells by label"
    assert points.shape == (11, 2)
    assert labels == [cell.label for cell in cells]
    assert path == tmp_path / "map.svg"
    draw_cells(predictor, [cell._replace(label=None) for cell in cells], tmp_path / "map.svg")
    assert seen["drawn"][2] == "Cells by predicted label"
    assert seen["n_neighbors"] == 10  # fewer than there are cells
    with pytest.raises(UserError, match="9 cells are too few"):
        draw_cells(predictor, iter(cells[:9]), tmp_path / "map.svg")


def test_a_gene_that_the_model_does_not_know_is_not_said_to_have_no_effect() -> None:
    """Cells without another gene that the model knows are left out."""
    sizes = MotifConfig(7, 20, d_model=12, layers=1, h=2, d_ff=16, pad_id=0)
    model = SequenceModel(ModelConfig("cells", sizes, "pooled", labels=("a", "b"))).eval()
    vocabulary = Vocabulary.of_genes({"A": 1.0, "B": 2.0, "C": 1.5})
    predictor = Predictor(Loaded((model,), vocabulary))
    cells = [Record("x", "1", "A:2 NEW:5"), Record("x", "2", "A:2 B:1 NEW:5")]
    with pytest.raises(UserError, match="the model does not know NEW"):
        list(deletion_shifts(predictor, cells, "NEW"))
    assert [shift.name for shift in deletion_shifts(predictor, cells, "A")] == ["2"]
