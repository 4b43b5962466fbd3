"""`clearhead generate`: a GPT continues texts, streamed to the terminal."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from clearhead.cli.options import Device, Engine, Output, Precision, Quiet, Threads
from clearhead.cli.streams import check_output, check_texts, pour, text_chunks, warnings_on_stderr
from clearhead.errors import UserError

HINT = "Type the beginning of a text and press Enter to continue it; press Ctrl-D to quit."

Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="PROMPT", help="What to continue; without it, lines of stdin."),
]
Model = Annotated[
    str, typer.Option(help="Directory of a GPT-2 or of a training run, or a name on the hub.")
]
Input = Annotated[Path | None, typer.Option("--input", "-i", help="Read prompts from this file.")]
MaxNewTokens = Annotated[int, typer.Option(help="Maximum length of a continuation, in tokens.")]
Temperature = Annotated[
    float, typer.Option(help="Below 1 favours likely tokens, above 1 unlikely ones; 0 is greedy.")
]
TopK = Annotated[int, typer.Option(help="Only the K likeliest tokens; 0 allows all.")]
TopP = Annotated[
    float, typer.Option(help="Only the likeliest tokens that add up to this probability.")
]
MinP = Annotated[float, typer.Option(help="Minimum probability relative to the best; 0: off.")]
Penalty = Annotated[
    float, typer.Option(help="Above 1: tokens that are already in the text become less likely.")
]
Greedy = Annotated[bool, typer.Option("--greedy", help="Always the likeliest token.")]
Seed = Annotated[
    int | None, typer.Option(help="Random seed; texts use SEED, SEED + 1, …", show_default="random")
]
Stop = Annotated[list[str] | None, typer.Option(help="End before this string; may be repeated.")]
Samples = Annotated[int, typer.Option(help="Continuations of each prompt.")]
Echo = Annotated[bool, typer.Option(help="Show the prompt before its continuation.")]
Format = Annotated[
    Literal["text", "jsonl"], typer.Option(help="Text, or one JSON object per continuation.")
]
BatchSize = Annotated[int, typer.Option(help="Texts generated in parallel, unless streamed.")]
Stream = Annotated[
    bool | None,
    typer.Option(
        help="Print each text while it is generated, one text at a time.",
        show_default="on a terminal, or for one text",
    ),
]


def generate(
    model: Model,
    prompt: Texts = None,
    input: Input = None,
    output: Output = None,
    max_new_tokens: MaxNewTokens = 100,
    temperature: Temperature = 1.0,
    top_k: TopK = 50,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    repetition_penalty: Penalty = 1.0,
    greedy: Greedy = False,
    seed: Seed = None,
    stop: Stop = None,
    samples: Samples = 1,
    echo: Echo = True,
    format: Format = "text",
    stream: Stream = None,
    batch_size: BatchSize = 16,
    device: Device = "auto",
    precision: Precision = "float32",
    engine: Engine = "auto",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Continue PROMPT or lines of a file or stdin; a blank line starts a text without a prompt."""
    check_texts(prompt, input, "PROMPT")
    check_output(output, input)
    for name, value in (("--samples", samples), ("--batch-size", batch_size)):
        if value < 1:
            raise UserError(f"{name} {value} is not a number of texts; give 1 or more")
    from clearhead.decoding.engine import SamplingOptions
    from clearhead.pipelines.generation import ContinuationWriter
    from clearhead.pipelines.text_generator import StopStrings, TextGenerator

    options = SamplingOptions(
        max_new_tokens, 0.0 if greedy else temperature, top_k, top_p, min_p, repetition_penalty
    )
    StopStrings(stop or ())
    with warnings_on_stderr(quiet):
        writer = TextGenerator.from_pretrained(model, device, threads, precision, engine)
        write = ContinuationWriter(writer, options, tuple(stop or ()), seed, format, echo)
        one = prompt is not None and len(prompt) * samples == 1
        if stream is None:
            stream = format == "text" and output is None and (one or sys.stdout.isatty())
        groups = _groups(text_chunks(prompt, input, HINT), samples, 1 if stream else batch_size)
        pour((part for group in groups for part in write(group)), output)


def _groups(chunks: Iterable[list[str]], samples: int, rows: int) -> Iterator[list[str]]:
    """Each prompt `samples` times, at most `rows` at a time."""
    for chunk in chunks:
        prompts = [one for one in chunk for _ in range(samples)]
        yield from (prompts[i : i + rows] for i in range(0, len(prompts), rows))
