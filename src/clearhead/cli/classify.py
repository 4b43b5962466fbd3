"""`clearhead classify`: labels of texts, or of their words, by a fine-tuned model."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clearhead.cli.options import Device, Engine, Quiet, Threads, Truncate
from clearhead.cli.streams import Form, check_texts, named_texts, text_chunks, warnings_on_stderr
from clearhead.errors import UserError
from clearhead.text.inputs import as_cell

if TYPE_CHECKING:
    from clearhead.pipelines.classification import Strategy
    from clearhead.pipelines.text_model import TextModel

AT_ONCE = 512  # sequences
HINT = "Type a text and press Enter to classify it; press Ctrl-D to quit."
Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="What to classify; without it, standard input."),
]
Model = Annotated[
    str, typer.Option(help="Directory of a fine-tuned BERT or ESM-2 or of a run, or its name.")
]
Input = Annotated[
    Path | None, typer.Option("--input", "-i", help="Read lines or FASTA from this file (or .gz).")
]
TopK = Annotated[
    int | None,
    typer.Option(help="Labels of each text, likeliest first; 0 means all.", show_default="1"),
]
Words = Annotated[
    Literal["none", "simple", "first", "max", "average"] | None,
    typer.Option(
        help="How tokens are merged into words and entities; none: one row per token.",
        show_default="first",
    ),
]
Format = Annotated[
    Literal["text", "jsonl"], typer.Option(help="Tab-separated columns, or one JSON list per text.")
]

Answer = Callable[[list[str]], list[list[dict[str, Any]]]]


def classify(
    model: Model,
    text: Texts = None,
    input: Input = None,
    top_k: TopK = None,
    words: Words = None,
    format: Format = "text",
    truncate: Truncate = False,
    device: Device = "auto",
    threads: Threads = None,
    engine: Engine = "auto",
    quiet: Quiet = False,
) -> None:
    """Label whole texts or single words, with probabilities; the model's head decides which."""
    check_texts(text, input, expected="a text or FASTA file")
    if top_k is not None and top_k < 0:
        raise UserError(f"--top-k {top_k} is not a number of labels; give 1 or more, or 0 for all")
    from clearhead.data.fasta import is_fasta
    from clearhead.pipelines.text_model import TextModel
    from clearhead.text.esm_alphabet import EsmAlphabet

    with warnings_on_stderr(quiet):
        reader = TextModel.from_pretrained(model, device, threads, engine=engine)
        tags = "token" in reader.model.heads
        _check_head(tags, top_k, words)
        count = 1 if top_k is None else top_k
        answer = (
            _tagger(reader, words or "first", truncate)
            if tags
            else _classifier(reader, count, truncate)
        )
        as_json = format == "jsonl"
        # A line of ordinary text may begin with >.
        is_protein = isinstance(reader.tokenizer, EsmAlphabet)
        form: Form = "auto" if is_protein or is_fasta(str(input)) else "text"
        for chunk in _chunks(text, input, form):
            for found in answer(chunk):
                shown = json.dumps(found, ensure_ascii=False) if as_json else _columns(found, tags)
                print(shown, flush=True)


def _check_head(tags: bool, top_k: int | None, words: Words) -> None:
    """Refuse an option of the other kind of model."""
    if tags and top_k is not None:
        raise UserError(f"--top-k {top_k} is for labels of texts, this model labels words; omit it")
    if not tags and words is not None:
        raise UserError(f"--words {words} is for labels of words, this model labels texts; omit it")


def _classifier(reader: "TextModel", top_k: int, truncate: bool) -> Answer:
    from clearhead.pipelines.classification import TextClassificationPipeline

    classify = TextClassificationPipeline(reader, truncate)
    return lambda texts: [ranked[: top_k or None] for ranked in classify.ranked(texts)]


def _tagger(reader: "TextModel", words: "Strategy", truncate: bool) -> Answer:
    from clearhead.pipelines.classification import TokenClassificationPipeline

    tag = TokenClassificationPipeline(reader, truncate)
    return lambda texts: tag(texts, words)


def _chunks(text: list[str] | None, input: Path | None, form: Form) -> Iterator[list[str]]:
    """Lines as they come, so that one from a pipe is classified at once; sequences AT_ONCE."""
    if text or form == "text":
        from clearhead.translation.lines import windows

        yield from windows(text_chunks(text, input, HINT))
        return
    every = (named.text for named in named_texts(str(input or "-"), form))
    while chunk := list(islice(every, AT_ONCE)):
        yield chunk


def _columns(answer: list[dict[str, Any]], tags: bool) -> str:
    """A text's labels on one line; a tagger's words one a line, with an empty line after a text."""
    if not tags:
        return "\t".join(f"{as_cell(one['label'])}\t{one['score']:.4f}" for one in answer)
    rows = (
        f"{as_cell(one['word'])}\t{as_cell(one.get('entity_group') or one['entity'])}\t"
        f"{one['score']:.4f}\t"
        f"{one['start']}\t{one['end']}\n"
        for one in answer
    )
    return "".join(rows)
