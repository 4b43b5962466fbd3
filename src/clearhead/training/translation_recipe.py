"""What a run that learns to translate is made of."""

from typing import Literal

from pydantic import Field

from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section


class TranslationData(Data):
    """Where the sentence pairs come from (`clearhead.data.open_pairs` reads them)."""

    train: str = Field("grammar:train:20000", description="corpus to learn from")
    dev: str = Field("grammar:dev:500", description="corpus to be judged on during training")
    source_lang: str = "en"
    target_lang: str = "fr"
    french_spaces: bool = Field(True, description="one kind of space before ? ! : ; and in « »")
    made_up: float = Field(
        0.0, ge=0, le=1, description="share of pairs with made-up names: copying; some must stay"
    )
    max_length: int = Field(
        100, gt=0, description="longest sentence, in tokens; others are left out"
    )


class Vocabulary(Section):
    """The tokenizer, learned from the training text unless a directory with one is named."""

    size: int = Field(8000, ge=300)
    pairs: int = Field(1_000_000, gt=0, description="learned from the first so many pairs")
    dropout: float = Field(0.0, ge=0, lt=1, description="BPE dropout: merges left out in training")
    copies: int = Field(1, gt=0, description="encodings of the corpus; each draws its own cuts")
    path: str | None = None


class Model(Section):
    """A preset, and what is to differ from it."""

    size: str = "small"
    d_model: int | None = None
    encoder_layers: int | None = None
    decoder_layers: int | None = None
    h: int | None = None
    d_ff: int | None = None
    dropout: float | None = Field(None, ge=0, lt=1)
    attention_dropout: float | None = Field(
        None, ge=0, lt=1, description="of attention weights; as dropout if left out"
    )
    activation_dropout: float | None = Field(
        None, ge=0, lt=1, description="inside feed-forward blocks; as dropout if left out"
    )
    norm: Literal["pre", "post"] = "pre"
    tie_embeddings: bool = True
    seq_len: int = Field(512, gt=1, description="longest sentence the model can ever read or write")
    path: str | None = Field(None, description="start from this model's weights")


class TranslationOptimizer(Optimizer):
    """With what keeps a translator from being too sure."""

    label_smoothing: float = Field(0.1, ge=0, lt=1)
    consistency: float = Field(
        0.0, ge=0, description="R-Drop: two dropouts must agree; for a wide model, 2.4 x the time"
    )


class TranslationRun(Run):
    """With what concerns sentence pairs."""

    window: int = Field(20000, gt=0, description="pairs that are sorted by length together")
    metric: Literal["bleu", "loss"] = Field("bleu", description="what `best` and patience go by")
    dev_sentences: int = Field(500, gt=0, description="how many are translated for BLEU")


class TranslationRecipe(Recipe):
    """A whole run."""

    task: Literal["translation"] = "translation"
    data: TranslationData = TranslationData()
    vocabulary: Vocabulary = Vocabulary()
    model: Model = Model()
    optimizer: TranslationOptimizer = TranslationOptimizer()
    run: TranslationRun = TranslationRun()
