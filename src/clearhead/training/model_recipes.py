"""The settings of training a model from the start: a translator, or a language model.

A language model is causal (GPT) or masked (BERT).
"""

import dataclasses
from typing import Any, Literal

from pydantic import Field

from clearhead.data.corpus import Unit
from clearhead.errors import UserError
from clearhead.models.config import TransformerConfig
from clearhead.text.inputs import is_french
from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section, Shape

SIZES = ("d_model", "encoder_layers", "decoder_layers", "h", "d_ff")  # null: those of the preset
FORMS = ("norm", "tie_embeddings", "seq_len")


class TranslationData(Data):
    """Where the sentence pairs come from (`clearhead.data.open_pairs` reads them)."""

    train: str = Field("grammar:train:20000", description="training corpus")
    dev: str = Field("grammar:dev:500", description="validation corpus")
    source_lang: str = Field("en", description="name of the source in TMX, JSONL or a data set")
    target_lang: str = Field("fr", description="name of the target there")
    french_spaces: bool = Field(
        True, description="in French targets, use one kind of space before ? ! : ; and in « »"
    )
    synthetic_names: float = Field(
        0.0,
        ge=0,
        le=1,
        description="fraction of the pairs that get synthetic names, to train the copying of names",
    )
    input_forms: float = Field(
        0.0, ge=0, le=1, description="fraction of the pairs in other forms: lower case, lists, …"
    )
    max_length: int = Field(
        100, gt=0, description="longest sentence, in tokens; longer ones are left out"
    )


class Vocabulary(Section):
    """The tokenizer: trained on the corpus, or loaded from `path`."""

    size: int = Field(8000, ge=300, le=2**24, description="number of tokens")
    pairs: int = Field(1_000_000, gt=0, description="number of pairs on which it is trained")
    dropout: float = Field(0.0, ge=0, lt=1, description="BPE dropout: rate of merges left out")
    copies: int = Field(
        1, gt=0, le=1000, description="encodings of the corpus, each with its own BPE dropout"
    )
    path: str | None = Field(None, description="directory of a tokenizer to use instead")


class TranslationModel(Section):
    """A preset, and the values that differ from it; null: as in the preset."""

    size: str = Field("small", description="preset: tiny, small, base or big")
    d_model: int | None = Field(None, description="width of the hidden vectors")
    encoder_layers: int | None = Field(None, description="number of encoder blocks")
    decoder_layers: int | None = Field(None, description="number of decoder blocks")
    h: int | None = Field(None, description="number of attention heads")
    d_ff: int | None = Field(None, description="width of the feed-forward networks")
    dropout: float | None = Field(None, ge=0, lt=1, description="dropout rate")
    attention_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout rate of attention weights; null: as dropout"
    )
    activation_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout rate inside feed-forward networks; null: as dropout"
    )
    norm: Literal["pre", "post"] = Field("pre", description="norm before or after each sublayer")
    tie_embeddings: bool = Field(
        True, description="source, target and projection share one embedding matrix"
    )
    seq_len: int = Field(512, gt=1, description="number of positions: the longest sentence")
    path: str | None = Field(
        None, description="directory of a model to start from; shipped: the one in the package"
    )


class TranslationOptimizer(Optimizer):
    """With label smoothing and R-Drop."""

    label_smoothing: float = Field(
        0.1, ge=0, lt=1, description="probability spread over all tokens (paper, section 5.4)"
    )
    r_drop: float = Field(
        0.0,
        ge=0,
        le=1000,
        description="weight of R-Drop, for wide models; takes 2.4 times as long and more memory",
    )


class TranslationRun(Run):
    """With the settings for sentence pairs."""

    window: int = Field(20000, gt=0, description="number of pairs sorted by length at a time")
    metric: Literal["bleu", "loss"] = Field(
        "bleu", description="metric that selects the best checkpoint"
    )
    dev_sentences: int = Field(500, gt=0, description="validation sentences translated for BLEU")


class TranslationRecipe(Recipe):
    """The settings of a translator's training."""

    task: Literal["translation"] = Field("translation", description="the task")
    data: TranslationData = TranslationData()
    vocabulary: Vocabulary = Vocabulary()
    model: TranslationModel = TranslationModel()
    optimizer: TranslationOptimizer = TranslationOptimizer()
    run: TranslationRun = TranslationRun()


class LanguageData(Data):
    """Where the text comes from (`clearhead.data.corpus` reads it)."""

    train: str = Field(
        "measured:200000",
        description="training corpus: a text file, grammar:SPLIT:COUNT or measured:COUNT, or "
        "several joined with ' + '",
    )
    dev: str = Field("", description="validation corpus; empty: a fraction of train")
    unit: Unit = Field("paragraph", description="what is one text")
    dev_share: float = Field(
        0.05, gt=0, le=0.5, description="fraction of train for validation, if dev is empty"
    )


