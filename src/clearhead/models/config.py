"""The sizes of a translator, saved beside the weights as config.json, and checks of such sizes.

The values come from a file, so they are checked before a model is built from them.
"""

import dataclasses
import difflib
import json
import os
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Protocol, Self, SupportsIndex

from clearhead.errors import DIFFERENT_MODELS, UserError
from clearhead.files import read_json_object

LAYERS = 1024  # the deepest Transformer that was published has 1,000 (DeepNet, 2022)
POSITIONS = 2**24
MOST = 2**31 - 1  # what an int32 of the native engine holds
SMALL = 10**7  # elements: such a model is built, and the check of its tensors says more
# Where the system does not report its memory.
UNKNOWN_MEMORY = 2**40
FORMAT_VERSION = 1
MODEL_TYPE = "clearhead-transformer"
HOLDS = "a model directory holds config.json, model.safetensors and tokenizer.json"
# Keys of the Hugging Face layout that are not fields of the configuration.
_ENVELOPE = {"architectures", "model_type", "format_version"}
# Keys that the first files lack. Any other one is needed: the weights do not show a wrong h.
_LATER = {"attention_dropout", "activation_dropout"}
# Layers, widths and dropout; `base` and `big` are the rows of the paper's table 3.
_COLUMNS = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "h", "dropout")
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(zip(_COLUMNS, (4, 4, 128, 256, 4, 0.1), strict=True)),
    "small": dict(zip(_COLUMNS, (4, 4, 256, 1024, 4, 0.1), strict=True)),
    "base": dict(zip(_COLUMNS, (6, 6, 512, 2048, 8, 0.1), strict=True)),
    "big": dict(zip(_COLUMNS, (6, 6, 1024, 4096, 16, 0.3), strict=True)),
}


class Sized(Protocol):
    """A configuration that can estimate the size of its model."""

    @property
    def parameters(self) -> int:
        """Learned elements, without biases and norms."""

    @property
    def tables(self) -> int:
        """Elements in memory that `parameters` does not count, such as those of positions."""


def check_numbers(config: Any) -> None:
    """Check that each field annotated ``int``, ``bool`` or ``float`` holds such a value.

    Numbers of other types, such as NumPy's, become int or float.

    Raises:
        UserError: names the field, its value and what it should be. Sizes are at least 1,
            ids at least 0, floats (such as dropout rates) at least 0 and below 1.
    """
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.type is int or (field.type == int | None and value is not None):
            least, most = 0 if field.name.endswith("_id") else 1, _most(field.name)
            if isinstance(value, SupportsIndex) and not isinstance(value, bool):
                value = value.__index__()
                object.__setattr__(config, field.name, value)
            if type(value) is not int or not least <= value <= most:
                _refuse(field.name, value, f"a whole number from {least} to {most:,}")
        if field.type is bool and type(value) is not bool:
            _refuse(field.name, value, "true or false")
        share = field.type is float or (field.type == float | None and value is not None)
        if share and isinstance(value, Real) and not isinstance(value, int):
            value = float(value)
            object.__setattr__(config, field.name, value)
        if share and (type(value) not in (int, float) or not 0 <= value < 1):
            _refuse(field.name, value, "a number, at least 0 and below 1")


def check_memory(config: Sized) -> None:
    """Refuse a model that does not fit into this machine's memory, before anything is allocated."""
    needed, present = 4 * (config.parameters + config.tables), physical_memory()
    if needed > present:
        raise UserError(
            f"a model of these sizes takes {needed / 1e9:,.1f} GB in float32 and this machine has "
            f"{present / 1e9:,.1f} GB; check the width, layers, vocabulary and positions"
        )


def check_file_size(config: Sized, size: int, origin: str) -> None:
    """Refuse a file with less than a byte for each parameter, before the model is built."""
    if config.parameters > max(size, SMALL):
        raise UserError(
            f"{origin} has {size:,} bytes and config.json says {config.parameters:,} parameters; "
            f"{DIFFERENT_MODELS}"
        )


