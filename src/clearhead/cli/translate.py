"""`clearhead translate`: text in, text out, one line for each line."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from clearhead.cli.machine_options import Device, Quiet, Threads
from clearhead.cli.model_options import Ensemble, Model
from clearhead.cli.output import check_output, pour
from clearhead.cli.search_options import BatchTokens, BeamSize, LengthPenalty
from clearhead.cli.texts import check_texts, text_chunks
from clearhead.cli.warnings_on_stderr import warnings_on_stderr

HINT = "Type English, Enter translates, Ctrl-D ends."

Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TEXT]...", help="What to translate; without it, standard input."),
]
Input = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="Read lines from this file; - is standard input."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write here, whole or not at all.")
]
NBest = Annotated[int, typer.Option(help="Translations of each line, best first.")]
Format = Annotated[
    Literal["text", "jsonl", "moses"],
    typer.Option(help="Lines of text, JSON objects, or a Moses n-best list."),
]
Scores = Annotated[bool, typer.Option("--scores", help="Add the log-probabilities.")]
Alignments = Annotated[
    bool, typer.Option("--alignments", help="Add word links such as 0-0 1-2, from attention.")
]
AlignmentLayer = Annotated[
    int | None,
    typer.Option(help="The decoder layer they come from.", show_default="the last but one"),
]
NoRepeat = Annotated[int, typer.Option(help="No N tokens in a row twice; 0 allows all.")]
MaxLength = Annotated[
    int | None,
    typer.Option(help="Most tokens of a sentence.", show_default="twice the source and 20"),
]
Split = Annotated[bool, typer.Option(help="Translate a line sentence by sentence.")]
LongInput = Annotated[
    Literal["split", "refuse"],
    typer.Option(help="What to do with a sentence that the model has no positions for."),
]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    typer.Option(help="Number format of the products; auto is the fastest here, often int8."),
]


def translate(
    text: Texts = None,
    input: Input = None,
    output: Output = None,
    model: Model = None,
    beam_size: BeamSize = 4,
    length_penalty: LengthPenalty = 1.0,
    n_best: NBest = 1,
    format: Format = "text",
    scores: Scores = False,
    alignments: Alignments = False,
    alignment_layer: AlignmentLayer = None,
    batch_tokens: BatchTokens = 8192,
    no_repeat_ngram: NoRepeat = 0,
    max_length: MaxLength = None,
    split: Split = True,
    long_input: LongInput = "split",
    device: Device = "auto",
    threads: Threads = None,
    precision: Precision = "float32",
    ensemble: Ensemble = None,
    quiet: Quiet = False,
) -> None:
    """Translate English into French: TEXT, a file, or standard input; blank lines stay blank."""
    _check(text, input, output)
    from clearhead.translation import DecodingOptions, Translator
    from clearhead.translation.formats import Shown
    from clearhead.translation.writer import Writer

    options = DecodingOptions(
        beam_size=beam_size,
        length_penalty=length_penalty,
        n_best=n_best,
        no_repeat_ngram=no_repeat_ngram,
        max_length=max_length,
        batch_tokens=batch_tokens,
        scores=scores or format != "text",
    )
    with warnings_on_stderr(quiet):
        translator = Translator.from_pretrained(
            model, device, threads, split, long_input == "refuse", precision, ensemble or ()
        )
        write = Writer(translator, options, format, Shown(scores, alignments), alignment_layer)
        pour(map(write, text_chunks(text, input, HINT)), output)


def _check(text: list[str] | None, input: Path | None, output: Path | None) -> None:
    """What can be said before torch is loaded."""
    check_texts(text, input)
    check_output(output)
