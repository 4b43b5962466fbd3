"""An encoder under a head, and the directory that holds both with vocabulary and labels."""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from clearhead.biology.encoder import (
    ConvolutionConfig,
    ConvolutionEncoder,
    MotifConfig,
    MotifEncoder,
)
from clearhead.biology.heads import AlignedHead, PooledHead, TokenHead
from clearhead.biology.linear_part import PositionWeights, RankWeights
from clearhead.biology.similarity import SimilarityScores
from clearhead.biology.vocabulary import FILE as VOCABULARY
from clearhead.biology.vocabulary import Vocabulary
from clearhead.blocks import ACTIVATIONS, MaskedLanguageHead, padding_mask
from clearhead.errors import UserError
from clearhead.files import missing_files, read_json_object, record_checksums
from clearhead.models import Bert, BertConfig, Esm, EsmConfig
from clearhead.models.weights import check_described, load_into, refuse_a_file, save
from clearhead.pretrained import from_pretrained

Domain = Literal["dna", "protein", "cells"]
HeadName = Literal["pooled", "aligned", "token", "masked"]
Linear = Literal["", "positions", "similarity", "ranks"]
MODEL_TYPE = "clearhead-biology"
CALIBRATION = "calibration.json"
HOLDS = "expected a model directory or the directory of a run"
FAMILIES: dict[str, tuple[type[Any], type[Any]]] = {
    "motif": (MotifConfig, MotifEncoder),
    "convolution": (ConvolutionConfig, ConvolutionEncoder),
    "bert": (BertConfig, Bert),  # DNABERT, Geneformer
    "esm": (EsmConfig, Esm),
}


@dataclass(frozen=True)
class ModelConfig:
    """What a model is made of and what its outputs mean; saved as config.json."""

    domain: Domain
    encoder: Any  # the record of sizes of one of `FAMILIES`
    head: HeadName
    labels: tuple[str, ...] = ()  # of classes; none for numbers and masked tokens
    head_dropout: float = 0.0
    linear: Linear = ""  # what is added to the head's scores
    compared: tuple[int, ...] = ()  # of `similarity`: training sequences, and their tokens
    strands: bool = False  # average over both strands of DNA
    scale: tuple[float, float, float] = (0.0, 1.0, 0.0)  # of numbers: see `scale.standardized`
    length: int = 0  # of aligned sequences, in tokens; 0: any
    columns: tuple[int, ...] = ()  # the positions that are read; none means all
    facts: dict[str, Any] = field(default_factory=dict)  # of the domain, such as gene medians

    @property
    def d_model(self) -> int:
        """The width of the hidden states."""
        return int(self.encoder.d_model)

    @property
    def longest(self) -> int:
        """The most tokens of a sequence."""
        return self.length or int(self.encoder.seq_len)

    @property
    def outputs(self) -> int:
        """How many scores a head gives: one for each class, or one number."""
        return max(1, len(self.labels))

    @property
    def family(self) -> str:
        """The key of the encoder in `FAMILIES`."""
        return next(name for name, (kind, _) in FAMILIES.items() if kind is type(self.encoder))


class SequenceModel(nn.Module):
    """Hidden states of a sequence, and a head's scores.

    Shape:
        ids: (batch, seq_len) -> (batch, outputs), or (batch, seq_len, outputs) by position
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        encoder: Any = FAMILIES[config.family][1]
        make = getattr(encoder, "from_config", encoder)
        self.encoder = make(config.encoder)
        self.head = self._head(config)
        self.linear = self._linear(config)

    def forward(self, ids: Tensor) -> Tensor:
        """Encode, score, add the linear part if there is one."""
        ids = self.read(ids)
        mask = padding_mask(ids, self.config.encoder.pad_id)
        scores = self.head(self.encoder(ids, mask), mask)
        return scores if self.linear is None else scores + self.linear(ids, mask)

    def hidden(self, ids: Tensor) -> Tensor:
        """The encoder's last hidden states, (batch, seq_len, d_model)."""
        ids = self.read(ids)
        return self.encoder(ids, padding_mask(ids, self.config.encoder.pad_id))

    def read(self, ids: Tensor) -> Tensor:
        """The positions that varied in training: (batch, length) -> (batch, seq_len)."""
        return ids[:, list(self.config.columns)] if self.config.columns else ids

    def _head(self, config: ModelConfig) -> nn.Module:
        width, outputs, dropout = config.d_model, config.outputs, config.head_dropout
        makers = {
            "pooled": lambda: PooledHead(width, outputs, dropout),
            "aligned": lambda: AlignedHead(width, config.encoder.positions, outputs, dropout),
            "token": lambda: TokenHead(width, outputs, dropout),
            "masked": self._masked_head,
        }
        return makers[config.head]()

    def _linear(self, config: ModelConfig) -> nn.Module | None:
        sizes = config.encoder
        if config.linear == "positions":
            return PositionWeights(sizes.seq_len, sizes.vocab_size)
        if config.linear == "similarity":
            records, tokens = config.compared
            return SimilarityScores(records, tokens, sizes.vocab_size, config.outputs)
        if config.linear == "ranks":
            return RankWeights(sizes.vocab_size, config.outputs)
        return None

    def _masked_head(self) -> nn.Module:
        sizes = self.config.encoder
        paths = {"bert": "embeddings.words.embedding", "esm": "embed.embedding"}
        if path := paths.get(self.config.family):
            table = cast(nn.Embedding, self.encoder.get_submodule(path))
            return TiedMaskedHead(table, sizes)
        return TokenHead(sizes.d_model, sizes.vocab_size, 0.0)


