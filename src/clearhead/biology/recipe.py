"""What a biological training run is made of: the record that `--set section.key=value` changes."""

from typing import Literal

from pydantic import Field

from clearhead.biology.model import Domain, Linear
from clearhead.training.device_settings import Precision
from clearhead.training.recipe import Data, Optimizer, Recipe, Run, Section, Shape

Answer = Literal["auto", "classes", "positions", "number"]
Metric = Literal["matthews", "accuracy", "macro_f1", "spearman", "loss"]


class BiologyData(Data):
    """Where sequences and labels come from."""

    domain: Domain = "dna"
    answer: Answer = Field("auto", description="what a label is; auto: as the labels look")
    sequence: str = Field("", description="column of sequences; empty: the usual names")
    label: str = Field("", description="column of labels; empty: the usual names")
    split: str = Field("", description="column of the parts: train, valid, test, or a fold")
    dev_share: float = Field(
        0.1, gt=0, lt=1, description="held out of train for validation and calibration"
    )


class Tokens(Section):
    """How sequences are cut into tokens."""

    kind: Literal["auto", "characters", "kmers", "bpe", "genes"] = "auto"
    k: int = Field(6, description="bases of a k-mer, 3 to 6")
    step: int = Field(1, gt=0, description="1: overlapping k-mers; k: cut into k-mers")
    size: int = Field(512, ge=16, description="tokens of a learned BPE vocabulary")


class BiologyModel(Section):
    """The sizes, or a model whose encoder is fine-tuned and decides them."""

    path: str = Field("", description="a pre-trained model: ours, DNABERT, ESM-2, Geneformer")
    kind: Literal["transformer", "convolution"] = Field(
        "transformer", description="convolution: the small CNN that benchmarks compare with"
    )
    d_model: int = Field(64, gt=0, description="width of the hidden vectors")
    layers: int = Field(2, gt=0, description="number of encoder blocks")
    h: int = Field(4, gt=0, description="number of attention heads")
    d_ff: int = Field(128, gt=0, description="width of the feed-forward networks")
    token_width: int = Field(
        16, gt=0, description="width of a token vector before its window is read"
    )
    motif: int = Field(9, gt=0, description="tokens in the window of a motif; 1: the token alone")
    dropout: float = Field(0.2, ge=0, lt=1, description="dropout rate")
    attention_dropout: float = Field(
        0.0, ge=0, lt=1, description="dropout rate of attention weights"
    )
    head_dropout: float = Field(0.2, ge=0, lt=1, description="dropout rate before the head")
    layout: Literal["auto", "aligned", "free"] = Field(
        "auto", description="aligned: position t means the same in every sequence"
    )
    pool: int = Field(1, gt=0, description="neighbouring positions that share a vector (aligned)")
    linear: Linear = Field("", description="a linear model of the tokens, added to the scores")
    logarithm: Literal["auto", "yes", "no"] = Field(
        "auto", description="predict the logarithm of numbers; auto: if a few are very large"
    )
    max_length: int = Field(1024, gt=2, description="tokens; longer sequences are cut")


class Augment(Section):
    """Changes to training sequences that must not change the answer."""

    noise: float = Field(0.1, ge=0, lt=1, description="share of tokens masked or replaced")
    both_strands: bool = Field(False, description="DNA: learn from and average both strands")


class BiologyOptimizer(Optimizer):
    """Adam with decoupled weight decay and a cosine schedule."""

    schedule: Shape = "cosine"
    peak_lr: float = Field(1e-3, gt=0, description="highest learning rate")
    warmup: int = Field(50, ge=0, description="steps until the highest learning rate")
    betas: tuple[float, float] = (0.9, 0.99)
    eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.02, ge=0)
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    balanced: bool = Field(False, description="rare classes weigh as much as frequent ones")


class BiologyRun(Run):
    """With the settings for labelled sequences."""

    epochs: float = Field(20, gt=0, description="passes over the data; they decide run.steps")
    min_steps: int = Field(400, gt=0, description="fewest steps, however small the data")
    steps: int = Field(0, ge=0, description="0: as many as run.epochs gives")
    batch_tokens: int = Field(8192, gt=0, description="largest batch in tokens, with padding")
    batch_texts: int = Field(64, gt=0, description="largest number of sequences in a batch")
    precision: Precision = "fp32"
    eval_every: int = Field(0, ge=0, description="steps between two validations; 0: ten in a run")
    save_every: int = Field(0, ge=0, description="steps; 0: as run.eval_every")
    metric: Metric = Field("matthews", description="metric that selects the best checkpoint")
    average: int = Field(5, ge=0, description="snapshots averaged into the final model; 0: none")
    samples: int = Field(0, ge=0, description="wrong predictions that each validation shows")
    members: int = Field(1, gt=0, description="models whose probabilities are averaged")


class BiologyRecipe(Recipe):
    """Learn labels of sequences."""

    task: Literal["biology"] = "biology"
    data: BiologyData = BiologyData()
    tokens: Tokens = Tokens()
    model: BiologyModel = BiologyModel()
    augment: Augment = Augment()
    optimizer: BiologyOptimizer = BiologyOptimizer()
    run: BiologyRun = BiologyRun()


class Masking(Section):
    """Which tokens masked-language-model training hides."""

    share: float = Field(0.15, gt=0, lt=1, description="fraction of the tokens that are masked")
    span: int = Field(0, ge=0, description="tokens masked together; 0: as the tokens overlap")


class PretrainingModel(BiologyModel):
    """Windows of a genome are short; a protein or a short sequence is one window."""

    dropout: float = Field(0.1, ge=0, lt=1)
    max_length: int = Field(128, gt=2, description="tokens of a window")


class PretrainingRun(BiologyRun):
    """The perplexity, or the accuracy on masked tokens, selects the best checkpoint."""

    steps: int = Field(2000, gt=0)
    metric: Literal["loss", "accuracy"] = Field(
        "loss", description="metric that selects the best checkpoint"
    )
    average: int = Field(0, ge=0, description="snapshots averaged into the final model; 0: none")


class PretrainingRecipe(Recipe):
    """Learn to fill in masked tokens of unlabelled sequences."""

    task: Literal["biology-masked"] = "biology-masked"
    data: BiologyData = BiologyData()
    tokens: Tokens = Tokens()
    model: PretrainingModel = PretrainingModel()
    masking: Masking = Masking()
    optimizer: BiologyOptimizer = BiologyOptimizer()
    run: PretrainingRun = PretrainingRun()
