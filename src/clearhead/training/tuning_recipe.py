"""What a run that fine-tunes a loaded model is made of."""

from typing import Any, Literal

from pydantic import Field, model_validator

from clearhead.models.adapting import Adaptation
from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section

How = Literal["lora", "whole", "frozen"]
# What a fresh head bears, a low-rank matrix, and a trained stack of 100 million numbers.
PEAK_RATES: dict[str, float] = {"frozen": 1e-3, "lora": 5e-4, "whole": 5e-5}


class LabelledData(Data):
    """Where the labelled examples come from."""

    dev_share: float = Field(
        0.1, gt=0, lt=1, description="of the training file, set aside where no dev is named"
    )
    max_length: int = Field(0, ge=0, description="tokens; longer texts are cut; 0: the model's")


class TextData(LabelledData):
    """CSV, TSV or JSONL, and what its columns are called."""

    text: str = "text"
    pair: str | None = Field(None, description="column of a second text that goes with the first")
    label: str = "label"


class WordData(LabelledData):
    """CoNLL columns, or CSV, TSV, JSONL, and what their columns are called."""

    words: str = Field("words", description="a list, or a string: a word for every letter")
    tags: str = Field("tags", description="as many labels")
    mask: str | None = Field(None, description="column of 0 (does not count) and 1")


class Model(Section):
    """What is fine-tuned."""

    path: str = Field("", description="a model directory, or a name on the hub")
    dropout: float | None = Field(None, ge=0, lt=1, description="other than the model's own")


class Tune(Section):
    """What of the model learns beside its new head."""

    how: How = Field("lora", description="lora: low-rank matrices; whole: all; frozen: nothing")
    rank: int = Field(8, gt=0)
    alpha: float = Field(16.0, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1, description="before the low-rank matrices")
    projections: tuple[str, ...] = ("w_q", "w_v")
    balanced: bool = Field(False, description="a rare label weighs as much as a frequent one")

    @property
    def adaptation(self) -> Adaptation | None:
        """The low-rank matrices, if there are to be any."""
        if self.how != "lora":
            return None
        return Adaptation(self.rank, self.alpha, self.dropout, self.projections)


class TuningOptimizer(Optimizer):
    """Adam as BERT was fine-tuned; `peak_lr` follows from tune.how where it is not given."""

    schedule: Literal["paper", "inverse_sqrt", "cosine", "trapezoid", "constant"] = "cosine"
    peak_lr: float = Field(PEAK_RATES["lora"], gt=0)
    warmup: int = Field(50, ge=0, description="steps")
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    label_smoothing: float = Field(0.0, ge=0, lt=1)


class TuningRun(Run):
    """With what concerns labelled texts."""

    steps: int = Field(1000, gt=0)
    batch_texts: int = Field(32, gt=0, description="the most texts in a batch")
    batch_tokens: int = Field(8192, gt=0, description="the most tokens, padding included")
    eval_every: int = Field(100, gt=0, description="steps")
    save_every: int = Field(100, gt=0, description="steps")
    average: int = Field(0, ge=0, description="snapshots averaged into the final model; 0: none")
    samples: int = Field(3, ge=0, description="wrong answers shown at each evaluation")


class TextRun(TuningRun):
    """What texts are judged by."""

    metric: Literal["macro_f1", "accuracy", "matthews", "loss"] = Field(
        "macro_f1", description="what `best` and patience go by"
    )


class WordRun(TuningRun):
    """What words are judged by."""

    metric: Literal["accuracy", "macro_f1", "matthews", "span_f1", "loss"] = Field(
        "accuracy", description="what `best` and patience go by; span_f1 for B-, I- and O labels"
    )


class TuningRecipe(Recipe):
    """What both kinds of fine-tuning share."""

    data: LabelledData
    model: Model = Model()
    tune: Tune = Tune()
    optimizer: TuningOptimizer = TuningOptimizer()
    run: TuningRun = TuningRun()

    @model_validator(mode="before")
    @classmethod
    def _rate_of_what_learns(cls, values: Any) -> Any:
        """Where nobody gave a learning rate, the one that suits what learns."""
        if not isinstance(values, dict):
            return values
        tune, optimizer = values.get("tune", {}), values.get("optimizer", {})
        if not (isinstance(tune, dict) and isinstance(optimizer, dict)) or "peak_lr" in optimizer:
            return values
        rate = PEAK_RATES.get(str(tune.get("how", "lora")), PEAK_RATES["lora"])
        return values | {"optimizer": {**optimizer, "peak_lr": rate}}


class ClassificationRecipe(TuningRecipe):
    """A label for every text."""

    task: Literal["classification"] = "classification"
    data: TextData = TextData()
    run: TextRun = TextRun()


class TaggingRecipe(TuningRecipe):
    """A label for every word."""

    task: Literal["tagging"] = "tagging"
    data: WordData = WordData()
    run: WordRun = WordRun()
