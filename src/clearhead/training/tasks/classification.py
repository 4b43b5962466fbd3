"""Learning which label a text has."""

from collections.abc import Sequence
from functools import partial

from clearhead.data.labelled import LabelledText, read_labelled_texts
from clearhead.data.labelled_batches import Example
from clearhead.data.labelled_grammar import PREFIX, labelled_sentences
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.training.task import Score, Words
from clearhead.training.tasks.tuning import Tuning
from clearhead.training.tuning_data import Examples, read_examples
from clearhead.training.tuning_encoding import encode_texts
from clearhead.training.tuning_recipe import ClassificationRecipe, TextData

ABOUT = """\
{kind}, fine-tuned with clearhead, tells {count} labels apart: {labels}.
Use it with `clearhead classify --model DIRECTORY`, or load it with `transformers` as
{architecture}."""
SCORES = {
    "accuracy": Score("accuracy", "accuracy", "Share of right answers", 4),
    "macro_f1": Score("macro_f1", "macro F1", "Macro F1: the mean over the labels", 4),
    "matthews": Score("matthews", "Matthews", "Matthews correlation", 4),
}


def read_texts(data: TextData, spec: str) -> list[LabelledText]:
    """A file with these columns, or `grammar:SPLIT:COUNT`."""
    if spec.startswith(PREFIX):
        return labelled_sentences(spec)
    return read_labelled_texts(spec, data.text, data.label, data.pair)


class Classification(Tuning):
    """A label for a text, or for a pair of texts."""

    answer = "sequence"
    item = LabelledText
    recipe: ClassificationRecipe

    @classmethod
    def read(cls, recipe: ClassificationRecipe) -> Examples[LabelledText]:
        """The rows of the recipe's files, or the grammar's sentences."""
        return read_examples(recipe.data, recipe.run.seed, partial(read_texts, recipe.data))

    @classmethod
    def refuse(
        cls, recipe: ClassificationRecipe, labels: Sequence[str], tokenizer: PretrainedTokenizer
    ) -> None:
        """A second text where the model reads one."""
        if recipe.data.pair is not None and not isinstance(tokenizer, FastTokenizer):
            raise UserError(
                f"this model reads one text at a time, so data.pair={recipe.data.pair!r} does not "
                "do; give a BERT, or leave it out"
            )

    @property
    def words(self) -> Words:
        """How it is spoken of."""
        about = self.about(ABOUT)
        score = SCORES.get(self.recipe.run.metric, SCORES["macro_f1"])
        return Words(
            "Text classifier", about, "labels", "texts", "clearhead classify --model", score
        )

    def encode(self, items: Sequence[LabelledText]) -> list[Example]:
        """Ids, segments where there are pairs, and the label's number."""
        return encode_texts(items, self.examples.labels, self.tokenizer)

    def sample(self, item: LabelledText, example: Example, said: list[str]) -> str:
        """Text, truth, answer."""
        text = item.content.replace("\t", " | ")
        shown = text if len(text) <= 100 else f"{text[:99]}…"
        return f"{shown}\n= {item.label}\n→ {said[0]}"
