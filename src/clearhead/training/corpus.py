"""Text becomes ids before training starts: the tokenizer is learned, the corpus encoded.

All of it is kept in the run directory: a resumption reads none of the original
files, so they and the run directory may move.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path

from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.encoded_writer import Encode
from clearhead.data.made_up import MadeUp
from clearhead.data.pairs import Pair
from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text import BpeDropout, Tokenizer
from clearhead.text.spacing import unify_french_spaces
from clearhead.training.translation_recipe import TranslationData, TranslationRecipe

log = logging.getLogger("clearhead.train")


class TrainingPairs:
    """A corpus as the recipe wants it read: any number of times, always the same."""

    def __init__(self, spec: str, data: TranslationData) -> None:
        self.spec, self.data = spec, data
        self.pairs = open_pairs(spec, data.source_lang, data.target_lang)

    def __iter__(self) -> Iterator[Pair]:
        unify = unify_french_spaces if self.data.french_spaces else str
        for pair in self.pairs:
            yield Pair(pair.source, unify(pair.target))


def prepare_tokenizer(recipe: TranslationRecipe, directory: Path) -> Tokenizer:
    """The run's tokenizer: what an earlier start saved, a named one, or a newly learned one."""
    if (directory / "tokenizer.json").exists():
        return Tokenizer.load(directory)
    if recipe.vocabulary.path or recipe.model.path:
        tokenizer = Tokenizer.load(recipe.vocabulary.path or recipe.model.path or "")
    else:
        log.info("learning a vocabulary of %d pieces …", recipe.vocabulary.size)
        pairs = islice(TrainingPairs(recipe.data.train, recipe.data), recipe.vocabulary.pairs)
        tokenizer = Tokenizer.train(_sides(pairs), recipe.vocabulary.size)
    tokenizer.save(directory)
    return tokenizer


def prepare_corpus(
    recipe: TranslationRecipe, tokenizer: Tokenizer, directory: Path, seq_len: int
) -> EncodedCorpus:
    """The training pairs as ids on disk, encoded once for a run and its resumptions."""
    if (directory / "meta.json").exists():
        return EncodedCorpus.open(directory)
    log.info("encoding %s …", recipe.data.train)
    pairs = TrainingPairs(recipe.data.train, recipe.data)
    longest = min(recipe.data.max_length, seq_len - 1)  # the end sign needs a place
    copies = chain.from_iterable(repeat(pairs, recipe.vocabulary.copies))
    varied = map(MadeUp(recipe.data.made_up, recipe.run.seed), copies)
    corpus = EncodedCorpus.build(varied, _encoder(recipe, tokenizer, pairs), directory, longest)
    if corpus.skipped:
        log.info("%d pairs with more than %d tokens on a side left out", corpus.skipped, longest)
    return corpus


def _encoder(recipe: TranslationRecipe, tokenizer: Tokenizer, pairs: Iterable[Pair]) -> Encode:
    vocabulary = recipe.vocabulary
    if not vocabulary.dropout:
        return tokenizer.encode_batch
    texts = _sides(islice(pairs, vocabulary.pairs))
    return BpeDropout(tokenizer, texts, vocabulary.dropout, recipe.run.seed).encode_batch


def prepare_dev(recipe: TranslationRecipe, path: Path) -> list[Pair]:
    """The sentences that the run is judged on, copied into the run directory.

    Raises:
        UserError: the dev corpus is empty.
    """
    if not path.exists():
        pairs = islice(TrainingPairs(recipe.data.dev, recipe.data), recipe.run.dev_sentences)
        lines = [json.dumps(pair._asdict(), ensure_ascii=False) + "\n" for pair in pairs]
        if not lines:
            raise UserError(f"data.dev = {recipe.data.dev!r} holds no pair; name a file with some")
        atomic_write(path, "".join(lines))
    # JSON strings hold no line end, but perhaps U+2028, at which splitlines would cut.
    lines = path.read_text(encoding="utf-8").strip("\n").split("\n")
    return [Pair(**json.loads(line)) for line in lines]


def _sides(pairs: Iterable[Pair]) -> Iterator[str]:
    for pair in pairs:
        yield pair.source
        yield pair.target
