"""The sizes of a translator: a frozen record, saved beside the weights as config.json."""

import dataclasses
import difflib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from clearhead.errors import UserError
from clearhead.models.checks import check_numbers

FORMAT_VERSION = 1
MODEL_TYPE = "clearhead-transformer"
# What the Hugging Face layout expects in the file and our record does not hold.
_ENVELOPE = {"architectures", "model_type", "format_version"}


@dataclass(frozen=True)
class TransformerConfig:
    """Everything that decides the shape of a `Transformer`; names as in the paper's table 3."""

    src_vocab_size: int
    tgt_vocab_size: int
    src_seq_len: int = 512  # longest source, in tokens, end sign included
    tgt_seq_len: int = 512
    d_model: int = 512
    encoder_layers: int = 6  # the paper's N, which may differ between the halves
    decoder_layers: int = 6
    h: int = 8
    d_ff: int = 2048
    dropout: float = 0.1  # of embeddings and of what every sublayer adds (section 5.4)
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
        if max(self.pad_id, self.bos_id, self.eos_id) >= smaller:
            raise UserError(
                f"pad_id={self.pad_id}, bos_id={self.bos_id} and eos_id={self.eos_id} must lie "
                f"in a vocabulary of {smaller} tokens; give ids below it"
            )
        if self.tie_embeddings and self.src_vocab_size != self.tgt_vocab_size:
            raise UserError(
                f"tie_embeddings needs one joint vocabulary, but src_vocab_size="
                f"{self.src_vocab_size} and tgt_vocab_size={self.tgt_vocab_size}; "
                "give both the same size, or tie_embeddings=false"
            )

    def dropout_of(self, part: Literal["attention", "activation"]) -> float:
        """The rate of a place where the paper drops nothing, and the sources as everywhere."""
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
        """Read config.json; a key that we do not know is an error, not a silence."""
        return cls.from_dict(_read_json(path), str(path))

    @classmethod
    def from_dict(cls, values: dict[str, Any], origin: str = "the configuration") -> Self:
        """Check the keys and build the record; `origin` names the file in errors."""
        if values.get("model_type", MODEL_TYPE) != MODEL_TYPE:
            raise UserError(
                f"{origin} describes a {values['model_type']!r} model, expected {MODEL_TYPE!r}; "
                "give the directory of a model that clearhead trained"
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
        missing = [key for key in ("src_vocab_size", "tgt_vocab_size") if key not in sizes]
        if missing:
            raise UserError(f"{origin} lacks {' and '.join(missing)}; the file is incomplete")
        try:
            return cls(**sizes)
        except UserError as error:
            raise UserError(f"{origin}: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}; a model directory holds config.json, "
            "model.safetensors and tokenizer.json"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a JSON file ({error}); copy the model again") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} holds no JSON object; copy the model again")
    return values


# Layers, widths and dropout; `base` and `big` are the rows of the paper's table 3.
_COLUMNS = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "h", "dropout")
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(zip(_COLUMNS, (4, 4, 128, 256, 4, 0.1), strict=True)),
    "small": dict(zip(_COLUMNS, (4, 4, 256, 1024, 4, 0.1), strict=True)),
    "base": dict(zip(_COLUMNS, (6, 6, 512, 2048, 8, 0.1), strict=True)),
    "big": dict(zip(_COLUMNS, (6, 6, 1024, 4096, 16, 0.3), strict=True)),
}
