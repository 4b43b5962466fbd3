"""Where models are found, and how a translator is loaded: engine, tokenizer and model.

Torch is imported only where it is needed: the native engine is loaded without it.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.decoding.engine import Engine
from clearhead.errors import UserError, shell_command
from clearhead.files import verify_checksum
from clearhead.models.weight_files import SHIPPED, best_of_run, means_shipped, refuse_pickles
from clearhead.native.choice import Request, log_native, log_readable
from clearhead.text import BothLanguages, MarianLanguages, Tokenizer
from clearhead.text.model_files import OTHERS, read_json
from clearhead.text.sentencepiece_pair import pieces_of

if TYPE_CHECKING:
    import torch

    from clearhead.models import Transformer


# Scores of different models are not comparable: a model that was trained longer or with less label
# smoothing is more certain of everything. So each model directory has its own threshold.
THRESHOLD_FILE = "doubt.json"
DEFAULT_THRESHOLD = -0.5  # nats per token: the geometric mean of their probabilities is 0.61


def find_model(path: str | Path | None) -> Path:
    """The model directory that `path` means; of a run directory, the best checkpoint.

    None and `shipped` are the translator in the package. Text like owner/name, where there is
    no directory owner, is a name on the hub.

    Raises:
        UserError: there is no such directory, or it holds no model.
    """
    directory = SHIPPED if path is None or means_shipped(path) else Path(path)
    if directory == SHIPPED and not (directory / "config.json").is_file():
        raise UserError(
            "this installation carries no translator; give --model DIR (in Python a path), "
            "or train one: clearhead train first_light"
        )
    on_hub = isinstance(path, str) and path.count("/") == 1 and not directory.parent.exists()
    if on_hub or path == "":
        from clearhead.pretrained.files import directory_of

        return directory_of(str(path))  # which refuses an empty name
    if not directory.is_dir():
        what = "is a file" if directory.exists() else "does not exist"
        raise UserError(
            f"model {str(directory)!r} {what}; expected a directory with config.json, "
            "model.safetensors and tokenizer.json"
        )
    found = best_of_run(directory)
    refuse_pickles(found)
    if (found / "config.json").is_file():
        return found
    raise UserError(
        f"{directory} holds no config.json; expected a model directory (config.json, "
        "model.safetensors, tokenizer.json) or a run directory of clearhead train"
    )


def load_threshold(directory: Path) -> float:
    """The score below which a model's translation is doubtful, or the default.

    Raises:
        UserError: `doubt.json` holds no finite number "threshold".
    """
    path = directory / THRESHOLD_FILE
    if not path.exists():
        return DEFAULT_THRESHOLD
    repair = (
        f"delete the file: the threshold is then {DEFAULT_THRESHOLD}, until `python -m "
        f"benchmarks.doubt --model {shell_command(directory)} --write` measures one"
    )
    verify_checksum(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a JSON file ({error}); {repair}") from error
    found = values.get("threshold") if isinstance(values, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise UserError(f'{path} holds no number "threshold"; {repair}')
    return float(found)


@dataclass(frozen=True)
class Loaded:
    """An engine, its tokenizer, and the model of torch modules, loaded when it is needed.

    With the readable engine `model` is its method `eval`, which returns it and can be pickled.
    """

    engine: Engine
    tokenizer: BothLanguages
    model: "Callable[[], Transformer]"


def load_engine(directory: Path, others: Sequence[Path], request: Request) -> Loaded:
    """The model in a directory, alone or in an ensemble, with the engine that suits the request.

    Raises:
        UserError: the model is damaged, or the native engine was requested and cannot run it.
    """
    reason = request.not_native(ensemble=bool(others))
    if not reason and not _is_marian(directory):
        from clearhead.decoding.native import NativeEngine

        tokenizer = Tokenizer.load(directory)
        engine = NativeEngine.from_directory(directory, request.int8, request.threads)
        log_native(request, engine.threads)
        return Loaded(engine, tokenizer, partial(_load_on_cpu, directory))
    from clearhead.training.device_settings import choose_device

    device = choose_device(request.device if reason else "cpu")
    model, languages = load_translator(directory, device)
    more = [like(other, languages, device) for other in others]
    return Loaded(engine_for(model, request, more, reason), languages, model.eval)


def engine_for(
    model: "Transformer", request: Request, others: "Sequence[Transformer]" = (), reason: str = ""
) -> Engine:
    """The engine for a model of torch modules; `reason` says why it cannot be the native one.

    Raises:
        UserError: the native engine was requested and cannot run the model.
    """
    from clearhead.decoding.native import NativeEngine
    from clearhead.models.native import native_model, unsupported

    reason = reason or request.not_native(bool(others)) or request.refused(unsupported(model))
    if reason:
        return _readable([model, *others], request, reason)
    engine = NativeEngine(model.config, native_model(model, request.int8), request.threads)
    log_native(request, engine.threads)
    return engine


def _readable(models: "Sequence[Transformer]", request: Request, reason: str) -> Engine:
    from clearhead.decoding.precision import readable_precision
    from clearhead.decoding.readable import ReadableEngine, ensemble
    from clearhead.training.device_settings import use_threads

    use_threads(request.threads)
    precision = readable_precision(request.precision, next(models[0].parameters()).device)
    log_readable(precision, reason)
    return ensemble([ReadableEngine.of(model, precision) for model in models])


def _load_on_cpu(directory: Path) -> "Transformer":
    from clearhead.training.device_settings import choose_device

    return load_translator(directory, choose_device("cpu"))[0]


def load_translator(directory: Path, device: "torch.device") -> "tuple[Transformer, BothLanguages]":
    """A model of `clearhead train`, or a Marian in the layout of the hub (OPUS-MT).

    On a CPU it consists of the block files; on a GPU some of them are replaced by faster ones.

    Raises:
        UserError: files are missing, broken, or do not belong together.
    """
    from clearhead.fast.accelerate import accelerate, operations_for
    from clearhead.models import Marian, Transformer
    from clearhead.pretrained.loading import load
    from clearhead.text.sentencepiece_pair import SentencePiecePair

    model: Transformer
    tokenizer: BothLanguages
    if _is_marian(directory):
        marian, pair = load(directory)
        assert isinstance(marian, Marian) and isinstance(pair, SentencePiecePair)
        model, tokenizer = marian, MarianLanguages(pair)
    else:
        tokenizer = Tokenizer.load(directory)
        model = Transformer.from_pretrained(directory)
    if device.type != "cpu":
        model = accelerate(model, operations_for(device))
    return model.to(device), tokenizer


def _is_marian(directory: Path) -> bool:
    """Whether the translator in a directory is a Marian; else it is one of `clearhead train`.

    Raises:
        UserError: it is no translator; the message names the command for it.
    """
    kind = str(read_json(directory / "config.json").get("model_type"))
    if kind in OTHERS:
        raise UserError(
            f"{directory} holds a {kind} model, which cannot translate; use {OTHERS[kind]} with it"
        )
    return kind == "marian"


def like(directory: Path, tokenizer: BothLanguages, device: "torch.device") -> "Transformer":
    """A further model of an ensemble.

    Raises:
        UserError: its pieces are not those of this tokenizer.
    """
    model, own = load_translator(directory, device)
    if pieces_of(own) != pieces_of(tokenizer):
        raise UserError(
            f"{directory} has another tokenizer than the first model; the models of an ensemble "
            "share one: train them on the same data with different seeds"
        )
    return model
