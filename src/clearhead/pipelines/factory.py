"""The function `pipeline(task, model=...)` with the interface of `transformers.pipeline`.

`TASKS` names the class of each task; it is imported when it is needed. Arguments that users of
`transformers` are likely to try work or are refused with a list of the accepted ones.
"""

from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, ParamSpec, Self, TypeVar, overload

from clearhead.errors import UserError
from clearhead.native.choice import EngineName

if TYPE_CHECKING:
    from clearhead.pipelines.classification import (
        TextClassificationPipeline,
        TokenClassificationPipeline,
    )
    from clearhead.pipelines.embedding import FeatureExtractionPipeline, SentenceSimilarityPipeline
    from clearhead.pipelines.fill_mask import FillMaskPipeline
    from clearhead.pipelines.generation import TextGenerationPipeline
    from clearhead.pipelines.translation import TranslationPipeline
    from clearhead.translation.translator import Translator


# Task -> module and class. Each class has `from_pretrained(model, device, threads, engine)`, where
# `model` is a directory or a name on the hub.
TASKS = {
    "translation": "clearhead.pipelines.translation:TranslationPipeline",
    "translation_en_to_fr": "clearhead.pipelines.translation:TranslationPipeline",
    "text-generation": "clearhead.pipelines.generation:TextGenerationPipeline",
    "fill-mask": "clearhead.pipelines.fill_mask:FillMaskPipeline",
    "feature-extraction": "clearhead.pipelines.embedding:FeatureExtractionPipeline",
    "sentence-similarity": "clearhead.pipelines.embedding:SentenceSimilarityPipeline",
    "text-classification": "clearhead.pipelines.classification:TextClassificationPipeline",
    "sentiment-analysis": "clearhead.pipelines.classification:TextClassificationPipeline",
    "token-classification": "clearhead.pipelines.classification:TokenClassificationPipeline",
    "ner": "clearhead.pipelines.classification:TokenClassificationPipeline",
}
P = ParamSpec("P")
R = TypeVar("R")


def known_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse an unknown keyword argument with one line that lists the accepted ones."""
    accepted = [name for name in signature(function).parameters if name != "self"]

    @wraps(function)
    def checked(*args: P.args, **named: P.kwargs) -> R:
        for name in named:
            if name not in accepted:
                near = get_close_matches(name, accepted, n=1)
                hint = f" (did you mean {near[0]}?)" if near else ""
                owner = function.__qualname__.removesuffix(".__call__")
                raise UserError(
                    f"{owner} does not accept {name}{hint}; it accepts {', '.join(accepted)}"
                )
        return function(*args, **named)

    return checked


class ModelPipeline:
    """A pipeline around what its `loader` loads: a model with its tokenizer."""

    loader: ClassVar[Callable[..., Any]]

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path,
        device: str = "auto",
        threads: int | None = None,
        engine: EngineName = "auto",
    ) -> Self:
        """From a directory, a training run, or a name on the hub.

        Raises:
            UserError: as the `loader`, or the model has no head for this task.
        """
        make: Callable[[Any], Self] = cls
        return make(cls.loader(model, device, threads, engine=engine))


def device_name(device: Any, device_map: Any = None) -> str:
    """A device in the forms of `transformers`: a name, a number (-1 = CPU), a `torch.device`.

    `device_map` may be ``"auto"`` or a name: a model is always on a single device.

    Raises:
        UserError: another form, or both are given.
    """
    if device_map is not None:
        if device not in (None, "auto") or not isinstance(device_map, str):
            raise UserError(
                f"device_map={device_map!r} with device={device!r} is not supported: a model is on "
                "a single device; give device='cpu' or 'cuda:0', for example"
            )
        device = device_map
    if device is None:
        return "auto"
    if type(device) is int:
        return f"cuda:{device}" if device >= 0 else "cpu"
    if isinstance(device, str) or type(device).__module__ == "torch":
        return str(device)
    raise UserError(f"device={device!r} is not a device; give 'auto', 'cpu', 'cuda:0' or a number")


# fmt: off
@overload
def pipeline(task: Literal["translation", "translation_en_to_fr"] = ...,
             model: "str | Path | Translator | None" = ...,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> "TranslationPipeline": ...
@overload
def pipeline(task: Literal["text-generation"], model: str | Path,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> "TextGenerationPipeline": ...
@overload
def pipeline(task: Literal["fill-mask"], model: str | Path,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> "FillMaskPipeline": ...
@overload
def pipeline(task: Literal["feature-extraction"], model: str | Path,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> "FeatureExtractionPipeline": ...
@overload
def pipeline(task: Literal["sentence-similarity"], model: str | Path,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> "SentenceSimilarityPipeline": ...
@overload
def pipeline(task: Literal["text-classification", "sentiment-analysis"], model: str | Path,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> "TextClassificationPipeline": ...
@overload
def pipeline(task: Literal["token-classification", "ner"], model: str | Path,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> "TokenClassificationPipeline": ...
@overload
def pipeline(task: str, model: str | Path,
             device: Any = ..., threads: int | None = ..., engine: EngineName = ...,
             device_map: Any = ...) -> Any: ...
# fmt: on
@known_arguments
def pipeline(
    task: str = "translation_en_to_fr",
    model: Any = None,
    device: Any = "auto",
    threads: int | None = None,
    engine: EngineName = "auto",
    device_map: Any = None,
) -> Any:
    """A model behind the interface of `transformers.pipeline`.

    Args:
        task: a key of `TASKS`.
        model: a directory, or a name on the Hugging Face hub; for translation also a
            `Translator`, and None for the shipped model.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``, a number (-1 = CPU, 0 = first
            GPU) or a `torch.device`.
        threads: number of cores; None for all.
        engine: ``native`` (compiled C), ``readable`` (the block files) or ``auto``.
        device_map: ``auto`` or a name as in `device`.

    Raises:
        UserError: an unknown task or argument, no model, or one that cannot do the task.
    """
    if not isinstance(task, str) or task not in TASKS:
        # Another pair of languages is a matter of the model.
        close = get_close_matches(str(task), TASKS, n=1)
        near = ["translation"] if str(task).startswith("translation_") else close
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise UserError(f"there is no task {task!r}{hint}; clearhead has {', '.join(TASKS)}")
    if model is None and "translation" not in task:
        raise UserError(f"{task} needs a model; give model=DIRECTORY or a name on the hub")
    _check_model(task, model)
    module, _, name = TASKS[task].partition(":")
    return getattr(import_module(module), name).from_pretrained(
        model, device_name(device, device_map), threads, engine=engine
    )


def _check_model(task: str, model: Any) -> None:
    """A model of torch modules has no tokenizer, so it cannot read texts."""
    is_translator = "translation" in task and hasattr(model, "translate_detailed")
    if not (model is None or isinstance(model, str | Path) or is_translator):
        raise UserError(
            f"model is of type {type(model).__name__}; expected a directory with the model and its "
            "tokenizer, or a name on the hub"
        )