class LanguageVocabulary(Section):
    """The tokenizer: trained on the corpus, or that of `model.path`."""

    size: int = Field(8000, ge=100, le=2**24, description="number of tokens")
    texts: int = Field(1_000_000, gt=0, description="number of texts on which it is trained")


class LanguageModel(Section):
    """The sizes, or a model to start from, which then decides them."""

    d_model: int = Field(256, gt=0, description="width of the hidden vectors")
    layers: int = Field(4, gt=0, description="number of blocks")
    h: int = Field(4, gt=0, description="number of attention heads")
    d_ff: int = Field(1024, gt=0, description="width of the feed-forward networks")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout rate")
    activation: str = Field(
        "gelu", description="activation function; gelu_new, that of GPT-2, is slower on a CPU"
    )
    seq_len: int = Field(128, gt=2, description="number of positions: the longest text, in tokens")
    path: str | None = Field(
        None, description="model to start from, with its sizes: a directory or a name on the hub"
    )


class LanguageOptimizer(Optimizer):
    """As for translation, without label smoothing, because the metric is perplexity."""

    schedule: Shape = Field("trapezoid", description="learning rate after the warm-up")


class LanguageRun(Run):
    """With the settings for plain text."""

    dev_texts: int = Field(1000, gt=0, description="number of validation texts")
    average: int = Field(0, ge=0, description="snapshots averaged into the final model; 0: none")


class CausalRun(LanguageRun):
    """Perplexity selects the best checkpoint."""

    metric: Literal["loss"] = Field("loss", description="metric that selects the best checkpoint")


class MaskedRun(LanguageRun):
    """Perplexity, or the accuracy on masked tokens, selects the best checkpoint."""

    metric: Literal["loss", "accuracy"] = Field(
        "loss", description="metric that selects the best checkpoint"
    )


class LanguageRecipe(Recipe):
    """The settings that both have."""

    data: LanguageData = LanguageData()
    vocabulary: LanguageVocabulary = LanguageVocabulary()
    model: LanguageModel = LanguageModel()
    optimizer: LanguageOptimizer = LanguageOptimizer()
    run: LanguageRun = LanguageRun()


class CausalRecipe(LanguageRecipe):
    """A language model that predicts the next token."""

    task: Literal["causal"] = Field("causal", description="the task")
    run: CausalRun = CausalRun()


class MaskedRecipe(LanguageRecipe):
    """A language model that predicts masked tokens."""

    task: Literal["masked"] = Field("masked", description="the task")
    run: MaskedRun = MaskedRun()


def make_config(recipe: TranslationRecipe, vocab_size: int) -> TransformerConfig:
    """The sizes of `model.path`, or the preset with the recipe's changes.

    Raises:
        UserError: as `make_model`.
    """
    m, rates = recipe.model, given_rates(recipe)
    if base := recipe.base_directory:
        config = TransformerConfig.load(base / "config.json")
        if config.src_vocab_size != vocab_size:
            raise UserError(
                f"the model in {m.path} has {config.src_vocab_size} tokens, the vocabulary "
                f"{vocab_size}; leave vocabulary.path out to use the model's own"
            )
        return dataclasses.replace(config, **rates)
    return dataclasses.replace(
        TransformerConfig.preset(m.size, vocab_size),
        src_seq_len=m.seq_len,
        tgt_seq_len=m.seq_len,
        norm=m.norm,
        tie_embeddings=m.tie_embeddings,
        **_given(m, *SIZES),
        **rates,
    )


def refuse_other_forms(data: TranslationData) -> None:
    """Forms of the input have French targets.

    Raises:
        UserError: they are asked for, and the targets are in another language.
    """
    if data.input_forms and not is_french(data.target_lang):
        raise UserError(
            f"data.input_forms={data.input_forms} and data.target_lang={data.target_lang!r}: the "
            "forms are those of French targets («…», a space before : and !); give 0"
        )


def given_rates(recipe: TranslationRecipe) -> dict[str, Any]:
    """The dropout rates that the recipe sets, which may change at a resumption."""
    return _given(recipe.model, "dropout", "attention_dropout", "activation_dropout")


def unused_sizes(recipe: TranslationRecipe, own: TransformerConfig) -> list[str]:
    """The sizes that the recipe names and that differ from those of the model to start from."""
    m, size = recipe.model, recipe.vocabulary.size
    is_given = "size" in m.model_fields_set
    preset = TransformerConfig.preset(m.size, own.src_vocab_size) if is_given else own
    wanted = {name: getattr(preset, name) for name in SIZES} | _given(m, *SIZES)
    wanted |= {name: getattr(m, name) for name in FORMS if name in m.model_fields_set}
    actual = dataclasses.asdict(own) | {"seq_len": own.src_seq_len}
    unused = [f"model.{key}={value}" for key, value in wanted.items() if actual[key] != value]
    if "size" in recipe.vocabulary.model_fields_set and size != own.src_vocab_size:
        unused.append(f"vocabulary.size={size}")
    return unused


def _given(section: TranslationModel, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(section, name)) is not None}
