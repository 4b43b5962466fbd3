"""The settings of fine-tuning a loaded model."""

from typing import Any, Literal

from pydantic import Field, model_validator

from clearhead.models.adapting import Adaptation
from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section, Shape, Share

Method = Literal["lora", "whole", "frozen"]
# Suitable for a new head, for low-rank adapters, and for a trained model of 100 million parameters.
PEAK_RATES: dict[str, float] = {"frozen": 1e-3, "lora": 5e-4, "whole": 5e-5}


class LabelledData(Data):
    """The labelled examples."""

    dev_share: float = Field(
        0.1, gt=0, lt=1, description="fraction of train for validation, if dev is empty"
    )
    max_length: int = Field(
        0, ge=0, description="longest text, in tokens; longer ones are cut; 0: all positions"
    )


class TextData(LabelledData):
    """CSV, TSV or JSONL, and what its columns are called."""

    text: str = Field("text", description="column of the text")
    pair: str | None = Field(None, description="column of a second text, for pairs of texts")
    label: str = Field("label", description="column of the label")


class WordData(LabelledData):
    """CoNLL columns, or CSV, TSV, JSONL, and what their columns are called."""

    words: str = Field("words", description="column of the words: a list, or a string of letters")
    tags: str = Field("tags", description="column of the labels, one for each word")
    mask: str | None = Field(
        None, description="column of 0 (ignored) and 1 (counted), one for each word"
    )


class FineTunedModel(Section):
    """The model that is fine-tuned."""

    path: str = Field("", description="a model directory, or a name on the hub")
    dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout rate; null: the model's own"
    )


class Tune(Section):
    """Which parameters are trained in addition to the new head."""

    method: Method = Field("lora", description="lora: low-rank adapters; whole: all; frozen: none")
    rank: int = Field(8, gt=0, description="rank of the adapters")
    alpha: float = Field(16.0, gt=0, description="scale of the adapters, divided by the rank")
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout rate before the adapters")
    projections: tuple[str, ...] = Field(
        ("w_q", "w_v"), description="projections with adapters, of w_q, w_k, w_v and w_o"
    )
    balanced: bool = Field(False, description="give each label the same weight in the loss")

    @property
    def adaptation(self) -> Adaptation | None:
        """The low-rank adapters, if there are any."""
        if self.method != "lora":
            return None
        return Adaptation(self.rank, self.alpha, self.dropout, self.projections)


class FineTuningOptimizer(Optimizer):
    """Adam as for BERT's fine-tuning; the default of `peak_lr` depends on `tune.method`."""

    schedule: Shape = Field("cosine", description="learning rate after the warm-up")
    peak_lr: float = Field(PEAK_RATES["lora"], gt=0, description="highest learning rate")
    warmup: int = Field(50, ge=0, description="steps until the highest learning rate")
    betas: tuple[Share, Share] = Field((0.9, 0.999), description="decay rates of Adam's moments")
    eps: float = Field(1e-8, gt=0, description="Adam's epsilon")
    weight_decay: float = Field(
        0.01, ge=0, description="decoupled weight decay, multiplied by the learning rate"
    )
    label_smoothing: float = Field(
        0.0, ge=0, lt=1, description="probability spread over all labels, the right one too"
    )


class FineTuningRun(Run):
    """With the settings for labelled texts."""

    steps: int = Field(1000, gt=0, description="optimizer steps")
    batch_texts: int = Field(32, gt=0, description="largest number of texts in a batch")
    batch_tokens: int = Field(
        8192, gt=0, description="largest number of tokens in a batch, padding included"
    )
    eval_every: int = Field(100, gt=0, description="steps between two validations")
    save_every: int = Field(100, gt=0, description="steps between two checkpoints")
    average: int = Field(0, ge=0, description="snapshots averaged into the final model; 0: none")
    samples: int = Field(3, ge=0, description="wrong predictions that each validation shows")


class TextRun(FineTuningRun):
    """The metrics of texts."""

    metric: Literal["macro_f1", "accuracy", "matthews", "loss"] = Field(
        "macro_f1", description="metric that selects the best checkpoint"
    )


class WordRun(FineTuningRun):
    """The metrics of words."""

    metric: Literal["accuracy", "macro_f1", "matthews", "span_f1", "loss"] = Field(
        "accuracy",
        description="metric that selects the best checkpoint; span_f1 for B-, I- and O labels",
    )


class FineTuningRecipe(Recipe):
    """The settings that both kinds of fine-tuning have."""

    data: LabelledData
    model: FineTunedModel = FineTunedModel()
    tune: Tune = Tune()
    optimizer: FineTuningOptimizer = FineTuningOptimizer()
    run: FineTuningRun = FineTuningRun()

    @model_validator(mode="before")
    @classmethod
    def _default_peak_lr(cls, values: Any) -> Any:
        """If `peak_lr` is not given, the one that suits `tune.method`."""
        if not isinstance(values, dict):
            return values
        tune, optimizer = values.get("tune") or {}, values.get("optimizer") or {}
        if not (isinstance(tune, dict) and isinstance(optimizer, dict)) or "peak_lr" in optimizer:
            return values
        rate = PEAK_RATES.get(str(tune.get("method", "lora")), PEAK_RATES["lora"])
        return values | {"optimizer": {**optimizer, "peak_lr": rate}}


class ClassificationRecipe(FineTuningRecipe):
    """A label for each text."""

    task: Literal["classification"] = Field("classification", description="the task")
    data: TextData = TextData()
    run: TextRun = TextRun()


class TaggingRecipe(FineTuningRecipe):
    """A label for each word."""

    task: Literal["tagging"] = Field("tagging", description="the task")
    data: WordData = WordData()
    run: WordRun = WordRun()