class TiedMaskedHead(nn.Module):
    """BERT's and ESM-2's scores of every token, tied to their embedding matrix."""

    def __init__(self, table: nn.Embedding, sizes: Any) -> None:
        super().__init__()
        self.masked_lm = MaskedLanguageHead(table, ACTIVATIONS[sizes.activation], sizes.norm())

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(batch, seq_len, d_model) -> (batch, seq_len, vocab_size)"""
        return self.masked_lm(x)


class Loaded(NamedTuple):
    """A model directory in memory: one model, or the members whose answers are averaged."""

    models: tuple[SequenceModel, ...]
    vocabulary: Vocabulary
    temperature: float = 1.0  # of the probabilities, fitted on held-out records

    @property
    def config(self) -> ModelConfig:
        """The members differ in their weights alone."""
        return self.models[0].config


def save_model(model: SequenceModel, vocabulary: Vocabulary, directory: Path) -> None:
    """Write config.json, model.safetensors in float32 and vocabulary.json."""
    config = model.config
    check_described(model, lambda: SequenceModel(config))
    values = dataclasses.asdict(config) | {
        "model_type": MODEL_TYPE,
        "format_version": 1,
        "family": config.family,
    }
    save(model, json.dumps(values, indent=2) + "\n", directory, torch.float32)
    vocabulary.save(directory)


def resave(model: SequenceModel, vocabulary: Vocabulary, directory: Path) -> None:
    """Replace the model of a finished run, and the checksums of its files."""
    save_model(model, vocabulary, directory)
    record_checksums(directory, ("config.json", "model.safetensors", VOCABULARY))


def load_model(directory: str | Path) -> Loaded:
    """The model of a directory or of a run's best/.

    A directory in the Hugging Face layout of a BERT (DNABERT, Geneformer) or an ESM-2 gives its
    encoder under a masked-language-model head.

    Raises:
        UserError: there is no model, or its files are damaged or of different models.
    """
    path = Path(directory)
    path = path / "best" if (path / "best").is_dir() else path
    refuse_a_file(path)
    if lost := [file for file in missing_files(path) if file.parent != path]:
        raise UserError(f"{lost[0]} is missing; copy the model again, with every member")
    loaded = [_load_one(member) for member in sorted(path.glob("member-*")) or [path]]
    calibration = path / CALIBRATION
    found = read_json_object(calibration, HOLDS) if calibration.exists() else {"temperature": 1.0}
    temperature = found.get("temperature")
    if not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        raise UserError(f"{calibration} is damaged (no temperature above 0); copy the model again")
    return Loaded(tuple(model for model, _ in loaded), loaded[0][1], temperature)


def load_for(directory: str | Path, domain: Domain) -> Loaded:
    """As `load_model`, for data of a domain.

    Raises:
        UserError: the model is of another domain.
    """
    loaded = load_model(directory)
    if (own := loaded.config.domain) != domain:
        raise UserError(f"{directory} holds a model of {own}; use `clearhead bio {own}`")
    return loaded


def _load_one(path: Path) -> tuple[SequenceModel, Vocabulary]:
    values = read_json_object(path / "config.json", HOLDS)
    if values.get("model_type") != MODEL_TYPE:
        return _load_pretrained(path)
    model = _model_of(values, path)
    load_into(model, path / "model.safetensors")
    return model.eval(), Vocabulary.load(path)


def _model_of(values: dict[str, Any], path: Path) -> SequenceModel:
    try:
        kind = FAMILIES[values["family"]][0]
        sizes = {key: _frozen(value) for key, value in values["encoder"].items()}
        names = {item.name for item in dataclasses.fields(ModelConfig)}
        kept = {key: _frozen(value) for key, value in values.items() if key in names}
        return SequenceModel(ModelConfig(**kept | {"encoder": kind(**sizes)}))
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise UserError(f"{path}/config.json is damaged ({error}); copy the model again") from error


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _load_pretrained(path: Path) -> tuple[SequenceModel, Vocabulary]:
    theirs = from_pretrained(path)
    if not isinstance(theirs, Bert | Esm):
        raise UserError(f"{path} holds a {type(theirs).__name__}; expected a BERT or an ESM-2")
    vocabulary = Vocabulary.load(path, pretrained=True)
    genes = vocabulary.cut.kind == "genes"
    domain: Domain = "cells" if genes else "protein" if isinstance(theirs, Esm) else "dna"
    sizes: Any = dataclasses.replace(cast(Any, theirs.config), heads=())
    facts = {} if "masked_lm" in theirs.heads else {"untrained_head": True}
    model = SequenceModel(ModelConfig(domain, sizes, "masked", facts=facts))
    source = dict(theirs.named_parameters()) | dict(theirs.named_buffers())
    own = {f"encoder.{name}": tensor for name, tensor in source.items()}
    own |= {name.replace("heads.", "head."): tensor for name, tensor in source.items()}
    with torch.no_grad():
        for name, parameter in (*model.named_parameters(), *model.named_buffers()):
            if name in own:
                parameter.copy_(own[name])
    return model.eval(), vocabulary
