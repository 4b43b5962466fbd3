"""What a training run is made of: the record that a YAML file fills.

Every key has a default, every default is shown by ``clearhead train --show-config``,
and a key that is not here is an error that names the nearest one.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from clearhead.training.precision import Precision
from clearhead.training.schedule import Shape


class Section(BaseModel):
    """Frozen; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(Section):
    """Where the sentence pairs come from (`clearhead.data.open_pairs` reads them)."""

    train: str = Field("grammar:train:20000", description="corpus to learn from")
    dev: str = Field("grammar:dev:500", description="corpus to be judged on during training")
    source_lang: str = "en"
    target_lang: str = "fr"
    french_spaces: bool = Field(True, description="one kind of space before ? ! : ; and in « »")
    max_length: int = Field(
        100, gt=0, description="longest sentence, in tokens; others are left out"
    )
    attribution: str = Field("", description="whose data it is; goes into the model's README.md")


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
    norm: Literal["pre", "post"] = "pre"
    tie_embeddings: bool = True
    seq_len: int = Field(512, gt=1, description="longest sentence the model can ever read or write")
    path: str | None = Field(None, description="start from this model's weights")


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
    weight_decay: float = Field(0.0, ge=0)
    clip_norm: float = Field(1.0, ge=0, description="0: gradients are not clipped")
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    consistency: float = Field(
        0.0, ge=0, description="R-Drop: two dropouts must agree; 5 for few data, twice the time"
    )


class Run(Section):
    """How long, how large the steps, what is kept."""

    steps: int = Field(5000, gt=0)
    batch_tokens: int = Field(4096, gt=0, description="tokens a batch, padding included, each side")
    accumulate: int = Field(1, gt=0, description="batches a step")
    window: int = Field(20000, gt=0, description="pairs that are sorted by length together")
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
    metric: Literal["bleu", "loss"] = Field("bleu", description="what `best` and patience go by")
    patience: int = Field(0, ge=0, description="evaluations without a better one; 0: never stop")
    dev_sentences: int = Field(500, gt=0, description="how many are translated for BLEU")
    samples: int = Field(3, ge=0, description="translations shown at each evaluation")
    average: int = Field(5, ge=0, description="snapshots averaged into the final model; 0: none")
    tensorboard: bool = False


class Recipe(Section):
    """A whole run."""

    data: Data = Data()
    vocabulary: Vocabulary = Vocabulary()
    model: Model = Model()
    optimizer: Optimizer = Optimizer()
    run: Run = Run()
