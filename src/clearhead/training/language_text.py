"""Plain text becomes ids before training starts; all of it is kept in the run directory."""

import json
import logging
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from clearhead.data.packed import EncodeTexts, PackedCorpus
from clearhead.data.texts import Share, Texts
from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.pretrained.hub import directory_of
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.pretrained import load_tokenizer
from clearhead.training.language_recipe import LanguageRecipe
from clearhead.training.run_directory import RunDirectory

log = logging.getLogger("clearhead.train")


class Layout(NamedTuple):
    """How a family's tokenizer is learned and read again."""

    learn: Callable[[Iterable[str], int], FastTokenizer]
    load: Callable[[Path], FastTokenizer]


class FirstTexts:
    """The first so many texts, any number of times."""

    def __init__(self, texts: Iterable[str], count: int) -> None:
        self.texts, self.count = texts, count

    def __iter__(self) -> "islice[str]":
        return islice(self.texts, self.count)


def training_texts(recipe: LanguageRecipe) -> Iterable[str]:
    """What is learned from: all of train, or what is not held out of it."""
    texts = Texts(recipe.data.train, recipe.data.unit)
    return texts if recipe.data.dev else Share(texts, _every(recipe), judged=False)


def _judged_texts(recipe: LanguageRecipe) -> Iterable[str]:
    if recipe.data.dev:
        return Texts(recipe.data.dev, recipe.data.unit)
    return Share(Texts(recipe.data.train, recipe.data.unit), _every(recipe), judged=True)


def _every(recipe: LanguageRecipe) -> int:
    return max(2, round(1 / recipe.data.held_out))


def prepare_tokenizer(recipe: LanguageRecipe, run: RunDirectory, layout: Layout) -> FastTokenizer:
    """What an earlier start saved, the one of `model.path`, or a newly learned one.

    Raises:
        UserError: there is no text, or too little for so many pieces.
    """
    if run.tokenizer.exists():
        return layout.load(run.root)
    if recipe.model.path:
        directory = directory_of(recipe.model.path)
        tokenizer = load_tokenizer(directory)
        if not isinstance(tokenizer, FastTokenizer):
            given = f"{directory} has the tokenizer of another kind of model"
            raise UserError(f"{given}; give a model of the family that the task trains")
    else:
        texts = FirstTexts(training_texts(recipe), recipe.vocabulary.texts)
        if next(iter(texts), None) is None:
            raise UserError(
                f"data.train = {recipe.data.train!r} holds no text; name a file with some"
            )
        log.info("learning a vocabulary of %d pieces …", recipe.vocabulary.size)
        tokenizer = layout.learn(texts, recipe.vocabulary.size)
    tokenizer.save(run.root)
    return tokenizer


def prepare_ribbon(
    recipe: LanguageRecipe,
    run: RunDirectory,
    encode: EncodeTexts,
    sign: int,
    vocab_size: int,
    block: int,
) -> PackedCorpus:
    """The training text as ids on disk, encoded once for a run and its resumptions.

    Raises:
        UserError: it fills no block of that length.
    """
    if (run.data / "meta.json").exists():
        return PackedCorpus.open(run.data)
    log.info("encoding %s …", recipe.data.train)
    texts = training_texts(recipe)
    return PackedCorpus.build(texts, encode, sign, vocab_size, run.data, block)


def prepare_dev(recipe: LanguageRecipe, run: RunDirectory) -> list[str]:
    """The texts that the run is judged on, copied into the run directory.

    Raises:
        UserError: there are none.
    """
    if not run.dev.exists():
        texts = islice(_judged_texts(recipe), recipe.run.dev_texts)
        lines = [json.dumps(text, ensure_ascii=False) + "\n" for text in texts]
        if not lines:
            raise UserError(
                f"data.dev = {recipe.data.dev!r} holds no text; name a file with some"
                if recipe.data.dev
                else f"{recipe.data.train} is one {recipe.data.unit}, so none can be held out; "
                "name another file as --set data.dev=…, or try --set data.unit=line"
            )
        atomic_write(run.dev, "".join(lines))
    return [json.loads(line) for line in run.dev.read_text("utf-8").strip("\n").split("\n")]
