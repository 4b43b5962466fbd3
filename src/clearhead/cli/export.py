"""`clearhead export` and `convert`: write a model for another engine, or in another format."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli.options import ModelDirectory, Threads
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.export.exporting import Target


MOST_SENTENCES = 100_000
To = Annotated[Literal["ctranslate2", "onnx", "huggingface"], typer.Option(help="Target format.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="A new directory.", show_default="MODEL.ENGINE"),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="Precision of the weights: float32; ctranslate2 and huggingface also bfloat16 and "
        "float16; ctranslate2 also int8 and int8_float32, int8_float16, int8_bfloat16.",
        show_default="float32",
    ),
]
Sentences = Annotated[
    int, typer.Option(help="Sentences of the built-in grammar to compare; 0: no comparison.")
]
Source = Annotated[
    str, typer.Argument(help="A directory with pytorch_model.bin, or a name on the hub.")
]
NewDirectory = Annotated[
    Path, typer.Option("--output", "-o", help="A new directory, written completely or not at all.")
]


def export(
    to: To,
    model: ModelDirectory = None,
    output: Output = None,
    precision: Precision = None,
    sentences: Sentences = 200,
    threads: Threads = None,
) -> None:
    """Export a model to CTranslate2, ONNX Runtime or transformers, and compare both."""
    from clearhead.export import exporting

    target = exporting.find_target(to)
    precision = exporting.check_precision(target, precision)
    if sentences < 0:
        raise UserError(f"--sentences {sentences} is negative; give 0 or more")
    if sentences > MOST_SENTENCES:
        raise UserError(f"--sentences {sentences} is too many; give at most {MOST_SENTENCES:,}")
    from clearhead.models.weight_files import SHIPPED
    from clearhead.training.device_settings import use_threads
    from clearhead.translation.loading import find_model

    use_threads(threads)
    source = find_model(model)
    directory = output or Path(f"{(model or SHIPPED).resolve().name}.{to}")
    exporting.check_free(directory)
    exporting.export(source, target, directory, precision)
    size = sum(file.stat().st_size for file in directory.rglob("*")) / 1e6
    print(f"{directory}: {target.title}, {precision}, {size:.1f} MB")
    if sentences:
        print(f"verify: {_verify(source, target, directory, sentences)}")


def _verify(source: Path, target: "Target", directory: Path, count: int) -> str:
    from clearhead.export import exporting
    from clearhead.export.verify import sentences, verify
    from clearhead.models import Transformer
    from clearhead.text import Tokenizer

    try:
        loaded = exporting.engine_of(target)
    except UserError as error:  # the export itself is complete
        return f"not done; {error}"
    model = Transformer.from_pretrained(source)
    sources = sentences(model, Tokenizer.load(source), count)
    with exporting.quiet():
        return str(verify(model, loaded(directory), sources))


def convert(source: Source, output: NewDirectory) -> None:
    """Convert pickled weights of BERT, GPT-2, ESM-2 or Marian to safetensors.

    A pickle that holds more than tensors is refused.
    """
    from clearhead.export.exporting import new_directory
    from clearhead.pretrained.pickled import convert as write

    with new_directory(output) as temporary:
        count = write(source, temporary)
    print(f"{output}: {count} tensors of {source}, as safetensors")
