"""What a run that learns a language from plain text is made of: causal (GPT) or masked (BERT)."""

from typing import Literal

from pydantic import Field

from clearhead.data.texts import Unit
from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section
from clearhead.training.schedule import Shape


class LanguageData(Data):
    """Where the text comes from (`clearhead.data.texts` reads it)."""

    train: str = Field(
        "measured:200000", description="a text file, grammar:SPLIT:COUNT or measured:COUNT"
    )
    dev: str = Field("", description="text to be judged on; empty: a share of train")
    unit: Unit = Field("paragraph", description="what counts as one text: a paragraph or a line")
    held_out: float = Field(
        0.05, gt=0, le=0.5, description="share of train that is judged on where there is no dev"
    )


class LanguageVocabulary(Section):
    """The tokenizer, learned from the text unless a model is named whose own serves."""

    size: int = Field(8000, ge=100)
    texts: int = Field(1_000_000, gt=0, description="learned from the first so many texts")


class LanguageModel(Section):
    """The sizes, or a model to start from, which then decides them."""

    d_model: int = Field(256, gt=0)
    layers: int = Field(4, gt=0)
    h: int = Field(4, gt=0)
    d_ff: int = Field(1024, gt=0)
    dropout: float = Field(0.1, ge=0, lt=1)
    activation: str = Field("gelu", description="GPT-2's own, gelu_new, is slower on a CPU")
    seq_len: int = Field(
        128, gt=2, description="tokens a block, and the longest text the model reads"
    )
    path: str | None = Field(
        None, description="go on training this model (a directory, or a name on the hub)"
    )


class LanguageOptimizer(Optimizer):
    """As for translation, but nothing is smoothed: a perplexity is wanted."""

    schedule: Shape = "trapezoid"


class LanguageRun(Run):
    """With what concerns text in blocks."""

    dev_texts: int = Field(1000, gt=0, description="the first so many texts of dev are judged")
    average: int = Field(0, ge=0, description="snapshots averaged into the final model; 0: none")


class CausalRun(LanguageRun):
    """What `best` goes by: the perplexity."""

    metric: Literal["loss"] = Field("loss", description="what `best` and patience go by")


class MaskedRun(LanguageRun):
    """What `best` goes by: the perplexity, or the share of hidden words that are found."""

    metric: Literal["loss", "accuracy"] = Field("loss", description="as for `best` and patience")


class LanguageRecipe(Recipe):
    """What both have in common."""

    data: LanguageData = LanguageData()
    vocabulary: LanguageVocabulary = LanguageVocabulary()
    model: LanguageModel = LanguageModel()
    optimizer: LanguageOptimizer = LanguageOptimizer()
    run: LanguageRun = LanguageRun()


class CausalRecipe(LanguageRecipe):
    """A language model that says what comes next."""

    task: Literal["causal"] = "causal"
    run: CausalRun = CausalRun()


class MaskedRecipe(LanguageRecipe):
    """A language model that says what is hidden."""

    task: Literal["masked"] = "masked"
    run: MaskedRun = MaskedRun()
