"""The data of a translation run: tokenizer, encoded corpus, batches and validation pairs.

The text becomes ids before training starts. All of it is kept in the run directory: a
resumption reads none of the original files, so they and the run directory may be moved.
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path

from clearhead.data.batching import BatchPlan
from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import Encode, EncodedCorpus
from clearhead.data.input_forms import InputForms
from clearhead.data.pairs import Pair
from clearhead.data.synthetic_names import SyntheticNames
from clearhead.errors import UserError
from clearhead.files import record_checksums
from clearhead.text import BpeDropout, Tokenizer
from clearhead.text.inputs import unify_french_spaces
from clearhead.training.run_directory import read_items, text_of, write_items
from clearhead.training.translation_recipe import TranslationData, TranslationRecipe

log = logging.getLogger("clearhead.train")


class TrainingPairs:
    """The pairs of a corpus, which can be iterated over several times."""

    def __init__(self, spec: str, data: TranslationData) -> None:
        self.spec, self.data = spec, data
        self.pairs = open_pairs(spec, data.source_lang, data.target_lang)

    def __iter__(self) -> Iterator[Pair]:
        unify = unify_french_spaces if self.data.french_spaces else str
        for pair in self.pairs:
            yield Pair(pair.source, unify(pair.target))


def prepare_tokenizer(recipe: TranslationRecipe, directory: Path) -> Tokenizer:
    """The tokenizer that an earlier start saved, the one that is named, or a newly trained one."""
    if (directory / "tokenizer.json").exists():
        return Tokenizer.load(directory)
    if recipe.vocabulary.path or recipe.model.path:
        tokenizer = Tokenizer.load(recipe.vocabulary.path or recipe.model.path or "")
    else:
        log.info("training a tokenizer with %d tokens …", recipe.vocabulary.size)
        pairs = islice(TrainingPairs(recipe.data.train, recipe.data), recipe.vocabulary.pairs)
        tokenizer = Tokenizer.train(_sides(pairs), recipe.vocabulary.size)
    tokenizer.save(directory)
    record_checksums(directory, ["tokenizer.json"])
    return tokenizer


def prepare_corpus(
    recipe: TranslationRecipe, tokenizer: Tokenizer, directory: Path, seq_len: int
) -> EncodedCorpus:
    """The training pairs as ids on disk, encoded once for a run and its resumptions."""
    if (directory / "meta.json").exists():
        return EncodedCorpus.open(directory)
    log.info("encoding %s …", recipe.data.train)
    pairs = TrainingPairs(recipe.data.train, recipe.data)
    longest = min(recipe.data.max_length, seq_len - 1)  # one position is for the EOS token
    copies = chain.from_iterable(repeat(pairs, recipe.vocabulary.copies))
    renamed = map(SyntheticNames(recipe.data.synthetic_names, recipe.run.seed), copies)
    varied = map(InputForms(recipe.data.input_forms, recipe.run.seed), renamed)
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
    """The validation pairs, copied into the run directory.

    Raises:
        UserError: the dev corpus is empty.
    """
    if not path.exists():
        pairs = islice(TrainingPairs(recipe.data.dev, recipe.data), recipe.run.dev_sentences)
        if not write_items(path, (pair._asdict() for pair in pairs)):
            raise UserError(f"data.dev = {recipe.data.dev!r} holds no pair; name another file")
    return read_items(path, lambda values: Pair(*map(text_of, Pair(**values))))


def _sides(pairs: Iterable[Pair]) -> Iterator[str]:
    for pair in pairs:
        yield pair.source
        yield pair.target


def make_plan(recipe: TranslationRecipe, tokenizer: Tokenizer) -> BatchPlan:
    """How the corpus is divided into batches."""
    return BatchPlan(
        max_tokens=recipe.run.batch_tokens,
        window=recipe.run.window,
        seed=recipe.run.seed,
        pad_id=tokenizer.pad_id,
        eos_id=tokenizer.eos_id,
    )
