"""Fine-tuning for text classification: a label for a text, or for a pair of texts."""

from collections.abc import Sequence
from functools import partial

from clearhead.data.labelled import LabelledText
from clearhead.data.labelled_batches import Example
from clearhead.data.labelled_readers import PREFIX, labelled_sentences, read_labelled_texts
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.training.finetuning_recipe import ClassificationRecipe, TextData
from clearhead.training.tasks.finetuning import FineTuning
from clearhead.training.tasks.labelled_examples import Examples, read_examples

SHOWN = 100  # characters of a text in the log


class Classification(FineTuning):
    """Predicts the label of each text from the first token."""

    head, item, title, dev_unit = "sequence", LabelledText, "Text classifier", "texts"
    default_metric = "macro_f1"

    @classmethod
    def read(cls, recipe: ClassificationRecipe) -> Examples[LabelledText]:
        """The rows of the recipe's files, or the grammar's sentences."""
        return read_examples(recipe.data, recipe.run.seed, partial(read_texts, recipe.data))

    @classmethod
    def refuse(
        cls, recipe: ClassificationRecipe, labels: Sequence[str], tokenizer: PretrainedTokenizer
    ) -> None:
        """Refuse pairs of texts if the model's input is one text."""
        if recipe.data.pair is not None and not isinstance(tokenizer, FastTokenizer):
            raise UserError(
                f"this model's input is one text, so data.pair={recipe.data.pair!r} cannot be "
                "used; give a BERT, or leave it out"
            )

    def encode(self, items: Sequence[LabelledText]) -> list[Example]:
        """Ids, segments if there are pairs, and the label's index."""
        return encode_texts(items, self.examples.labels, self.tokenizer)

    def sample(self, item: LabelledText, example: Example, predicted: list[str]) -> str:
        """The text, its label and the prediction."""
        text = item.content.replace("\t", " | ")
        shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
        return f"{shown}\n= {item.label}\n→ {predicted[0]}"


def read_texts(data: TextData, spec: str) -> list[LabelledText]:
    """The rows of a file with these columns, or `grammar:SPLIT:COUNT`."""
    if spec.startswith(PREFIX):
        return labelled_sentences(spec)
    return read_labelled_texts(spec, data.text, data.label, data.pair)


def encode_texts(
    items: Sequence[LabelledText], labels: Sequence[str], tokenizer: PretrainedTokenizer
) -> list[Example]:
    """Ids, segments if there are pairs, and the label's index.

    Raises:
        UserError: there are pairs, and the model's input is one text.
    """
    index = {label: number for number, label in enumerate(labels)}
    targets = [[index[item.label]] for item in items]
    if all(item.pair is None for item in items):
        found = tokenizer.encode_batch([item.text for item in items])
        return [Example(ids, None, target) for ids, target in zip(found, targets, strict=True)]
    if not isinstance(tokenizer, FastTokenizer):
        raise UserError(
            "this model's input is one text, so a second one (data.pair) cannot be used; "
            "give a BERT, or leave data.pair out"
        )
    pairs = [tokenizer.encode_pair(item.text, item.pair or "") for item in items]
    return [Example(*pair, target) for pair, target in zip(pairs, targets, strict=True)]
