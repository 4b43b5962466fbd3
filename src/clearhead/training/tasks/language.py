"""What the causal and the masked language model share: tokenizer, text, model and validation.

The text becomes ids before training starts. All of it is kept in the run directory, so a
resumption reads none of the original files.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch

from clearhead.data.corpus import Share, Texts
from clearhead.data.masking import MaskedBatches
from clearhead.data.token_stream import BlockBatches
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError
from clearhead.files import record_checksums
from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.pretrained import from_pretrained, save_pretrained
from clearhead.pretrained.files import directory_of
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import save_older_layout
from clearhead.text.pretrained import load_tokenizer
from clearhead.training.device_settings import DeviceSettings
from clearhead.training.model_recipes import LanguageRecipe, LanguageRun
from clearhead.training.objective import Losses
from clearhead.training.run_directory import RunDirectory, read_items, text_of, write_items
from clearhead.training.task import TaskDescription, ValidationResult

log = logging.getLogger("clearhead.train")


class TokenizerFormat(NamedTuple):
    """How the tokenizer of a model family is trained and loaded, and the special tokens it has."""

    train: Callable[[Iterable[str], int], FastTokenizer]
    load: Callable[[Path], FastTokenizer]
    roles: tuple[str, ...]


class LanguageTask(ABC):
    """A language model trained on plain text; a subclass decides which tokens are predicted."""

    description: ClassVar[TaskDescription]
    model_class: ClassVar[type[Gpt] | type[Bert]]
    config_class: ClassVar[type[GptConfig] | type[BertConfig]]
    tokenizer_format: ClassVar[TokenizerFormat]
    predicts_tokens: ClassVar[bool] = True

    batches: BlockBatches | MaskedBatches

    def __init__(self, recipe: LanguageRecipe, run: RunDirectory, settings: DeviceSettings) -> None:
        self.token_loss = settings.engine.token_loss
        self.tokenizer = prepare_tokenizer(recipe, run, self.tokenizer_format)
        self.model = self.prepare_model(recipe, run)
        self._check_tokenizer(recipe)
        self.length = min(recipe.model.seq_len, self.model.config.seq_len)
        self.prepare_dev(prepare_dev(recipe, run))  # first: its errors are cheap to repair
        if not (run.data / "meta.json").exists():  # encoded once for a run and its resumptions
            log.info("encoding %s …", recipe.data.train)
            self.build_corpus(training_texts(recipe), run.data)
        self.batches = self.open_batches(run.data, recipe.run)

    def _check_tokenizer(self, recipe: LanguageRecipe) -> None:
        """Refuse a tokenizer, that of `model.path`, without the special tokens of the task."""
        own = self.tokenizer.special_ids
        if lost := [role for role in self.tokenizer_format.roles if role not in own]:
            raise UserError(
                f"the tokenizer in {recipe.model.path} has no {lost[0].upper()} token, which "
                f"task={recipe.task} needs; name one of its tokens as {lost[0]}_token in "
                "tokenizer_config.json there"
            )

    @classmethod
    def check(cls, recipe: LanguageRecipe) -> None:
        """Refuse missing texts and sizes that do not fit each other."""
        for spec in (recipe.data.train, recipe.data.dev or recipe.data.train):
            Texts(spec, recipe.data.unit)
        m = recipe.model
        if m.path:
            directory_of(m.path)
        else:
            config = cls.config_class(
                vocab_size=8, d_model=m.d_model, h=m.h, activation=m.activation
            )
            config.attention()  # refuses an h that does not divide d_model

    @abstractmethod
    def prepare_dev(self, texts: list[str]) -> None:
        """Encode the validation texts."""

    @abstractmethod
    def build_corpus(self, texts: Iterable[str], directory: Path) -> None:
        """Write the training text as ids."""

    @abstractmethod
    def open_batches(self, directory: Path, run: LanguageRun) -> BlockBatches | MaskedBatches:
        """The training batches of the ids that `build_corpus` wrote."""

    @abstractmethod
    def family_config(self, recipe: LanguageRecipe) -> dict[str, Any]:
        """The values of a new model's config that only this family has."""

    @abstractmethod
    def losses(self, model: Any, batch: Any) -> Losses:
        """Cross-entropy of the predicted tokens."""

    @abstractmethod
    def evaluate(self, model: Any, samples: int) -> ValidationResult:
        """Validate a model that is in evaluation mode."""

    def validate(self, model: Any, samples: int) -> ValidationResult:
        """Perplexity, the task's own metric, and what the model predicts for some texts."""
        with in_eval_mode(model), torch.inference_mode():
            return self.evaluate(model, samples)

    def save(self, model: Any, directory: Path) -> None:
        """Write a directory that `clearhead` and `transformers` load."""
        save_pretrained(model, directory, torch.float32)
        self.tokenizer.save(directory)
        save_older_layout(directory)

    def new_model(self) -> Any:
        """A model of the same shape, made of the block files only."""
        config: Any = self.model.config
        return type(self.model).from_config(config)

    @abstractmethod
    def summary(self) -> str:
        """The size of the corpus and of the vocabulary."""

    def prepare_model(self, recipe: LanguageRecipe, run: RunDirectory) -> Any:
        """A new model, or that of `model.path`; on a resumption its copy in `last`."""
        if not recipe.model.path:
            config: Any = self._new_config(recipe)
            return self.model_class.from_config(config)
        origin = run.last if run.resumable else directory_of(recipe.model.path)
        model = from_pretrained(origin)
        if not isinstance(model, self.model_class):
            raise UserError(
                f"{origin} holds a {type(model).__name__}, and task={recipe.task} trains a "
                f"{self.model_class.__name__}; give another model.path or another task"
            )
        if not run.resumable and (unused := _unused(recipe, model.config)):
            log.warning("%s keeps its settings; not used: %s", origin, ", ".join(unused))
        return model

    def _new_config(self, recipe: LanguageRecipe) -> GptConfig | BertConfig:
        m = recipe.model
        return self.config_class(
            vocab_size=self.tokenizer.vocab_size,
            seq_len=m.seq_len,
            d_model=m.d_model,
            layers=m.layers,
            h=m.h,
            d_ff=m.d_ff,
            dropout=m.dropout,
            attention_dropout=m.dropout,
            activation=m.activation,
            **self.family_config(recipe),
        )


