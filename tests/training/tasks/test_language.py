"""Causal and masked language models: the same trainer, resumed bit by bit, saved for all."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.data.corpus import Texts
from clearhead.data.token_stream import PackedCorpus
from clearhead.errors import UserError
from clearhead.files import forget_checksum
from clearhead.models import Bert, BertConfig
from clearhead.pretrained import load, save_pretrained
from clearhead.training import console
from clearhead.training.metrics import read_metrics
from clearhead.training.recipe_file import build_recipe
from clearhead.training.session import Session, resume, start
from tests.training.test_resume import records, same_files
from tests.training.tiny import Killed, assert_same_state, kill_after, state_of
from tests.training.tiny_language import TASKS, tiny_language, write_text

SETTINGS: dict[str, dict[str, Any]] = {
    "adam": {},
    "bfloat16, accumulated": {"precision": "bf16", "accumulate": 2},
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_killed_anywhere_and_resumed_is_never_stopped(
    task: str, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_language(task, tmp_path, **settings)
    whole = start(recipe, tmp_path / "whole")
    whole.train()
    session = start(recipe, tmp_path / "killed")
    (tmp_path / "train.txt").unlink()  # a resumption reads none of the original text
    for step in (2, 5, 6, 9):
        kill_after(monkeypatch, session, step)
        with pytest.raises(Killed):
            session.train()
        torch.manual_seed(step)
        session = resume(tmp_path / "killed")
    session.train()
    assert_same_state(state_of(session), state_of(whole))
    assert records(tmp_path / "killed") == records(tmp_path / "whole")
    same_files(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.parametrize("task", TASKS)
def test_what_is_saved_is_what_transformers_computes_with(task: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    session = start(tiny_language(task, tmp_path), tmp_path / "run")
    session.train()
    for directory in (session.run.best, session.run.last):
        model, tokenizer = load(directory)
        kinds = {"causal": "AutoModelForCausalLM", "masked": "AutoModelForMaskedLM"}
        theirs = getattr(transformers, kinds[task]).from_pretrained(directory).eval()
        text = "The old baker's sister doesn't sleep."
        ids = transformers.AutoTokenizer.from_pretrained(directory)(text)["input_ids"]
        assert ids == tokenizer.encode(text)
        given = torch.tensor([ids[:20]])
        hidden = model(given)
        ours = model.logits(hidden) if task == "causal" else model.heads["masked_lm"](hidden)
        torch.testing.assert_close(ours, theirs(given).logits, rtol=0, atol=1e-5)
        card = (directory / "README.md").read_text(encoding="utf-8")
        assert "Training data: train.txt" in card and " texts, at step" in card
        unit = {"causal": " tokens", "masked": " masked tokens"}[task]
        assert f"{unit}, less than a minute" in card and "target" not in card


@pytest.mark.parametrize("task", TASKS)
def test_it_learns(task: str, tmp_path: Path) -> None:
    session = start(tiny_language(task, tmp_path, steps=60, eval_every=20), tmp_path / "run")
    session.train()
    losses = [r["loss"] for r in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert losses[-1] < 0.92 * losses[0]
    assert not any(math.isnan(loss) for loss in losses)


def validated(session: Session) -> Any:
    return session.task.validate(session.trainer.model, 2)


@pytest.mark.parametrize("task", TASKS)
def test_validation_changes_neither_mode_nor_random_state(task: str, tmp_path: Path) -> None:
    session = start(tiny_language(task, tmp_path), tmp_path / "run")
    before = torch.get_rng_state()
    first = validated(session)
    assert validated(session) == first
    assert session.trainer.model.training and torch.equal(torch.get_rng_state(), before)
    assert len(first.samples) == 2 and first.size == 15  # one in twenty of 300


def test_bits_per_byte_are_the_loss_in_another_unit(tmp_path: Path) -> None:
    session = start(tiny_language("causal", tmp_path), tmp_path / "run")
    result, texts = validated(session), session.run.dev.read_text("utf-8").splitlines()
    bytes_ = sum(len(json.loads(text).encode()) + 1 for text in texts)
    tokens = sum(len(session.task.tokenizer.encode(json.loads(text))) + 1 for text in texts)
    expected = result.loss * tokens / math.log(2) / bytes_
    assert result.scores["bits_per_byte"] == pytest.approx(expected, rel=1e-6)


def test_samples_of_a_model_with_few_positions_begin_with_what_it_can_read(tmp_path: Path) -> None:
    recipe = tiny_language("causal", tmp_path, model={"seq_len": 5})
    Path(recipe.data.train).write_text(f"{'one two three four ' * 5}\n\n" * 60, "utf-8")
    session = start(recipe, tmp_path / "run")
    assert max(len(ids) for ids in session.task.dev_ids) > 3 * 5  # whose third is too long
    assert len(validated(session).samples) == 2


@pytest.mark.parametrize("task", TASKS)
def test_a_model_can_be_trained_on(task: str, tmp_path: Path) -> None:
    first = start(tiny_language(task, tmp_path, steps=40, eval_every=40), tmp_path / "run")
    first.train()
    more = tiny_language(task, tmp_path, model={"path": str(first.run.best)})
    second = start(more, tmp_path / "more")
    assert validated(second).loss == pytest.approx(validated(first).loss, rel=1e-5)
    second.trainer.step()
    second.checkpoints.save_last()
    first.run.best.rename(tmp_path / "moved away")
    assert resume(tmp_path / "more").progress.step == 1


@pytest.mark.parametrize("task", TASKS)
def test_settings_beside_a_model_to_start_from_are_reported_if_they_differ(
    task: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = start(tiny_language(task, tmp_path), tmp_path / "run")  # dropout 0.2 and d_ff 24
    first.checkpoints.save_last()
    more = {"path": str(first.run.last), "dropout": 0.4, "d_ff": 32}
    caplog.clear()
    second = start(tiny_language(task, tmp_path, model=more), tmp_path / "more")
    assert "keeps its settings; not used: model.d_ff=32, model.dropout=0.4" in caplog.text
    second.checkpoints.save_last()
    caplog.clear()
    resume(tmp_path / "more")
    assert "not used" not in caplog.text


def test_a_model_of_the_other_kind_is_one_line(tmp_path: Path) -> None:
    first = start(tiny_language("causal", tmp_path), tmp_path / "run")
    first.trainer.step()
    first.checkpoints.save_last()
    recipe = tiny_language("masked", tmp_path, model={"path": str(first.run.last)})
    with pytest.raises(UserError, match="holds a Gpt, and task=masked trains a Bert"):
        start(recipe, tmp_path / "more")


@pytest.mark.parametrize(("task", "role"), [("causal", "eos"), ("masked", "mask")])
def test_a_tokenizer_without_a_special_token_of_the_task_is_one_line(
    task: str, role: str, tmp_path: Path
) -> None:
    start(tiny_language(task, tmp_path), tmp_path / "base").train()
    base = tmp_path / "base" / "best"
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (base / name).read_text("utf-8")
        text = text.replace("<|endoftext|>", "<end>").replace("[MASK]", "[HIDDEN]")
        text = text.replace(f'"{role}_token"', '"other_token"')
        (base / name).write_text(text, "utf-8")
        forget_checksum(base / name)
    recipe = tiny_language(task, tmp_path, {"path": str(base)})
    with pytest.raises(UserError, match=f"no {role.upper()} token.*{role}_token"):
        start(recipe, tmp_path / "run")


def test_a_model_without_the_head_for_masked_words_is_one_line(tmp_path: Path) -> None:
    whole = start(tiny_language("masked", tmp_path), tmp_path / "run")
    whole.trainer.step()
    whole.checkpoints.save_last()
    bert = Bert.from_config(BertConfig(vocab_size=330, d_model=16, h=2, heads=("pooler",)))
    save_pretrained(bert, whole.run.last)  # beside its tokenizer
    recipe = tiny_language("masked", tmp_path, model={"path": str(whole.run.last)})
    with pytest.raises(UserError, match="last has no head for masked tokens, only pooler; give"):
        start(recipe, tmp_path / "more")


def test_the_log_has_corpus_metric_samples_and_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = start(tiny_language("causal", tmp_path), tmp_path / "run")
    with console.shown(), console.kept(session.run.log):
        session.train()
    err = capsys.readouterr().err
    assert "285 texts, " in err and " blocks, vocabulary 330, " in err
    assert " bits per byte " in err and " → " in err and "done: 10 steps" in err


def test_each_masked_row_is_one_text_or_a_window_of_one(tmp_path: Path) -> None:
    task = start(tiny_language("masked", tmp_path, model={"seq_len": 9}), tmp_path / "run").task
    special, rows = task.tokenizer.special_ids, list[list[int]]()
    while task.batches.epoch == 0:
        ids, labels = next(task.batches)
        assert not (labels >= 0)[ids == special["pad"]].any()
        for row in np.where(labels >= 0, labels, ids).tolist():
            rows.append([i for i in row if i != special["pad"]])
    texts = (text for k, text in enumerate(Texts("measured:300")) if k % 20 != 1)
    inner = [task.tokenizer.encode(text)[1:-1] for text in texts]
    windows = [ids[k : k + 7] for ids in inner for k in range(0, len(ids), 7)]
    assert len(windows) > len(inner)
    assert sorted(rows) == sorted([special["cls"], *ids, special["sep"]] for ids in windows)


def test_validation_rows_are_those_of_training(tmp_path: Path) -> None:
    same = {"train": str(tmp_path / "train.txt"), "dev": str(tmp_path / "train.txt")}
    recipe = changed({"data": same, "model": {"seq_len": 9}}, "masked", tmp_path)
    task = start(recipe, tmp_path / "run").task
    ends = [
        i
        for batch in task.dev_batches
        for i in (batch.ids == task.tokenizer.special_ids["sep"]).sum(1)
    ]
    assert ends == [1] * len(task.batches.plain.corpus)


def test_a_masked_run_with_packed_rows_is_one_line(tmp_path: Path) -> None:
    session = start(tiny_language("masked", tmp_path), tmp_path / "run")
    session.trainer.step()
    session.checkpoints.save_last()
    tokenizer, data = session.task.tokenizer, session.run.data
    for name in ("index.bin", "tokens.bin", "meta.json"):
        forget_checksum(data / name)
        (data / name).unlink()
    sep, size = tokenizer.special_ids["sep"], tokenizer.vocab_size
    PackedCorpus.build(Texts("measured:300"), tokenizer.encode_batch, sep, size, data)
    session.run.release()
    with pytest.raises(UserError, match=r"holds several texts in a row.*start a new run") as caught:
        resume(tmp_path / "run")
    assert "\n" not in str(caught.value)


def test_a_batch_smaller_than_a_row_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start(tiny_language("causal", tmp_path, batch_tokens=10), tmp_path / "run")
    assert "run.batch_tokens=10 is less than a row of 20 tokens" in caplog.text


def test_a_text_shorter_than_a_block_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="fewer than one block of"):
        start(tiny_language("causal", tmp_path, model={"seq_len": 9000}), tmp_path / "run")


def changed(values: dict[str, dict[str, object]], task: str, folder: Path) -> Any:
    recipe = tiny_language(task, folder).model_dump(mode="json")
    for section, keys in values.items():
        recipe[section] |= keys
    return build_recipe(recipe, "the test's recipe")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"data": {"train": "{}/missing.txt"}}, r"missing\.txt does not exist"),
        ({"data": {"dev": "{}/missing.txt"}}, r"missing\.txt does not exist"),
        ({"data": {"train": "{}/empty.txt"}}, "holds no text"),
        ({"data": {"dev": "{}/empty.txt"}}, "holds no text"),
        ({"data": {"train": "{}/latin.txt"}}, "is not valid UTF-8"),
        ({"data": {"train": "{}/single.txt"}}, r"is one paragraph, .*data\.unit=line"),
        (
            {"data": {"train": "{}/one_line.txt", "unit": "line"}},
            r"is one line, so none can be held out; name another file as --set data\.dev=…$",
        ),
        ({"model": {"h": 3}}, "not divisible by h=3"),
        ({"model": {"activation": "gelo"}}, "activation='gelo' is not known"),
        ({"model": {"path": "{}/nowhere"}}, "there is no directory"),
    ],
)
def test_bad_input_is_one_line_and_can_be_mended(
    task: str, values: dict[str, dict[str, Any]], message: str, tmp_path: Path
) -> None:
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    (tmp_path / "latin.txt").write_bytes("déjà vu\n".encode("latin-1"))
    text = write_text(tmp_path / "good.txt").read_text("utf-8").replace("\n\n", "\n")
    (tmp_path / "single.txt").write_text(text, encoding="utf-8")
    (tmp_path / "one_line.txt").write_text(text.replace("\n", " "), encoding="utf-8")
    told = {
        section: {k: v.format(tmp_path) if isinstance(v, str) else v for k, v in keys.items()}
        for section, keys in values.items()
    }
    with pytest.raises(UserError, match=message) as caught:
        start(changed(told, task, tmp_path), tmp_path / "run")
    assert "\n" not in str(caught.value)
    start(tiny_language(task, tmp_path), tmp_path / "run")  # the corrected command, same place
