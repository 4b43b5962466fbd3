"""`clearhead export`: the model as files of a production engine, held against the original."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli.machine_options import Threads
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.export.targets import Target

To = Annotated[
    Literal["ctranslate2", "onnx", "huggingface"], typer.Option(help="The engine to export to.")
]
Model = Annotated[
    Path | None,
    typer.Option(help="Directory of a model or a training run.", show_default="the shipped one"),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="A new directory, whole or not at all.", show_default="MODEL.ENGINE"
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="How weights are stored: float32, bfloat16, float16; CTranslate2 also int8.",
        show_default="float32",
    ),
]
Sentences = Annotated[
    int, typer.Option(help="Verify with so many sentences of the built-in grammar; 0: not at all.")
]


def export(
    to: To,
    model: Model = None,
    output: Output = None,
    precision: Precision = None,
    sentences: Sentences = 200,
    threads: Threads = None,
) -> None:
    """Write the model for CTranslate2, ONNX Runtime or transformers, then compare the two."""
    from clearhead.export.targets import check_precision, find_target

    target = find_target(to)
    precision = check_precision(target, precision)
    if sentences < 0:
        raise UserError(f"sentences={sentences} is not a number of sentences; give 0 or more")
    from clearhead.export.directory import check_free
    from clearhead.export.exporting import export as write
    from clearhead.translation.location import SHIPPED, find_model
    from clearhead.translation.threads import use_threads

    use_threads(threads)
    source = find_model(model)
    directory = output or Path(f"{(model or SHIPPED).resolve().name}.{to}")
    check_free(directory)
    write(source, target, directory, precision)
    size = sum(file.stat().st_size for file in directory.rglob("*")) / 1e6
    print(f"{directory}: {target.title}, {precision}, {size:.1f} MB")
    if sentences:
        print(f"verify: {_verify(source, target, directory, sentences)}")


def _verify(source: Path, target: "Target", directory: Path, count: int) -> str:
    from clearhead.export.quiet import quiet
    from clearhead.export.targets import engine_of
    from clearhead.export.verify import sentences, verify
    from clearhead.models import Transformer
    from clearhead.text import Tokenizer

    try:
        loaded = engine_of(target)
    except UserError as error:  # the export is as good without
        return f"not done; {error}"
    model = Transformer.from_pretrained(source)
    sources = sentences(model, Tokenizer.load(source), count)
    with quiet():
        return str(verify(model, loaded(directory), sources))
