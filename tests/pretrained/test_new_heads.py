"""A new head on an old stack: files, scores, loss and gradients of `transformers`' classes."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn

from clearhead.errors import UserError
from clearhead.models import Bert, BertConfig, Gpt, GptConfig, Marian, MarianConfig
from clearhead.pretrained import from_pretrained, save_pretrained
from clearhead.pretrained.new_heads import Answer, label_names, with_head
from tests.pretrained.reference import attention_mask, disturbed, furthest, ragged, same_state

SIZES = {"vocab_size": 33, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3,
         "intermediate_size": 20, "max_position_embeddings": 40, "pad_token_id": 1}  # fmt: skip
ESM = {"mask_token_id": 32, "position_embedding_type": "rotary", "token_dropout": True}
LABELS = ["helix", "strand", "coil", "né", "5"]
CASES = [(kind, answer) for kind in ("Bert", "Esm") for answer in ("sequence", "token")]
ENDINGS = {"sequence": "ForSequenceClassification", "token": "ForTokenClassification"}


def reference(kind: str, ending: str, **more: Any) -> Any:
    config = getattr(transformers, f"{kind}Config")(**SIZES | (ESM if kind == "Esm" else {}) | more)
    return disturbed(getattr(transformers, f"{kind}{ending}")(config))


def tuned(kind: str, answer: Answer, folder: Path) -> Any:
    """A masked language model of theirs under a head of ours."""
    reference(kind, "ForMaskedLM").save_pretrained(folder)
    return with_head(from_pretrained(folder), answer, LABELS)


@pytest.mark.parametrize(("kind", "answer"), CASES)
def test_the_stack_is_bit_identical_and_only_the_head_is_new(
    kind: str, answer: Answer, tmp_path: Path
) -> None:
    ours = tuned(kind, answer, tmp_path)
    base = dict(from_pretrained(tmp_path).named_parameters())
    for name, parameter in ours.named_parameters():
        assert name.startswith("heads.") or torch.equal(parameter, base[name]), name
    assert set(ours.heads) == ({"pooler", "sequence"} if kind == "Bert" else {answer}) or (
        answer == "token" and set(ours.heads) == {"token"}
    )


@pytest.mark.parametrize(("kind", "answer"), CASES)
@torch.no_grad()
def test_transformers_loads_it_with_equal_scores_and_labels(
    kind: str, answer: Answer, tmp_path: Path
) -> None:
    ours = tuned(kind, answer, tmp_path / "base")
    save_pretrained(ours, tmp_path / "tuned")
    auto = {"sequence": "AutoModelForSequenceClassification",
            "token": "AutoModelForTokenClassification"}[answer]  # fmt: skip
    theirs = getattr(transformers, auto).from_pretrained(tmp_path / "tuned").eval()
    assert type(theirs).__name__ == kind + ENDINGS[answer]
    assert [theirs.config.id2label[i] for i in range(5)] == LABELS
    assert theirs.config.label2id == {label: i for i, label in enumerate(LABELS)}
    ids = ragged(32, (9, 4, 17), 1, low=4)
    real, mask = attention_mask(ids, 1)
    where = real.bool() if answer == "token" else None
    assert furthest(ours.heads[answer](ours(ids, mask)), theirs(ids, real).logits, where) <= 1e-5
    again = from_pretrained(tmp_path / "tuned")
    assert label_names(again) == LABELS
    assert all(torch.equal(t, again.get_parameter(n)) for n, t in ours.named_parameters())
    save_pretrained(again, tmp_path / "twice")
    same_state(theirs, type(theirs).from_pretrained(tmp_path / "twice"))


@pytest.mark.parametrize(("kind", "answer"), CASES)
def test_loss_and_gradients_equal_theirs(kind: str, answer: Answer, tmp_path: Path) -> None:
    reference(kind, ENDINGS[answer], num_labels=5).save_pretrained(tmp_path)
    theirs = getattr(transformers, kind + ENDINGS[answer]).from_pretrained(tmp_path).eval()
    ours = from_pretrained(tmp_path)
    ids = ragged(32, (9, 4, 17), 1, low=4)
    real, mask = attention_mask(ids, 1)
    labels = torch.tensor([4, 0, 2])
    if answer == "token":
        labels = torch.randint(0, 5, ids.shape).masked_fill(real == 0, -100)
        labels[:, 0] = -100
    expected = theirs(ids, real, labels=labels).loss
    loss = F.cross_entropy(ours.heads[answer](ours(ids, mask)).flatten(0, -2), labels.flatten())
    assert furthest(loss.detach(), expected.detach()) <= 1e-6
    expected.backward()
    loss.backward()
    with torch.no_grad():  # the name tables say which gradient belongs to which
        for parameter in (*ours.parameters(), *theirs.parameters()):
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None
                            else parameter.grad)  # fmt: skip
    save_pretrained(ours, tmp_path / "gradients")
    found = type(theirs).from_pretrained(tmp_path / "gradients").state_dict()
    for name, gradient in theirs.named_parameters():
        if "contact_head" not in name:  # what we only carry
            assert furthest(found[name], gradient.detach()) <= 1e-6, name


def test_a_classifier_is_kept_only_for_the_same_labels(
    tmp_path: Path,
) -> None:
    first = tuned("Bert", "sequence", tmp_path)
    same = with_head(first, "sequence", LABELS)
    assert all(torch.equal(t, same.get_parameter(n)) for n, t in first.named_parameters())
    other = with_head(first, "sequence", LABELS[::-1])
    classifier = "heads.sequence.1.linear.weight"
    assert not torch.equal(other.get_parameter(classifier), first.get_parameter(classifier))
    pooler = "heads.pooler.linear.weight"
    assert torch.equal(other.get_parameter(pooler), first.get_parameter(pooler))


def test_a_new_model_gets_a_head(tmp_path: Path) -> None:
    born = Bert.from_config(BertConfig(33, 40, 12, 1, 3, 20))
    save_pretrained(with_head(born, "token", LABELS[:2]), tmp_path)
    assert label_names(from_pretrained(tmp_path)) == LABELS[:2]


def marian() -> nn.Module:
    return Marian.assemble(
        MarianConfig(33, 33, d_model=12, encoder_layers=1, decoder_layers=1, h=3, d_ff=20,
                     pad_id=32, bos_id=32, eos_id=0)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "answer", "labels", "message"),
    [
        (marian, "sequence", LABELS, "no SequenceClassification head for a marian .*bert, esm"),
        (lambda: Gpt.from_config(GptConfig(33, 40, 12, 1, 3, 20)), "sequence", LABELS,
         "head for a gpt2 model; give one of bert, esm"),
        (lambda: Bert.from_config(BertConfig(33, 40, 12, 1, 3, 20)), "token", ["one"],
         r"1 label \(one\): there is nothing to classify"),
        (lambda: Bert.from_config(BertConfig(33, 40, 12, 1, 3, 20)), "token", ["a", "b", "a"],
         "the label 'a' is given twice"),
    ],
)  # fmt: skip
def test_invalid_labels_are_refused(
    model: Any, answer: Answer, labels: list[str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        with_head(model(), answer, labels)
