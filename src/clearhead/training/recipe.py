"""What every training run is made of: the record that a YAML file fills.

Each task adds its own sections and defaults (`translation_recipe`, `language_recipe`).
Every key has a default, every default is shown by ``clearhead train --show-config``,
and a key that is not there is an error that names the nearest one.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from clearhead.training.precision import Precision
from clearhead.training.schedule import Shape


class Section(BaseModel):
    """Frozen; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(Section):
    """Where the texts come from."""

    train: str = Field("", description="corpus to learn from")
    dev: str = Field("", description="corpus to be judged on during training")
    attribution: str = Field("", description="whose data it is; goes into the model's README.md")


class Optimizer(Section):
    """Adam and its learning rate (paper, section 5.3), or Muon for the layers' matrices."""

    name: Literal["adam", "muon"] = Field(
        "adam", description="muon: more learned in a step, a step costs more"
    )
    schedule: Shape = "inverse_sqrt"
    peak_lr: float = Field(1.5e-3, gt=0)
    warmup: int = Field(1000, ge=0, description="steps")
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = Field(1e-9, gt=0)
    weight_decay: float = Field(
        0.0, ge=0, description="times the learning rate: the share that a weight loses in a step"
    )
    clip_norm: float = Field(1.0, ge=0, description="0: gradients are not clipped")


class Run(Section):
    """How long, how large the steps, what is kept."""

    steps: int = Field(5000, gt=0)
    batch_tokens: int = Field(4096, gt=0, description="tokens a batch, padding included, each side")
    accumulate: int = Field(1, gt=0, description="batches a step")
    seed: int = 1
    device: str = "auto"
    precision: Precision = "auto"
    threads: int = Field(0, ge=0, description="0: as many as the machine has")
    compile: bool = Field(False, description="torch.compile the model")
    recompute: bool = Field(
        False, description="layers forget their insides and compute them again for the gradient"
    )
    log_every: int = Field(50, gt=0, description="steps")
    eval_every: int = Field(500, gt=0, description="steps")
    save_every: int = Field(500, gt=0, description="steps")
    metric: str = Field("loss", description="what `best` and patience go by")
    patience: int = Field(0, ge=0, description="evaluations without a better one; 0: never stop")
    samples: int = Field(3, ge=0, description="what is shown of the model at each evaluation")
    average: int = Field(5, ge=0, description="snapshots averaged into the final model; 0: none")
    tensorboard: bool = False


class Recipe(Section):
    """A whole run, of any task."""

    task: str
    data: Data
    optimizer: Optimizer
    run: Run