def _unused(recipe: LanguageRecipe, own: Any) -> list[str]:
    """The keys that the recipe names and that differ from those of the model to start from."""
    named = recipe.model.model_fields_set - {"path", "seq_len"}  # seq_len: the length of a row
    wanted = {key: getattr(recipe.model, key) for key in sorted(named)}
    return [f"model.{key}={value}" for key, value in wanted.items() if getattr(own, key) != value]


def prepare_tokenizer(
    recipe: LanguageRecipe, run: RunDirectory, layout: TokenizerFormat
) -> FastTokenizer:
    """The tokenizer that an earlier start saved, that of `model.path`, or a newly trained one.

    Raises:
        UserError: there is no text, or too little for a vocabulary of this size.
    """
    if run.tokenizer.exists():
        return layout.load(run.root)
    if recipe.model.path:
        directory = directory_of(recipe.model.path)
        tokenizer = load_tokenizer(directory)
        if not isinstance(tokenizer, FastTokenizer):
            raise UserError(
                f"{directory} has the tokenizer of another kind of model; "
                "give a model of the family that the task trains"
            )
    else:
        if next(iter(training_texts(recipe)), None) is None:
            raise UserError(f"data.train = {recipe.data.train!r} holds no text; name another file")
        log.info("training a tokenizer with %d tokens …", recipe.vocabulary.size)
        texts = FirstTexts(training_texts(recipe), recipe.vocabulary.texts)
        tokenizer = layout.train(texts, recipe.vocabulary.size)
    tokenizer.save(run.root)
    record_checksums(run.root, ["tokenizer.json"])
    return tokenizer


class FirstTexts:
    """The first `count` texts, which can be iterated over several times."""

    def __init__(self, texts: Iterable[str], count: int) -> None:
        self.texts, self.count = texts, count

    def __iter__(self) -> Iterator[str]:
        return islice(self.texts, self.count)


def training_texts(recipe: LanguageRecipe) -> Iterable[str]:
    """All of data.train, or what is not held out of it for validation."""
    texts = Texts(recipe.data.train, recipe.data.unit)
    return texts if recipe.data.dev else Share(texts, recipe.data.dev_share, judged=False)


def prepare_dev(recipe: LanguageRecipe, run: RunDirectory) -> list[str]:
    """The validation texts, copied into the run directory.

    Raises:
        UserError: there are none.
    """
    data = recipe.data
    if not run.dev.exists():
        texts: Iterable[str] = Texts(data.dev or data.train, data.unit)
        if not data.dev:
            texts = Share(texts, data.dev_share, judged=True)
        if not write_items(run.dev, islice(texts, recipe.run.dev_texts)):
            if data.dev:
                raise UserError(f"data.dev = {data.dev!r} holds no text; name another file")
            lines = "" if data.unit == "line" else ", or try --set data.unit=line"
            raise UserError(
                f"{data.train} is one {data.unit}, so none can be held out; "
                f"name another file as --set data.dev=…{lines}"
            )
    return read_items(run.dev, text_of)
