"""The settings of language models: causal (GPT) or masked (BERT)."""

from typing import Literal

from pydantic import Field

from clearhead.data.texts import Unit
from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section
from clearhead.training.schedule import Shape


class LanguageData(Data):
    """Where the text comes from (`clearhead.data.texts` reads it)."""

    train: str = Field(
        "measured:200000",
        description="training corpus: a text file, grammar:SPLIT:COUNT or measured:COUNT",
    )
    dev: str = Field("", description="validation corpus; empty: a fraction of train")
    unit: Unit = Field("paragraph", description="what is one text")
    dev_share: float = Field(
        0.05, gt=0, le=0.5, description="fraction of train for validation, if dev is empty"
    )


class LanguageVocabulary(Section):
    """The tokenizer: trained on the corpus, or that of `model.path`."""

    size: int = Field(8000, ge=100, description="number of tokens")
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
        None, description="model to continue training: a directory or a name on the hub"
    )


class LanguageOptimizer(Optimizer):
    """As for translation, without label smoothing, because the metric is perplexity."""

    schedule: Shape = Field("trapezoid", description="learning rate after the warm-up")


class LanguageRun(Run):
    """With the settings for packed text."""

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
