"""The call that users of Hugging Face transformers know: `pipeline(task, model=...)`.

A task is a row in a table; its class is imported when somebody asks for it.
"""

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from clearhead.errors import UserError

if TYPE_CHECKING:  # for editors and type checkers, which run nothing
    from clearhead.pipelines.classification import TextClassificationPipeline
    from clearhead.pipelines.features import FeatureExtractionPipeline, SentenceSimilarityPipeline
    from clearhead.pipelines.fill_mask import FillMaskPipeline
    from clearhead.pipelines.generation import TextGenerationPipeline
    from clearhead.pipelines.tagging import TokenClassificationPipeline
    from clearhead.translation.pipeline import TranslationPipeline
    from clearhead.translation.translator import Translator

# Task -> where its class stands. Each class has
# `from_pretrained(model, device, threads)`, where `model` is a directory or a name on the hub.
TASKS = {
    "translation": "clearhead.translation.pipeline:TranslationPipeline",
    "translation_en_to_fr": "clearhead.translation.pipeline:TranslationPipeline",
    "text-generation": "clearhead.pipelines.generation:TextGenerationPipeline",
    "fill-mask": "clearhead.pipelines.fill_mask:FillMaskPipeline",
    "feature-extraction": "clearhead.pipelines.features:FeatureExtractionPipeline",
    "sentence-similarity": "clearhead.pipelines.features:SentenceSimilarityPipeline",
    "text-classification": "clearhead.pipelines.classification:TextClassificationPipeline",
    "sentiment-analysis": "clearhead.pipelines.classification:TextClassificationPipeline",
    "token-classification": "clearhead.pipelines.tagging:TokenClassificationPipeline",
    "ner": "clearhead.pipelines.tagging:TokenClassificationPipeline",
}


@overload
def pipeline(
    task: Literal["translation", "translation_en_to_fr"] = ...,
    model: "str | Path | Translator | None" = ...,
    device: str = ...,
    threads: int | None = ...,
) -> "TranslationPipeline": ...
@overload
def pipeline(
    task: Literal["text-generation"],
    model: str | Path,
    device: str = ...,
    threads: int | None = ...,
) -> "TextGenerationPipeline": ...
@overload
def pipeline(
    task: Literal["fill-mask"], model: str | Path, device: str = ..., threads: int | None = ...
) -> "FillMaskPipeline": ...
@overload
def pipeline(
    task: Literal["feature-extraction"],
    model: str | Path,
    device: str = ...,
    threads: int | None = ...,
) -> "FeatureExtractionPipeline": ...
@overload
def pipeline(
    task: Literal["sentence-similarity"],
    model: str | Path,
    device: str = ...,
    threads: int | None = ...,
) -> "SentenceSimilarityPipeline": ...
@overload
def pipeline(
    task: Literal["text-classification", "sentiment-analysis"],
    model: str | Path,
    device: str = ...,
    threads: int | None = ...,
) -> "TextClassificationPipeline": ...
@overload
def pipeline(
    task: Literal["token-classification", "ner"],
    model: str | Path,
    device: str = ...,
    threads: int | None = ...,
) -> "TokenClassificationPipeline": ...
@overload
def pipeline(task: str, model: str | Path, device: str = ..., threads: int | None = ...) -> Any: ...
def pipeline(
    task: str = "translation_en_to_fr",
    model: Any = None,
    device: str = "auto",
    threads: int | None = None,
) -> Any:
    """A model behind the interface of `transformers.pipeline`.

    `model` is a directory or a name on the hub; for translation None is the shipped one.

    Raises:
        UserError: an unknown task, no model, or one that cannot do the task.
    """
    if task not in TASKS:
        near = get_close_matches(task, TASKS, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise UserError(f"there is no task {task!r}{hint}; clearhead has {', '.join(TASKS)}")
    if model is None and "translation" not in task:
        raise UserError(f"{task} needs a model; give model=DIRECTORY or a name on the hub")
    module, _, name = TASKS[task].partition(":")
    return getattr(import_module(module), name).from_pretrained(model, device, threads)
