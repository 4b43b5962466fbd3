"""Masked language modelling: a `Bert` predicts masked tokens of plain text from all others."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.labelled_batches import padded
from clearhead.data.masking import Masked as MaskedRows
from clearhead.data.masking import MaskedBatches, Vocabulary, mask_tokens
from clearhead.errors import UserError
from clearhead.models import Bert, BertConfig
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import learn_wordpiece
from clearhead.training.model_recipes import LanguageRecipe, LanguageRun
from clearhead.training.objective import Ids, Losses, TokenLoss, fused_cross_entropy
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Metric, TaskDescription, ValidationResult
from clearhead.training.tasks.language import LanguageTask, TokenizerFormat

ABOUT = """\
A BERT trained with clearhead to predict masked tokens; use it with
`clearhead fill-mask --model DIRECTORY`, or load the directory with `transformers`."""
DEV_ROWS = 64
DEV_SEED = 0  # the same tokens are masked in every validation of every run


class Masked(LanguageTask):
    """15 % of all tokens are masked, others in each epoch.

    A row is one text, [CLS] … [SEP], as a text is given to the trained model. In rows of several
    texts a model would learn to copy frequent words of the other texts, which are absent in use.
    """

    description = TaskDescription(
        "Masked language model",
        ABOUT,
        "masked tokens",
        "texts",
        "clearhead fill-mask --model",
        Metric("accuracy", "accuracy", "Accuracy on masked tokens", 3),
    )
    model_class, config_class = Bert, BertConfig
    tokenizer_format = TokenizerFormat(
        learn_wordpiece, FastTokenizer.wordpiece, ("pad", "cls", "sep", "mask")
    )
    batches: MaskedBatches

    def prepare_dev(self, texts: list[str]) -> None:
        """Rows, as in training; the same tokens are always masked."""
        special, size = self.tokenizer.special_ids, self.tokenizer.vocab_size
        self.vocabulary = Vocabulary(size, tuple(sorted(set(special.values()))), special["mask"])
        rows = [[*row, special["sep"]] for row in self._rows(texts)]
        if not rows:
            raise UserError("the validation texts hold no token; name another file as data.dev")
        self.dev_size = len(texts)
        self.dev_samples = [self._masked([row], number) for number, row in enumerate(rows[:100])]
        by_length = sorted(rows, key=len)
        self.dev_batches = [
            self._masked(by_length[start : start + DEV_ROWS], start)
            for start in range(0, len(rows), DEV_ROWS)
        ]

    def build_corpus(self, texts: Iterable[str], directory: Path) -> None:
        """The rows, as pairs without targets; the batches end each row with [SEP]."""
        EncodedCorpus.build_rows(texts, self._rows, directory)

    def open_batches(self, directory: Path, run: LanguageRun) -> MaskedBatches:
        """Rows of similar length in random order.

        Raises:
            UserError: the run began when rows were blocks of several texts.
        """
        if not (directory / "index.bin").exists():
            raise UserError(
                f"{directory} holds several texts in a row, as earlier versions wrote them, and "
                "now a row is one text; start a new run in another --run-dir"
            )
        special = self.tokenizer.special_ids
        plan = BatchPlan(
            run.batch_tokens, seed=run.seed, pad_id=special["pad"], eos_id=special["sep"]
        )
        plain = TokenBatches(EncodedCorpus.open(directory), plan)
        return MaskedBatches(plain, self.vocabulary)

    def summary(self) -> str:
        """The size of the corpus and of the vocabulary."""
        corpus = self.batches.plain.corpus
        return (
            f"{len(corpus):,} rows, {corpus.token_count - len(corpus):,} tokens, "
            f"vocabulary {self.tokenizer.vocab_size:,}"
        )

    def _rows(self, texts: list[str]) -> list[list[int]]:
        """Each text, or each window of a longer one, after [CLS]; [SEP] is still to follow."""
        room = self.length - 2
        return [
            [ids[0], *ids[start : min(start + room, len(ids) - 1)]]
            for ids in self.tokenizer.encode_batch(texts)
            for start in range(1, len(ids) - 1, room)
        ]

    def losses(self, model: Bert, batch: MaskedRows) -> Losses:
        """Cross-entropy of the masked tokens."""
        return masked_loss(model, batch.ids, batch.labels, self.token_loss)

    def evaluate(self, model: Bert, samples: int) -> ValidationResult:
        """Perplexity and accuracy at masked positions, and some texts with the predictions."""
        total, correct, count = 0.0, 0, 0
        for batch in self.dev_batches:
            losses = masked_loss(model, batch.ids, batch.labels)
            correct += int((_predictions(model, batch) == batch.labels[batch.labels >= 0]).sum())
            total, count = total + float(losses.nll), count + losses.tokens
        shown = [self._sample(model, text) for text in self.dev_samples[:samples]]
        return ValidationResult(total / count, self.dev_size, {"accuracy": correct / count}, shown)

    def family_config(self, recipe: LanguageRecipe) -> dict[str, Any]:
        """The padding token, the head and the standard deviation of random weights."""
        # BERT's 0.02 belongs to a width of 768. In a narrow model it makes all embeddings so
        # similar that for hundreds of steps only the frequencies of words are learned.
        initial_std = 0.02 * (768 / recipe.model.d_model) ** 0.5
        pad_id = self.tokenizer.special_ids["pad"]
        return {"pad_id": pad_id, "heads": ("masked_lm",), "initial_std": initial_std}

    def prepare_model(self, recipe: LanguageRecipe, run: RunDirectory) -> Any:
        """A model to start from needs the head; a classifier, for example, has none."""
        model = super().prepare_model(recipe, run)
        if "masked_lm" not in model.heads:
            raise UserError(
                f"{recipe.model.path} has no head for masked tokens, only "
                f"{', '.join(model.heads) or 'hidden states'}; give a model that predicts them"
            )
        return model

    def _masked(self, rows: list[list[int]], seed: int) -> MaskedRows:
        """Rows padded to one length, with tokens masked."""
        ids = padded(rows, self.tokenizer.special_ids["pad"])
        return mask_tokens(ids, self.vocabulary, DEV_SEED, seed)

    def _sample(self, model: Bert, text: MaskedRows) -> str:
        """The text with each masked token in brackets, and the prediction if it is wrong."""
        predictions = iter(_predictions(model, text).tolist())
        shown = ""
        for token, label in zip(text.ids[0].tolist(), text.labels[0].tolist(), strict=True):
            if label < 0 and token in self.vocabulary.special:
                continue
            piece = self.tokenizer.piece(token if label < 0 else label)
            word = piece.removeprefix("##")
            shown += "" if piece.startswith("##") else " "
            shown += word if label < 0 else f"[{self._compared(label, word, next(predictions))}]"
        return shown.strip()

    def _compared(self, label: int, word: str, prediction: int) -> str:
        return word if prediction == label else f"{word} → {self.tokenizer.piece(prediction)}"


def masked_loss(
    model: Bert, ids: Ids, labels: Ids, token_loss: TokenLoss = fused_cross_entropy
) -> Losses:
    """Predict every masked token from the whole row; the head computes masked positions only.

    Shape:
        ids, labels: (rows, seq_len), a label is negative where nothing is masked
    """
    hidden, wanted = masked_positions(model, ids, labels)
    projection = model.get_submodule("heads.masked_lm.projection")
    loss, nll = token_loss(projection, hidden, wanted, 0.0)
    return Losses(loss, nll, max(1, len(wanted)))


def masked_positions(model: Bert, ids: Ids, labels: Ids) -> tuple[Tensor, Tensor]:
    """The input of the head's projection at each masked position, and the labels.

    Shape:
        ids, labels: (rows, seq_len) -> (masked, d_model), (masked,)
    """
    head: Any = model.heads["masked_lm"]
    device = head.linear.weight.device
    tokens, targets = (torch.from_numpy(side).to(device) for side in (ids, labels))
    pad_id = model.config.pad_id
    mask = None if pad_id is None else padding_mask(tokens, pad_id)
    masked = targets >= 0
    hidden = head.norm(head.activation(head.linear(model(tokens, mask)[masked])))
    return hidden, targets[masked]


def _predictions(model: Bert, batch: MaskedRows) -> NDArray[np.int64]:
    hidden, _ = masked_positions(model, batch.ids, batch.labels)
    projection: Any = model.get_submodule("heads.masked_lm.projection")
    logits: Tensor = projection.logits(hidden)
    predictions: NDArray[np.int64] = logits.argmax(dim=-1).cpu().numpy()
    return predictions
