"""`clearhead convert`: a pretrained model's pickled weights become safetensors."""

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    str, typer.Argument(help="A directory with pytorch_model.bin, or a name on the hub.")
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="A new directory, whole or not at all.")
]


def convert(source: Source, output: Output) -> None:
    """Read a BERT, GPT-2, ESM-2 or Marian from a pickle, tensors alone, and write safetensors."""
    from clearhead.export.directory import new_directory
    from clearhead.pretrained.pickled import convert as write

    with new_directory(output) as temporary:
        count = write(source, temporary)
    print(f"{output}: {count} tensors of {source}, as safetensors")
