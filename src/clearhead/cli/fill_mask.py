"""`clearhead fill-mask`: the likeliest words in place of a mask."""

import json
import sys
from typing import Annotated, Any, Literal

import typer

from clearhead.cli.options import Device, Engine, Threads
from clearhead.cli.streams import check_utf8, text_chunks, warnings_on_stderr
from clearhead.errors import UserError

Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="Texts with a mask; without TEXT, lines of stdin."),
]
Model = Annotated[str, typer.Option(help="Directory of a BERT or ESM-2, or its name on the hub.")]
TopK = Annotated[int, typer.Option(help="Candidates for each mask, likeliest first.")]
Target = Annotated[list[str] | None, typer.Option(help="Only these words; may be repeated.")]
Format = Annotated[
    Literal["text", "jsonl"], typer.Option(help="A table, or one JSON list per text.")
]


def fill_mask(
    model: Model,
    text: Texts = None,
    top_k: TopK = 5,
    target: Target = None,
    format: Format = "text",
    device: Device = "auto",
    threads: Threads = None,
    engine: Engine = "auto",
) -> None:
    """Predict the words in place of [MASK] (ESM-2: <mask>), with their probabilities."""
    texts = text or _lines()
    for one in texts:
        check_utf8(one, "TEXT")
    from clearhead.pipelines.fill_mask import FillMaskPipeline

    with warnings_on_stderr(quiet=False):
        fill = FillMaskPipeline.from_pretrained(model, device, threads, engine)
        every = fill(texts, top_k, target)
    for one, found in zip(texts, every, strict=True):
        if format == "jsonl":
            print(json.dumps(found, ensure_ascii=False))
            continue
        if len(texts) > 1:
            print(one)
        several = isinstance(found[0], list)
        for number, candidates in enumerate(found if several else [found], start=1):
            _show(candidates, f"mask {number}  " if several else "")


def _lines() -> list[str]:
    """The lines of standard input, which must not be a terminal."""
    if sys.stdin.isatty():
        raise UserError("no text is given; give it in quotes, with a mask where a word is missing")
    return [line for chunk in text_chunks(None, None, "") for line in chunk if line.strip()]


def _show(candidates: list[dict[str, Any]], mask: str) -> None:
    width = max(len(candidate["token_str"]) for candidate in candidates)
    for candidate in candidates:
        word = candidate["token_str"].ljust(width)
        print(f"{mask}{candidate['score']:.4f}  {word}  {candidate['sequence']}")
