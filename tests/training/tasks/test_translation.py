"""What training reads is the corpus, and only the corpus is varied."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
from tokenizers import models, trainers

from clearhead.data import Pair
from clearhead.errors import UserError
from clearhead.models.weight_files import SHIPPED
from clearhead.text import Tokenizer
from clearhead.training import session
from clearhead.training.model_recipes import TranslationRecipe
from clearhead.training.recipe_file import build_recipe, load_recipe
from clearhead.training.tasks.translation import (
    TrainingPairs,
    Translation,
    make_model,
    prepare_corpus,
    prepare_dev,
    prepare_tokenizer,
)
from tests.training.tiny import tiny_recipe

PAIRS = [
    Pair("Tom sees the red cat.", "Tom voit le chat rouge."),
    Pair("The cat sees Tom.", "Le chat voit Tom."),
    Pair("The red cat is red.", "Le chat rouge est rouge."),
]
SIZE = len(PAIRS)


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> Path:
    lines = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (tmp_path / "pairs.tsv").write_text(lines, encoding="utf-8")
    return tmp_path


def recipe(folder: Path, **settings: dict[str, Any]) -> TranslationRecipe:
    spec = str(folder / "pairs.tsv")
    values = {"data": {"train": spec, "dev": spec}, "vocabulary": {"size": 320}}
    for section, own in settings.items():
        values.setdefault(section, {}).update(own)
    found = build_recipe(values, "the test's recipe")
    assert isinstance(found, TranslationRecipe)
    return found


def learned_from(made: TranslationRecipe, folder: Path) -> tuple[list[Pair], list[list[int]]]:
    """What the encoded corpus says, and in which pieces the sources say it."""
    folder.mkdir()
    tokenizer = prepare_tokenizer(made, folder)
    corpus = prepare_corpus(made, tokenizer, folder / "data", 99)
    rows = corpus.read(np.arange(len(corpus)))
    pairs, sources = [], []
    for start, middle, end in zip(
        rows.starts, rows.source_lengths, rows.target_lengths, strict=True
    ):
        ids = rows.tokens[start : start + middle + end].tolist()
        sources.append(ids[:middle])
        pairs.append(Pair(tokenizer.decode(ids[:middle]), tokenizer.decode(ids[middle:])))
    return pairs, sources


def shared(pair: Pair) -> set[str]:
    source, target = (set(side.strip(".").split()) for side in pair)
    return source & target


def test_as_many_copies_as_asked_for_each_with_its_own_cuts(files: Path) -> None:
    made = recipe(files, vocabulary={"copies": 3, "dropout": 0.4})
    pairs, sources = learned_from(made, files / "run")
    assert pairs == PAIRS * 3
    assert sources[:SIZE] != sources[SIZE : 2 * SIZE] != sources[2 * SIZE :]


def test_without_dropout_all_copies_are_cut_alike(files: Path) -> None:
    pairs, sources = learned_from(recipe(files, vocabulary={"copies": 2}), files / "run")
    assert pairs == PAIRS * 2
    assert sources[:SIZE] == sources[SIZE:]


def test_synthetic_names_differ_in_every_copy(files: Path) -> None:
    made = recipe(files, data={"synthetic_names": 1.0}, vocabulary={"copies": 2})
    pairs, _ = learned_from(made, files / "run")
    assert pairs[2] == pairs[SIZE + 2] == PAIRS[2]  # no name in it
    for number in (0, 1):
        (name,), (other,) = (shared(pairs[copy * SIZE + number]) for copy in (0, 1))
        assert name not in {"Tom", other}


def test_synthetic_names_change_neither_vocabulary_nor_validation_data(files: Path) -> None:
    plain, varied = recipe(files), recipe(files, data={"synthetic_names": 1.0})
    ends = []
    for name, made in (("plain", plain), ("varied", varied)):
        learned_from(made, files / name)
        ends.append(
            (Tokenizer.load(files / name).to_json(), prepare_dev(made, files / name / "d.jsonl"))
        )
    assert ends[0] == ends[1]
    assert ends[0][1] == PAIRS


@pytest.mark.parametrize(
    ("language", "is_french"),
    [
        *((language, True) for language in ("fr", "fr-CA", "FR_be", "fra", "french")),
        *((language, False) for language in ("de", "en", "frr", "fro")),
    ],
)
def test_only_french_targets_get_french_spaces(
    language: str, is_french: bool, tmp_path: Path
) -> None:
    (tmp_path / "pairs.tsv").write_text("Really ?\tDas ist » X « !\n", encoding="utf-8")
    made = recipe(tmp_path, data={"target_lang": language})
    (pair,) = TrainingPairs(made.data.train, made.data)
    assert pair.source == "Really ?"
    assert (pair.target != "Das ist » X « !", "\u202f" in pair.target) == (is_french, is_french)


def test_french_forms_are_refused_for_other_targets(files: Path) -> None:
    Translation.check(recipe(files, data={"input_forms": 0.2, "target_lang": "fr-CA"}))
    Translation.check(recipe(files, data={"target_lang": "en"}))
    with pytest.raises(UserError, match=r"data.input_forms=0.2 and data.target_lang='en': the"):
        Translation.check(recipe(files, data={"input_forms": 0.2, "target_lang": "en"}))


@pytest.fixture(name="run")
def _run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a tiny run, to start from."""
    monkeypatch.setattr("clearhead.training.reporter.draw_curves", lambda *given: None)
    session.start(tiny_recipe(tmp_path, steps=4), tmp_path / "run").train()
    return tmp_path / "run"


