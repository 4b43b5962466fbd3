"""Text becomes ids before training starts: the tokenizer is learned, the corpus encoded."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.text import Tokenizer
from clearhead.text.spacing import unify_french_spaces
from clearhead.training.recipe import Data, Recipe

# Enough text to learn pieces from; the rest of a huge corpus changes nothing.
TOKENIZER_PAIRS = 1_000_000


class TrainingPairs:
    """A corpus as the recipe wants it read: any number of times, always the same."""

    def __init__(self, spec: str, data: Data) -> None:
        self.spec, self.data = spec, data
        self.pairs = open_pairs(spec, data.source_lang, data.target_lang)

    def __iter__(self) -> Iterator[Pair]:
        unify = unify_french_spaces if self.data.french_spaces else str
        for pair in self.pairs:
            yield Pair(pair.source, unify(pair.target))


def prepare_tokenizer(recipe: Recipe, directory: Path) -> Tokenizer:
    """The run's tokenizer: what an earlier start saved, a named one, or a newly learned one."""
    if (directory / "tokenizer.json").exists():
        return Tokenizer.load(directory)
    if recipe.vocabulary.path or recipe.model.path:
        tokenizer = Tokenizer.load(recipe.vocabulary.path or recipe.model.path or "")
    else:
        pairs = TrainingPairs(recipe.data.train, recipe.data)
        tokenizer = Tokenizer.train(_sides(islice(pairs, TOKENIZER_PAIRS)), recipe.vocabulary.size)
    tokenizer.save(directory)
    return tokenizer


def prepare_corpus(recipe: Recipe, tokenizer: Tokenizer, directory: Path) -> EncodedCorpus:
    """The training pairs as ids on disk, encoded once for a run and its resumptions."""
    if (directory / "meta.json").exists():
        return EncodedCorpus.open(directory)
    pairs = TrainingPairs(recipe.data.train, recipe.data)
    longest = min(recipe.data.max_length, recipe.model.seq_len - 1)  # the end sign needs a place
    return EncodedCorpus.build(pairs, tokenizer.encode_batch, directory, longest)


def _sides(pairs: Iterable[Pair]) -> Iterator[str]:
    for pair in pairs:
        yield pair.source
        yield pair.target
