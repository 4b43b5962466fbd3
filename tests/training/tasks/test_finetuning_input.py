"""What people give a fine-tuning run: many forms of data, and one line for what does not do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clearhead.data.labelled_batches import NOTHING, Example
from clearhead.errors import UserError
from clearhead.models import Gpt, GptConfig
from clearhead.pretrained import save_pretrained
from clearhead.training.recipe_file import build_recipe
from clearhead.training.session import Session, start
from clearhead.training.tasks.labelled_examples import shortened
from tests.training.tiny_finetuning import (
    WORDS,
    esm,
    finetuning_recipe,
    write_residues,
    write_texts,
    write_words,
)


def begun(folder: Path, task: str = "classification", **sections: Any) -> Any:
    session: Session = start(finetuning_recipe(folder, task, **sections), folder / "run")
    return session.task


def test_labels_reach_first_pieces_and_no_others(tmp_path: Path) -> None:
    task = begun(tmp_path, "tagging")
    labels = task.examples.labels
    assert labels == sorted(set(WORDS.values()))
    item, example = next(
        (i, e) for i, e in zip(task.examples.train, task.batches.examples, strict=True)
        if "film" in i.words and "unhappy" in i.words
    )  # fmt: skip
    pieces = [task.tokenizer.piece(i) for i in example.ids]
    for piece, target in zip(pieces, example.targets, strict=True):
        assert (target == NOTHING) == piece.startswith(("##", "[")), piece
    said = [labels[t] for t in example.targets if t != NOTHING]
    assert said == [WORDS[word] for word in item.words]


def test_residues_and_a_mask_go_to_an_esm(tmp_path: Path) -> None:
    file = write_residues(tmp_path / "chains.jsonl", 40)
    columns = {"words": "sequence", "tags": "labels", "mask": "mask"}
    task = begun(
        tmp_path, "tagging", data={"train": str(file)} | columns,
        model={"path": str(esm(tmp_path / "esm"))},
    )  # fmt: skip
    for example in task.batches.examples:
        assert example.targets[0] == example.targets[1] == example.targets[-1] == NOTHING
        assert NOTHING not in example.targets[2:-1]


def test_a_pair_is_one_text_with_two_segments(tmp_path: Path) -> None:
    task = begun(tmp_path, data={"pair": "last"})
    example = task.batches.examples[0]
    ids, segments = list(example.ids), list(example.segments)
    assert ids.count(3) == 2 and segments == sorted(segments) and set(segments) == {0, 1}
    assert segments.index(1) == ids.index(3) + 1
    task.losses(task.model, next(task.batches)).smoothed.backward()


def test_long_texts_are_cut_and_end_with_their_special_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", "clearhead.train"):
        task = begun(tmp_path, "tagging", data={"max_length": 5})
    assert "texts are longer than 5 tokens and are cut to that length" in caplog.text
    assert max(len(e.ids) for e in task.batches.examples) == 5
    assert {e.ids[-1] for e in task.batches.examples} == {3}
    assert {e.targets[-1] for e in task.batches.examples} == {NOTHING}


def test_a_long_pair_is_cut_as_transformers_cut_it(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    task = begun(tmp_path, data={"pair": "last"})
    tokenizer = transformers.BertTokenizerFast(tokenizer_object=task.tokenizer._engine)
    pairs = [("film " * 9, "a"), ("a film", "film " * 9), ("film " * 7, "film " * 9)]
    found = [task.tokenizer.encode_pair(*pair) for pair in pairs]
    cut = shortened([Example(*pair, [0]) for pair in found], 9)
    theirs = tokenizer(*zip(*pairs, strict=True), truncation=True, max_length=9)
    assert [example.ids for example in cut] == theirs["input_ids"]
    assert [example.segments for example in cut] == theirs["token_type_ids"]


def test_many_unknown_tokens_give_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "strange.csv"
    file.write_text("text,label\nxyz,1\nzyx,2\n" + "xx yy,1\nyy xx,2\n" * 2, encoding="utf-8")
    with caplog.at_level("WARNING", "clearhead.train"):
        begun(tmp_path / "here", data={"train": str(file), "dev": str(file)})
    assert "of all tokens are unknown to this model ([UNK])" in caplog.text


def test_whole_spans_are_scored_if_labels_mark_spans(tmp_path: Path) -> None:
    file = tmp_path / "names.conll"
    file.write_text("the O\ngood B-X\nfilm I-X\n\nbad O\n\n" * 8, encoding="utf-8")
    task = begun(
        tmp_path / "here", "tagging", data={"train": str(file), "dev": str(file)},
        run={"metric": "span_f1"},
    )  # fmt: skip
    assert "span_f1" in task.validate(task.model, 0).scores
    assert task.description.metric.key == "span_f1"


@pytest.mark.parametrize(("method", "rate"), [("lora", 5e-4), ("whole", 5e-5), ("frozen", 1e-3)])
def test_the_default_learning_rate_depends_on_the_method(method: str, rate: float) -> None:
    values: dict[str, Any] = {"task": "tagging", "tune": {"method": method}}
    assert build_recipe(values, "test").optimizer.peak_lr == rate
    values["optimizer"] = None  # a section without keys
    assert build_recipe(values, "test").optimizer.peak_lr == rate
    values["optimizer"] = {"peak_lr": 0.01}
    assert build_recipe(values, "test").optimizer.peak_lr == 0.01


def gpt(folder: Path) -> Path:
    save_pretrained(Gpt.from_config(GptConfig(14, 40, 16, 1, 2, 24, bos_id=13, eos_id=13)), folder)
    names = {"vocab.json": '{"a": 0, "<|endoftext|>": 13}', "merges.txt": "#version: 0.2\n"}
    for name, text in names.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def bad(folder: Path, fault: str) -> dict[str, Any]:
    """Sections of a recipe with that fault."""
    texts, words = write_texts(folder / "t.tsv", 9), write_words(folder / "w.conll", 9)
    other = folder / "dev.tsv"
    other.write_text("text\tlabel\ngood\tgood\nbad\tbad\n", encoding="utf-8")
    lines = texts.read_text(encoding="utf-8").splitlines()
    one = folder / "one.tsv"
    one.write_text("\n".join([lines[0], "a\tb\tgood", "c\td\tgood"]), encoding="utf-8")
    sections: dict[str, Callable[[], dict[str, Any]]] = {
        "no file": lambda: {"data": {"train": ""}},
        "lost file": lambda: {"data": {"train": str(folder / "t.tvs")}},
        "column": lambda: {"data": {"text": "review"}},
        "unseen": lambda: {"data": {"dev": str(other)}},
        "one label": lambda: {"data": {"train": str(one)}},
        "no model": lambda: {"model": {"path": ""}},
        "lost model": lambda: {"model": {"path": str(folder / "nowhere")}},
        "other family": lambda: {"model": {"path": str(gpt(folder / "gpt"))}},
        "projection": lambda: {"tune": {"projections": ["query"]}},
        "rank": lambda: {"tune": {"rank": 17}},
        "pair for esm": lambda: {
            "data": {"pair": "last"}, "model": {"path": str(esm(folder / "esm"))},
        },
        "spans": lambda: {
            "task": "tagging", "data": {"train": str(words)}, "run": {"metric": "span_f1"},
        },
    }  # fmt: skip
    return sections[fault]()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no file", "no training data; name a file with labels: --set data.train=FILE"),
        ("lost file", r"t\.tvs: unknown file extension"),
        ("column", r"no column 'review'; choose among text, last, label with"),
        ("unseen", r"dev\.tsv, line 3: the label 'bad' never occurs .* has good, other"),
        ("one label", r"one\.tsv: the only label is 'good'; there is nothing to distinguish"),
        ("no model", r"nothing to fine-tune; name a BERT or ESM-2: --set model\.path="),
        ("lost model", r"nowhere"),
        ("other family", r"no SequenceClassification head for a gpt2 model; give one of bert, esm"),
        ("projection", r"no projection 'query' to adapt; choose from w_q, w_k, w_v, w_o"),
        ("rank", r"rank=17 is not possible for a matrix of 16 by 16; give one from 1 to 16"),
        (
            "pair for esm",
            r"this model's input is one text, so data\.pair='last' cannot be used; give a BERT",
        ),
        ("spans", r"span_f1 needs labels that mark spans .* ADJ, ADV, DET, NOUN"),
    ],
)
def test_bad_input_is_one_line_and_creates_nothing(
    fault: str, message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    sections = bad(folder, fault)
    made = finetuning_recipe(tmp_path, sections.pop("task", "classification"), **sections)
    with pytest.raises(UserError, match=message) as caught:
        start(made, tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