def test_a_run_directory_starts_a_run_with_its_best_model(run: Path) -> None:
    of_run, of_best = (
        recipe(run.parent, data=given_data(run), model={"path": str(path)})
        for path in (run, run / "best")
    )
    Translation.check(of_run)
    size = Tokenizer.load(run / "best").vocab_size
    tensors, expected = (make_model(made, size).state_dict() for made in (of_run, of_best))
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)


def test_shipped_means_the_translator_in_the_package(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = given_data(run)
    made = load_recipe(
        "finetune_en_fr",
        [f"data.train={data['train']}", f"data.dev={data['dev']}", "run.steps=1", "run.threads=1"],
    )
    monkeypatch.chdir(run)
    session.start(made, run.parent / "tuned").train()
    best = run.parent / "tuned" / "best"
    for name in ("tokenizer.json", "config.json"):
        assert (best / name).read_bytes() == (SHIPPED / name).read_bytes()
    card = (best / "README.md").read_text(encoding="utf-8")
    assert "Started from the model shipped" in card and "tatoeba.org" in card
    assert (best / "model.safetensors").read_bytes() != (SHIPPED / "model.safetensors").read_bytes()
    (run / "shipped").mkdir()  # a directory of the user's comes first
    assert made.base_directory == Path("shipped")


@pytest.mark.parametrize("kind", ["Unigram", "BPE"])
def test_bpe_dropout_of_a_tokenizer_without_merges_or_bytes_is_refused(
    kind: str, files: Path
) -> None:
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    model = models.BPE(unk_token="<unk>") if kind == "BPE" else models.Unigram()
    of_kind = trainers.BpeTrainer if kind == "BPE" else trainers.UnigramTrainer
    other = tokenizers.Tokenizer(model)
    learner = of_kind(vocab_size=60, special_tokens=special, show_progress=False)
    other.train_from_iterator(["Tom sees the red cat"] * 9, learner)
    other.save(str(files / "tokenizer.json"))
    vocabulary = {"path": str(files), "dropout": 0.0}
    Translation.check(recipe(files, vocabulary=vocabulary))
    with pytest.raises(UserError, match=rf"BPE dropout needs .* unlike this one \({kind}\); set"):
        Translation.check(recipe(files, vocabulary=vocabulary | {"dropout": 0.1}))


def test_a_tokenizer_of_the_same_size_that_is_not_the_models_is_refused(run: Path) -> None:
    size = Tokenizer.load(run).vocab_size
    Tokenizer.train(["zebra xylophone quartz vex jumbo"] * 9, size).save(run.parent / "other")
    assert Tokenizer.load(run.parent / "other").vocab_size == size
    paths = {"model": {"path": str(run / "best")}, "data": given_data(run)}
    Translation.check(recipe(run.parent, vocabulary={"path": str(run)}, **paths))
    made = recipe(run.parent, vocabulary={"path": str(run.parent / "other")}, **paths)
    for use in (Translation.check, lambda made: prepare_tokenizer(made, run.parent)):
        with pytest.raises(UserError, match="was trained with another tokenizer"):
            use(made)


def test_sizes_beside_a_model_to_start_from_are_reported_if_they_differ(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = {"d_model": 16, "h": 4, "seq_len": 64, "norm": "post"}  # it has h=2 and norm=pre
    made = recipe(run.parent, data=given_data(run), model={"path": str(run), **sizes})
    Translation.check(made)
    (line,) = caplog.messages
    assert line.endswith(
        "keeps its sizes; not used: model.h=4, model.norm=post, vocabulary.size=320"
    )
    caplog.clear()
    same = {"vocabulary": {"size": Tokenizer.load(run).vocab_size}, "data": given_data(run)}
    Translation.check(recipe(run.parent, model={"path": str(run), "dropout": 0.3}, **same))
    assert not caplog.messages
    Translation.check(recipe(run.parent, model={"path": str(run), "size": "big"}, **same))
    assert "model.d_model=1024, model.encoder_layers=6" in caplog.text


def given_data(run: Path) -> dict[str, Any]:
    return {"train": str(run.parent / "train.tsv"), "dev": str(run.parent / "dev.tsv")}


@pytest.mark.parametrize("side", ["train", "dev"])
def test_an_empty_corpus_is_refused_before_any_work(files: Path, side: str) -> None:
    (files / "empty.tsv").write_text("", encoding="utf-8")
    made = recipe(files, data={side: str(files / "empty.tsv")})
    with pytest.raises(UserError, match=rf"^data\.{side}: .*empty\.tsv holds no pair"):
        Translation.check(made)
