"""Learning which label a text has."""

from collections.abc import Sequence

from clearhead.data.labelled import LabelledText, read_labelled_texts
from clearhead.data.labelled_batches import Example
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.training.task import Score, Words
from clearhead.training.tasks.tuning import Tuning
from clearhead.training.tuning_data import Examples, read_examples
from clearhead.training.tuning_recipe import ClassificationRecipe

ABOUT = """\
{kind}, fine-tuned with clearhead, tells {count} labels apart: {labels}.
Use it with `clearhead classify --model DIRECTORY`, or load it with `transformers` as
{architecture}."""
SCORES = {
    "accuracy": Score("accuracy", "accuracy", "Share of right answers", 4),
    "macro_f1": Score("macro_f1", "macro F1", "Macro F1: the mean over the labels", 4),
    "matthews": Score("matthews", "Matthews", "Matthews correlation", 4),
}


class Classification(Tuning):
    """A label for a text, or for a pair of texts."""

    answer = "sequence"
    item = LabelledText
    recipe: ClassificationRecipe

    @classmethod
    def read(cls, recipe: ClassificationRecipe) -> Examples[LabelledText]:
        """The rows of the recipe's files."""
        d = recipe.data
        return read_examples(
            d, recipe.run.seed, lambda path: read_labelled_texts(path, d.text, d.label, d.pair)
        )

    @classmethod
    def refuse(
        cls, recipe: ClassificationRecipe, labels: Sequence[str], tokenizer: PretrainedTokenizer
    ) -> None:
        """A second text where the model reads one."""
        if recipe.data.pair is not None and not isinstance(tokenizer, FastTokenizer):
            raise UserError(
                f"this model reads one text at a time, so data.pair={recipe.data.pair!r} does not "
                "do; give a BERT, or leave data.pair out"
            )

    @property
    def words(self) -> Words:
        """How it is spoken of."""
        about = self.about(ABOUT)
        score = SCORES.get(self.recipe.run.metric, SCORES["macro_f1"])
        return Words("Text classifier", about, "texts", "clearhead classify --model", score)

    def encode(self, items: Sequence[LabelledText]) -> list[Example]:
        """Ids, segments where there are pairs, and the label's number."""
        numbers = {label: number for number, label in enumerate(self.examples.labels)}
        targets = [[numbers[item.label]] for item in items]
        if self.recipe.data.pair is None:
            found = self.tokenizer.encode_batch([item.text for item in items])
            return [Example(ids, None, t) for ids, t in zip(found, targets, strict=True)]
        assert isinstance(self.tokenizer, FastTokenizer)  # `refuse`
        pairs = [self.tokenizer.encode_pair(item.text, item.pair or "") for item in items]
        return [Example(*pair, t) for pair, t in zip(pairs, targets, strict=True)]

    def sample(self, item: LabelledText, example: Example, said: list[str]) -> str:
        """Text, truth, answer."""
        text = item.content.replace("\t", " | ")
        shown = text if len(text) <= 100 else f"{text[:99]}…"
        return f"{shown}\n= {item.label}\n→ {said[0]}"