def physical_memory() -> int:
    """Bytes of this machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN_MEMORY


def _most(name: str) -> int:
    if name.endswith("layers"):
        return LAYERS
    return POSITIONS if name.endswith("seq_len") else MOST


def _refuse(name: str, value: object, expected: str) -> None:
    shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…"
    raise UserError(f"{name}={shown} is not valid; give {expected}")


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes and variants of a `Transformer`; names as in the paper's table 3."""

    src_vocab_size: int
    tgt_vocab_size: int
    src_seq_len: int = 512  # longest source, in tokens, EOS token included
    tgt_seq_len: int = 512
    d_model: int = 512
    encoder_layers: int = 6  # the paper's N; encoder and decoder may differ
    decoder_layers: int = 6
    h: int = 8
    d_ff: int = 2048
    dropout: float = 0.1  # of embeddings and of the output of each sublayer (section 5.4)
    attention_dropout: float | None = None  # of attention weights; None: as `dropout`
    activation_dropout: float | None = None  # inside feed-forward blocks; None: as `dropout`
    norm: Literal["pre", "post"] = "pre"
    tie_embeddings: bool = False  # source, target and projection share one matrix (section 3.4)
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.norm not in ("pre", "post"):
            raise UserError(f"norm={self.norm!r} is not known; give 'pre' or 'post'")
        if self.d_model < 2 or self.d_model % self.h:
            raise UserError(
                f"d_model={self.d_model} is not divisible by h={self.h}; "
                "every head needs the same whole number d_k = d_model / h of dimensions"
            )
        smaller = min(self.src_vocab_size, self.tgt_vocab_size)
        beyond = max(self.pad_id, self.eos_id) >= smaller or self.bos_id >= self.tgt_vocab_size
        if beyond or self.pad_id == self.eos_id:
            raise UserError(
                f"pad_id={self.pad_id}, bos_id={self.bos_id} and eos_id={self.eos_id} must lie "
                f"below {smaller}, the smaller vocabulary size (bos_id below "
                f"{self.tgt_vocab_size}, the target's); give such ids, and two for pad and eos"
            )
        if self.tie_embeddings and self.src_vocab_size != self.tgt_vocab_size:
            raise UserError(
                f"tie_embeddings needs one joint vocabulary, but src_vocab_size="
                f"{self.src_vocab_size} and tgt_vocab_size={self.tgt_vocab_size}; "
                "give both the same size, or tie_embeddings=false"
            )

    @property
    def parameters(self) -> int:
        """Learned elements, without biases and norms."""
        vocabularies = self.src_vocab_size
        if not self.tie_embeddings:
            vocabularies += 2 * self.tgt_vocab_size  # its embedding and the projection
        attention, feed_forward = 4 * self.d_model, 2 * self.d_ff
        encoder = self.encoder_layers * (attention + feed_forward)
        decoder = self.decoder_layers * (2 * attention + feed_forward)
        return self.d_model * (vocabularies + encoder + decoder)

    @property
    def tables(self) -> int:
        """Elements of the sinusoids."""
        return self.d_model * (self.src_seq_len + self.tgt_seq_len)

    def dropout_of(self, part: Literal["attention", "activation"]) -> float:
        """The dropout rate of a part without dropout in the paper; by default `dropout`."""
        own = self.attention_dropout if part == "attention" else self.activation_dropout
        return self.dropout if own is None else own

    @classmethod
    def preset(cls, name: str, vocab_size: int) -> Self:
        """One of `PRESETS` over a joint vocabulary."""
        if name not in PRESETS:
            raise UserError(f"there is no model size {name!r}; choose from {', '.join(PRESETS)}")
        return cls(vocab_size, vocab_size, tie_embeddings=True, **PRESETS[name])

    def to_json(self) -> str:
        """The text of config.json."""
        envelope = {
            "architectures": ["Transformer"],
            "model_type": MODEL_TYPE,
            "format_version": FORMAT_VERSION,
        }
        return json.dumps(envelope | dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read config.json; an unknown or missing key is an error."""
        return cls.from_dict(read_json_object(path, HOLDS), str(path))

    @classmethod
    def from_dict(cls, values: dict[str, Any], origin: str = "the configuration") -> Self:
        """Check the keys and build the record; `origin` names the file in errors."""
        if values.get("model_type", MODEL_TYPE) != MODEL_TYPE:
            raise UserError(
                f"{origin} describes a {values['model_type']!r} model, expected a translator "
                f"({MODEL_TYPE!r}); give the directory of one that clearhead trained"
            )
        version = values.get("format_version", FORMAT_VERSION)
        if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
            raise UserError(
                f"{origin} has format_version {version!r}, this clearhead reads up to "
                f"{FORMAT_VERSION}; upgrade clearhead"
            )
        known = [field.name for field in dataclasses.fields(cls)]
        sizes = {key: value for key, value in values.items() if key not in _ENVELOPE}
        for key in sizes:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise UserError(f"{origin} has an unknown key {key!r}; {hint}")
        if missing := [key for key in known if key not in sizes and key not in _LATER]:
            raise UserError(f"{origin} lacks {', '.join(missing)}; copy the model again")
        try:
            return cls(**sizes)
        except UserError as error:
            raise UserError(f"{origin}: {error}") from error
