"""The settings that all training runs have, and the learning-rate schedules.

A YAML file sets them. Each task adds its own sections and defaults (`model_recipes`,
`finetuning_recipe`). Each key has a default and a description, which
``clearhead train --show-config`` prints; an unknown key is an error that names the nearest one.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from clearhead.models.weight_files import named_directory
from clearhead.training.device_settings import EngineChoice, Precision

Shape = Literal["paper", "inverse_sqrt", "cosine", "trapezoid", "constant"]
Schedule = Callable[[int], float]
COOLDOWN = 0.3  # the fraction of a trapezoid run that falls linearly to zero


def make_schedule(shape: Shape, peak: float, warmup: int, steps: int, d_model: int) -> Schedule:
    r"""The learning rate of step 1, 2, … `steps`.

    ============  =================================================================
    paper         :math:`peak · d_{model}^{-0.5} \min(s^{-0.5}, s · warmup^{-1.5})`
                  (equation 3; the paper's peak factor is 1)
    inverse_sqrt  linear to `peak`, then :math:`peak \sqrt{warmup / s}`
    cosine        linear to `peak`, then half a cosine to zero at the last step
    trapezoid     linear to `peak`, level, linear to zero over the last 30 %
    constant      linear to `peak`, then level
    ============  =================================================================
    """
    warmup = max(1, warmup)
    shapes: dict[Shape, Schedule] = {
        "paper": lambda s: d_model**-0.5 * warmup**-0.5 * min((warmup / s) ** 0.5, s / warmup),
        "inverse_sqrt": lambda s: min(s / warmup, (warmup / s) ** 0.5),
        "cosine": lambda s: min(
            s / warmup, 0.5 + 0.5 * math.cos(math.pi * _after(s, warmup, steps))
        ),
        "trapezoid": lambda s: min(s / warmup, 1.0, max(0.0, steps - s + 1) / (COOLDOWN * steps)),
        "constant": lambda s: min(s / warmup, 1.0),
    }
    return lambda step: peak * shapes[shape](step)


def _after(step: int, warmup: int, steps: int) -> float:
    """The fraction of the steps after the warm-up that are done."""
    return min(1.0, max(0.0, (step - warmup) / max(1, steps - warmup)))


LARGEST_NUMBER = 2**62
Share = Annotated[float, Field(ge=0, lt=1)]
# The names of earlier versions, which are still read.
RENAMED_KEYS = {
    "data.made_up": "data.synthetic_names",
    "data.held_out": "data.dev_share",
    "tune.how": "tune.method",
    "optimizer.consistency": "optimizer.r_drop",
    "run.recompute": "run.gradient_checkpointing",
}


class Section(BaseModel):
    """A section of a recipe: immutable, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _filled(cls, value: Any, info: ValidationInfo) -> Any:
        """Nothing behind a key is an empty text or section; else null, which may be an error."""
        field = cls.model_fields[info.field_name or ""]
        kind = field.annotation
        if value is None and (kind is str or field.default == ""):  # or a choice: model.linear
            return ""
        is_section = isinstance(kind, type) and issubclass(kind, Section)
        return {} if value is None and is_section else value

    @field_validator("*")
    @classmethod
    def _usable(cls, value: Any) -> Any:
        """Refuse numbers and texts that numpy, torch and file names cannot represent."""
        if type(value) is int and abs(value) > LARGEST_NUMBER:
            raise ValueError(f"expected a whole number of at most {LARGEST_NUMBER:,}")
        if isinstance(value, str) and "\0" in value:
            raise ValueError("expected a text without null characters")
        return value


class Data(Section):
    """The corpora."""

    train: str = Field("", description="training corpus")
    dev: str = Field("", description="validation corpus")
    attribution: str = Field(
        "", description="source and licence of the data, for the model's README.md"
    )


class Optimizer(Section):
    """Adam and its learning rate (paper, section 5.3), or Muon for the layers' matrices."""

    name: Literal["adam", "muon"] = Field(
        "adam", description="muon learns more in each step, and each step takes longer"
    )
    schedule: Shape = Field("inverse_sqrt", description="learning rate after the warm-up")
    peak_lr: float = Field(1.5e-3, gt=0, description="highest learning rate (paper: the factor)")
    warmup: int = Field(1000, ge=0, description="steps until the highest learning rate")
    betas: tuple[Share, Share] = Field((0.9, 0.98), description="decay rates of Adam's moments")
    eps: float = Field(1e-9, gt=0, description="Adam's epsilon")
    weight_decay: float = Field(
        0.0, ge=0, description="decoupled weight decay, multiplied by the learning rate"
    )
    clip_norm: float = Field(1.0, ge=0, description="largest gradient norm; 0: no clipping")


class Run(Section):
    """Length of the run, batches, device, evaluation and checkpoints."""

    steps: int = Field(5000, gt=0, description="optimizer steps")
    batch_tokens: int = Field(
        4096, gt=0, description="tokens in a batch, padding included, on each side"
    )
    accumulate: int = Field(1, gt=0, le=10_000, description="batches per step, gradients added up")
    seed: int = Field(1, description="seed of initialization, dropout and the order of the batches")
    device: str = Field("auto", description="auto, cpu, cuda, cuda:N or mps")
    precision: Precision = Field(
        "auto", description="number format; auto: bfloat16 where it is faster"
    )
    engine: EngineChoice = Field(
        "auto", description="readable: only the block files; fast: faster leaf operations"
    )
    threads: int = Field(0, ge=0, le=4096, description="processor cores; 0: all")
    compile: bool = Field(False, description="compile the model with torch.compile")
    gradient_checkpointing: bool = Field(
        False, description="recompute activations in the backward pass, to save memory"
    )
    log_every: int = Field(50, gt=0, description="steps between two log lines")
    eval_every: int = Field(500, gt=0, description="steps between two validations")
    save_every: int = Field(500, gt=0, description="steps between two checkpoints")
    metric: str = Field("loss", description="metric that selects the best checkpoint")
    patience: int = Field(
        0, ge=0, description="stop after this many validations without improvement; 0: never"
    )
    samples: int = Field(3, ge=0, description="model outputs that each validation shows")
    average: int = Field(5, ge=0, description="snapshots averaged into the final model; 0: none")
    tensorboard: bool = Field(False, description="write TensorBoard logs")


class Recipe(Section):
    """A whole run, of any task."""

    task: str = Field(description="the task")
    data: Data
    optimizer: Optimizer
    run: Run

    @property
    def base_model(self) -> str:
        """The model to start from, a directory or a name on the hub; empty if there is none."""
        return getattr(getattr(self, "model", None), "path", None) or ""

    @property
    def base_directory(self) -> Path | None:
        """The directory of that model, of a run the best one; None if there is none."""
        return named_directory(self.base_model) if self.base_model else None
