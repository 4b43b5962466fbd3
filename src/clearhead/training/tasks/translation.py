"""The task of translation: its tokenizer, encoded corpus and batches, its model and validation.

The text becomes ids before training starts. All of it is kept in the run directory: a
resumption reads none of the original files, so they and the run directory may be moved.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.data.batching import Batch, BatchPlan, TokenBatches
from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import Encode, EncodedCorpus
from clearhead.data.input_forms import InputForms
from clearhead.data.labelled_batches import padded
from clearhead.data.pairs import Pair
from clearhead.data.synthetic_names import SyntheticNames
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError, counted
from clearhead.files import atomic_write, record_checksums
from clearhead.models.config import TransformerConfig
from clearhead.models.transformer import Transformer
from clearhead.text import BpeDropout, Tokenizer
from clearhead.text.inputs import is_french, unify_french_spaces
from clearhead.text.model_files import LANGUAGES
from clearhead.text.sentencepiece_pair import pieces_of
from clearhead.training import model_recipes as recipes
from clearhead.training.device_settings import DeviceSettings
from clearhead.training.model_recipes import TranslationRecipe
from clearhead.training.objective import Losses, make_objective, translation_loss
from clearhead.training.run_directory import RunDirectory, read_items, text_of, write_items
from clearhead.training.task import Metric, TaskDescription, ValidationResult

log = logging.getLogger("clearhead.train")


class TrainingPairs:
    """The pairs of a corpus, which can be iterated over several times."""

    def __init__(self, spec: str, data: recipes.TranslationData) -> None:
        self.data = data
        self.pairs = open_pairs(spec, data.source_lang, data.target_lang)

    def __iter__(self) -> Iterator[Pair]:
        data = self.data
        french = data.french_spaces and is_french(data.target_lang)
        unify = unify_french_spaces if french else str
        for pair in self.pairs:
            yield Pair(pair.source, unify(pair.target))


def prepare_tokenizer(recipe: TranslationRecipe, directory: Path) -> Tokenizer:
    """The tokenizer that an earlier start saved, the one that is named, or a newly trained one."""
    if (directory / "tokenizer.json").exists():
        return Tokenizer.load(directory)
    tokenizer = named_tokenizer(recipe)
    if tokenizer is None:
        log.info("training a tokenizer with %d tokens …", recipe.vocabulary.size)
        pairs = islice(TrainingPairs(recipe.data.train, recipe.data), recipe.vocabulary.pairs)
        tokenizer = Tokenizer.train(_sides(pairs), recipe.vocabulary.size)
    tokenizer.save(directory)
    record_checksums(directory, ["tokenizer.json"])
    return tokenizer


def named_tokenizer(recipe: TranslationRecipe) -> Tokenizer | None:
    """The tokenizer of `vocabulary.path` or else of `model.path`; None if both are empty.

    Raises:
        UserError: it cannot be loaded, or the model was trained with another one.
    """
    other, base = recipe.vocabulary.path, recipe.base_directory
    if not other:
        return Tokenizer.load(base) if base else None
    tokenizer = Tokenizer.load(other)
    own = Tokenizer.load(base) if base and (base / "tokenizer.json").exists() else tokenizer
    if pieces_of(own) != pieces_of(tokenizer):
        raise UserError(
            f"the model in {base} was trained with another tokenizer than that in {other}; "
            "leave vocabulary.path out to use the model's own"
        )
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
        left_out = counted(corpus.skipped, "pair")
        log.info("%s with more than %d tokens on a side left out", left_out, longest)
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


ABOUT = """\
A Transformer trained with clearhead; use it with `clearhead translate --model DIRECTORY`
or `clearhead.Translator.from_pretrained(DIRECTORY)`."""
BLEU = Metric("bleu", "BLEU", "BLEU of greedy translations")
DEV_ROWS = 64


class Translation:
    """Each target token is predicted from the source sentence and the target tokens before it."""

    def __init__(
        self, recipe: TranslationRecipe, run: RunDirectory, settings: DeviceSettings
    ) -> None:
        self.predicts_tokens = not recipe.optimizer.r_drop  # which needs all logits
        self.tokenizer = prepare_tokenizer(recipe, run.root)
        self.model = self._prepare_model(recipe, run)
        config = self.model.config
        longest = min(config.src_seq_len, config.tgt_seq_len)
        corpus = prepare_corpus(recipe, self.tokenizer, run.data, longest)
        self.dev = DevSet(prepare_dev(recipe, run.dev), self.tokenizer)
        self.batches = TokenBatches(corpus, make_plan(recipe, self.tokenizer))
        o = recipe.optimizer
        self.objective = make_objective(
            o.label_smoothing, o.r_drop, settings.length_multiple, settings.engine.token_loss
        )
        self.languages = {"source": recipe.data.source_lang, "target": recipe.data.target_lang}
        title = f"{recipe.data.source_lang} → {recipe.data.target_lang} translator"
        self.description = TaskDescription(
            title, ABOUT, "target tokens", "sentences, greedy", "clearhead translate --model", BLEU
        )

    @classmethod
    def check(cls, recipe: TranslationRecipe) -> None:
        """Refuse missing corpora and sizes that do not fit each other."""
        for key, option in (("train", "--data FILE"), ("dev", "--set data.dev=FILE")):
            try:
                # The first pair, so that an empty file is found before a tokenizer is trained.
                next(iter(TrainingPairs(getattr(recipe.data, key), recipe.data)), None)
            except UserError as error:
                raise UserError(f"data.{key}: {error} (give your pairs with {option})") from error
        recipes.refuse_other_forms(recipe.data)
        tokenizer = named_tokenizer(recipe)
        size = tokenizer.vocab_size if tokenizer else recipe.vocabulary.size
        config = recipes.make_config(recipe, size)
        if tokenizer and recipe.vocabulary.dropout:
            BpeDropout(tokenizer, (), recipe.vocabulary.dropout)
        if recipe.model.path and (unused := ", ".join(recipes.unused_sizes(recipe, config))):
            log.warning("the model in %s keeps its sizes; not used: %s", recipe.model.path, unused)

    def losses(self, model: Transformer, batch: Batch) -> Losses:
        """Label-smoothed cross-entropy of the reference translation."""
        return self.objective(model, batch)

    def validate(self, model: Transformer, samples: int) -> ValidationResult:
        """Perplexity of the references, BLEU of greedy translations."""
        return self.dev.validate(model, samples)

    def save(self, model: Transformer, directory: Path) -> None:
        """Write a directory that `clearhead.Translator` loads."""
        model.save_pretrained(directory, torch.float32)
        self.tokenizer.save(directory)
        atomic_write(directory / LANGUAGES, json.dumps(self.languages, ensure_ascii=False) + "\n")

    def new_model(self) -> Transformer:
        """A model of the same shape, made of the block files only."""
        return Transformer.from_config(self.model.config)

    def summary(self) -> str:
        """The size of the corpus and of the vocabulary."""
        pairs, tokens = len(self.batches.corpus), self.tokenizer.vocab_size
        return f"{counted(pairs, 'pair')}, vocabulary {tokens:,}"

    def _prepare_model(self, recipe: TranslationRecipe, run: RunDirectory) -> Transformer:
        if run.resumable and recipe.model.path:  # which may have been moved since
            config = TransformerConfig.load(run.last / "config.json")
            return Transformer.from_config(replace(config, **recipes.given_rates(recipe)))
        return make_model(recipe, self.tokenizer.vocab_size)


def make_model(recipe: TranslationRecipe, vocab_size: int) -> Transformer:
    """The recipe's model: randomly initialized, or with the weights of `model.path`.

    Raises:
        UserError: sizes do not fit each other, or the vocabulary is not the model's.
    """
    model = Transformer.from_config(recipes.make_config(recipe, vocab_size))
    if base := recipe.base_directory:
        model.load_state_dict(Transformer.from_pretrained(base).state_dict())
    return model


class DevSet:
    """The validation pairs as ids. Sentences longer than the model's input are cut."""

    def __init__(self, pairs: list[Pair], tokenizer: Tokenizer) -> None:
        self.pairs, self.tokenizer = pairs, tokenizer
        self.sources = tokenizer.encode_batch([pair.source for pair in pairs])
        self.targets = tokenizer.encode_batch([pair.target for pair in pairs])

    def validate(self, model: Transformer, samples: int) -> ValidationResult:
        """Loss and greedy BLEU; the model's mode and the random states stay as they were."""
        with in_eval_mode(model), torch.inference_mode():
            loss = self._loss(model)
            translations = self._translate(model)
        scores = {"bleu": _bleu(translations, [pair.target for pair in self.pairs])}
        shown = [
            f"{pair.source}\n= {pair.target}\n→ {translation}"
            for pair, translation in list(zip(self.pairs, translations, strict=True))[:samples]
        ]
        return ValidationResult(loss, len(self.pairs), scores, shown)

    def _loss(self, model: Transformer) -> float:
        order = sorted(range(len(self.pairs)), key=lambda i: len(self.sources[i]))
        total, tokens, c = 0.0, 0, model.config
        for start in range(0, len(order), DEV_ROWS):
            rows = order[start : start + DEV_ROWS]
            source = _padded([self.sources[i] for i in rows], c.src_seq_len, c)
            target = _padded([self.targets[i] for i in rows], c.tgt_seq_len, c)
            losses = translation_loss(model, source, target, 0.0)
            total, tokens = total + float(losses.nll), tokens + losses.tokens
        return total / max(1, tokens)

    def _translate(self, model: Transformer) -> list[str]:
        limit, eos = model.config.src_seq_len - 1, model.config.eos_id
        sources = [[*ids[:limit], eos] for ids in self.sources]
        results = decode(model, sources, DecodingOptions(beam_size=1))
        return [self.tokenizer.decode(best[0].ids) for best in results]


def _padded(rows: list[list[int]], most: int, config: TransformerConfig) -> NDArray[np.int64]:
    """(rows, longest + 1), at most `most` tokens; each row with EOS and padding after its ids."""
    return padded([[*ids[: most - 1], config.eos_id] for ids in rows], config.pad_id)


def _bleu(translations: list[str], references: list[str]) -> float:
    import sacrebleu  # here, because training that is validated by its loss does not need it

    return float(sacrebleu.corpus_bleu(translations, [references]).score)
