"""Learning which label each word of a sentence has, or each residue of a protein."""

from collections.abc import Sequence
from typing import Any

from clearhead.data.labelled import LabelledWords
from clearhead.data.labelled_batches import NOTHING, Example
from clearhead.data.labelled_words import Columns, read_labelled_words
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.text.esm_alphabet import EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.word_labels import gather, spread
from clearhead.training.confusion import Confusion
from clearhead.training.span_score import are_span_labels, span_f1
from clearhead.training.task import Score, Words
from clearhead.training.tasks import classification
from clearhead.training.tasks.tuning import Tuning
from clearhead.training.tuning_data import Examples, read_examples
from clearhead.training.tuning_recipe import TaggingRecipe

SCORES = classification.SCORES | {
    "span_f1": Score("span_f1", "span F1", "F1 of whole spans", 4),
}


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
        """The sentences of the recipe's files."""
        d = recipe.data
        columns = Columns(d.words, d.tags, d.mask)
        return read_examples(d, recipe.run.seed, lambda path: read_labelled_words(path, columns))

    @property
    def words(self) -> Words:
        """How it is spoken of."""
        about = self.about(classification.ABOUT)
        score = SCORES.get(self.recipe.run.metric, SCORES["accuracy"])
        return Words("Tagger", about, "sentences", "clearhead classify --model", score)

    def encode(self, items: Sequence[LabelledWords]) -> list[Example]:
        """Ids, and the number of a label at every first piece."""
        numbers = {label: number for number, label in enumerate(self.examples.labels)}
        found = []
        for item in items:
            ids, owners = self._pieces(item)
            tags = [NOTHING if tag is None else numbers[tag] for tag in item.tags]
            found.append(Example(ids, None, spread(tags, owners, NOTHING)))
        return found

    def scores(self, found: Confusion, said: list[Any]) -> dict[str, float]:
        """As of all classifiers; and of whole spans, where labels tell spans."""
        scores = super().scores(found, said)
        labels = self.examples.labels
        if are_span_labels(labels):
            words = [
                self._of_words(item, [labels[i] for i in row.tolist()])
                for item, row in zip(self.examples.dev, said, strict=True)
            ]
            scores["span_f1"] = span_f1([item.tags for item in self.examples.dev], words)
        return scores

    def sample(self, item: LabelledWords, example: Example, said: list[str]) -> str:
        """The first words, each with its truth and, where it differs, the answer."""
        shown = []
        for word, tag, found in zip(item.words, item.tags, self._of_words(item, said), strict=True):
            if tag is not None:
                wrong = "" if found == tag else f"→{found or '?'}"
                shown.append(f"{word}/{tag}{wrong}")
        return " ".join(shown[:30]) + (" …" if len(shown) > 30 else "")

    def _of_words(self, item: LabelledWords, said: list[str]) -> list[str | None]:
        """An answer for every word that counts; of those that were cut off, none."""
        # The last place is a sign's, also in a text that was cut.
        found = gather(said[:-1], self._pieces(item)[1], len(item.words))
        return [None if tag is None else f for tag, f in zip(item.tags, found, strict=True)]

    def _pieces(self, item: LabelledWords) -> tuple[list[int], list[int | None]]:
        assert isinstance(self.tokenizer, FastTokenizer | EsmAlphabet)  # those with such a head
        return self.tokenizer.encode_words(item.words)
