"""Learning which label each word of a sentence has, or each residue of a protein."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from clearhead.data.labelled import LabelledWords
from clearhead.data.labelled_batches import Example
from clearhead.data.labelled_grammar import PREFIX, labelled_roles
from clearhead.data.labelled_words import Columns, read_labelled_words
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.training.confusion import Confusion
from clearhead.training.span_score import are_span_labels
from clearhead.training.task import Score, Words
from clearhead.training.tasks import classification
from clearhead.training.tasks.tuning import Tuning
from clearhead.training.tuning_data import Examples, read_examples
from clearhead.training.tuning_encoding import encode_words, said_of_words, score_spans
from clearhead.training.tuning_recipe import TaggingRecipe, WordData

SCORES = classification.SCORES | {
    "span_f1": Score("span_f1", "span F1", "F1 of whole spans", 4),
}


def read_words(data: WordData, spec: str) -> list[LabelledWords]:
    """A file with these columns, or `grammar:SPLIT:COUNT`."""
    if spec.startswith(PREFIX):
        return labelled_roles(spec)
    return read_labelled_words(spec, Columns(data.words, data.tags, data.mask))


class Tagging(Tuning):
    """A label for every word, on the word's first piece."""

    answer = "token"
    item = LabelledWords
    recipe: TaggingRecipe

    @classmethod
    def refuse(
        cls, recipe: TaggingRecipe, labels: Sequence[str], tokenizer: PretrainedTokenizer
    ) -> None:
        """Spans where labels tell none."""
        if recipe.run.metric == "span_f1" and not are_span_labels(labels):
            raise UserError(
                "run.metric=span_f1 needs labels that tell spans (O, B-NAME, I-NAME), and these "
                f"are {', '.join(labels[:8])}; give run.metric=accuracy"
            )

    @classmethod
    def read(cls, recipe: TaggingRecipe) -> Examples[LabelledWords]:
        """The sentences of the recipe's files, or the grammar's."""
        return read_examples(recipe.data, recipe.run.seed, partial(read_words, recipe.data))

    @property
    def words(self) -> Words:
        """How it is spoken of."""
        about = self.about(classification.ABOUT)
        score = SCORES.get(self.recipe.run.metric, SCORES["accuracy"])
        return Words("Tagger", about, "labels", "sentences", "clearhead classify --model", score)

    def encode(self, items: Sequence[LabelledWords]) -> list[Example]:
        """Ids, and the number of a label at every first piece."""
        return encode_words(items, self.examples.labels, self.tokenizer)

    def scores(self, found: Confusion, said: list[Any]) -> dict[str, float]:
        """As of all classifiers; and of whole spans, where labels tell spans."""
        scores = super().scores(found, said)
        spans = score_spans(self.examples.dev, said, self.examples.labels, self.tokenizer)
        return scores if spans is None else scores | {"span_f1": spans}

    def sample(self, item: LabelledWords, example: Example, said: list[str]) -> str:
        """The first words, each with its truth and, where it differs, the answer."""
        shown = []
        answers = said_of_words(item, said, self.tokenizer)
        for word, tag, found in zip(item.words, item.tags, answers, strict=True):
            if tag is not None:
                wrong = "" if found == tag else f"→{found or '?'}"
                shown.append(f"{word}/{tag}{wrong}")
        return " ".join(shown[:30]) + (" …" if len(shown) > 30 else "")
