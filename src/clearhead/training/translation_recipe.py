"""The settings of a translator's training."""

from typing import Literal

from pydantic import Field

from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section


class TranslationData(Data):
    """Where the sentence pairs come from (`clearhead.data.open_pairs` reads them)."""

    train: str = Field("grammar:train:20000", description="training corpus")
    dev: str = Field("grammar:dev:500", description="validation corpus")
    source_lang: str = Field("en", description="name of the source in TMX, JSONL or a data set")
    target_lang: str = Field("fr", description="name of the target there")
    french_spaces: bool = Field(True, description="use one kind of space before ? ! : ; and in « »")
    synthetic_names: float = Field(
        0.0,
        ge=0,
        le=1,
        description="fraction of the pairs that get synthetic names, which teach copying",
    )
    input_forms: float = Field(
        0.0, ge=0, le=1, description="fraction of the pairs in other forms: lower case, lists, …"
    )
    max_length: int = Field(
        100, gt=0, description="longest sentence, in tokens; longer ones are left out"
    )


class Vocabulary(Section):
    """The tokenizer: trained on the corpus, or loaded from `path`."""

    size: int = Field(8000, ge=300, description="number of tokens")
    pairs: int = Field(1_000_000, gt=0, description="number of pairs on which it is trained")
    dropout: float = Field(0.0, ge=0, lt=1, description="BPE dropout: rate of merges left out")
    copies: int = Field(
        1, gt=0, le=1000, description="encodings of the corpus, each with its own BPE dropout"
    )
    path: str | None = Field(None, description="directory of a tokenizer to use instead")


class Model(Section):
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
    path: str | None = Field(None, description="directory of a model whose weights to start from")


class TranslationOptimizer(Optimizer):
    """With label smoothing and R-Drop."""

    label_smoothing: float = Field(
        0.1, ge=0, lt=1, description="probability given to the other tokens (paper, section 5.4)"
    )
    r_drop: float = Field(
        0.0,
        ge=0,
        le=1000,
        description="weight of R-Drop, for wide models; takes 2.4 times as long",
    )


class TranslationRun(Run):
    """With the settings for sentence pairs."""

    window: int = Field(20000, gt=0, description="pairs sorted by length together")
    metric: Literal["bleu", "loss"] = Field(
        "bleu", description="metric that selects the best checkpoint"
    )
    dev_sentences: int = Field(500, gt=0, description="validation sentences translated for BLEU")


class TranslationRecipe(Recipe):
    """The settings of a translator's training."""

    task: Literal["translation"] = Field("translation", description="the task")
    data: TranslationData = TranslationData()
    vocabulary: Vocabulary = Vocabulary()
    model: Model = Model()
    optimizer: TranslationOptimizer = TranslationOptimizer()
    run: TranslationRun = TranslationRun()
