"""`clearhead translate`: text in, text out, one line of output for each line of input."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli import options
from clearhead.cli.streams import check_output, check_texts, pour, text_chunks, warnings_on_stderr
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.decoding import DecodingOptions

logger = logging.getLogger(__name__)

# --with: the parameters that it supports, and what it always uses.
WITH_BLOCKS = {
    "text", "input", "output", "model", "beam_size", "length_penalty", "batch_tokens",
    "no_repeat_ngram", "max_length", "join_lines", "with_blocks", "quiet",
}  # fmt: skip
ALWAYS = {"device": "cpu", "engine": "readable", "check_copies": False}
HINT = "Type a sentence and press Enter to translate it; press Ctrl-D to quit."

Texts = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="What to translate; without it, standard input."),
]
Input = Annotated[
    Path | None,
    typer.Option("--input", "-i", help="Read lines from this file; - is standard input."),
]
NBest = Annotated[int, typer.Option(help="Translations of each line, best first.")]
Format = Annotated[
    Literal["text", "jsonl", "moses"],
    typer.Option(help="Lines of text, JSON objects, or a Moses n-best list."),
]
Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="Add the log-probability of each translation: 0 is certain; the more negative, the "
        "less certain.",
    ),
]
MarkDoubt = Annotated[
    bool,
    typer.Option(
        "--mark-doubt",
        help="Mark doubtful translations with the reason: a low score, a name or number that is "
        "missing, a source that is not English.",
    ),
]
Alignments = Annotated[
    bool, typer.Option("--alignments", help="Add word links such as 0-0 1-2, from attention.")
]
AlignmentLayer = Annotated[
    int | None,
    typer.Option(
        help="Decoder layer of --alignments.",
        show_default="the last of one or two, else the last but one",
    ),
]
NoRepeat = Annotated[int, typer.Option(help="Never repeat an n-gram of this size; 0: allow.")]
MaxLength = Annotated[
    int | None,
    typer.Option(help="Maximum length in tokens.", show_default="twice the source length, plus 20"),
]
Split = Annotated[bool, typer.Option(help="Translate a line sentence by sentence.")]
JoinLines = Annotated[
    bool,
    typer.Option(
        "--join-lines",
        help="Join the lines of each paragraph first, where a text was broken at a width.",
    ),
]
LongInput = Annotated[
    Literal["split", "refuse"],
    typer.Option(help="Split a sentence longer than the model's maximum, or stop with an error."),
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="FILE:CLASS",
        help="Translate with your own block, loaded with the model's weights; may be repeated.",
    ),
]


def translate(
    context: typer.Context,
    text: Texts = None,
    input: Input = None,
    output: options.Output = None,
    model: options.Model = None,
    beam_size: options.BeamSize = 4,
    length_penalty: options.LengthPenalty = 1.0,
    n_best: NBest = 1,
    format: Format = "text",
    scores: Scores = False,
    mark_doubt: MarkDoubt = False,
    check_copies: options.CheckCopies = None,
    alignments: Alignments = False,
    alignment_layer: AlignmentLayer = None,
    batch_tokens: options.BatchTokens = 8192,
    no_repeat_ngram: NoRepeat = 0,
    max_length: MaxLength = None,
    join_lines: JoinLines = False,
    split: Split = True,
    long_input: LongInput = "split",
    device: options.Device = "auto",
    threads: options.Threads = None,
    precision: options.Precision = "float32",
    engine: options.Engine = "auto",
    ensemble: options.Ensemble = None,
    with_blocks: With = None,
    quiet: options.Quiet = False,
) -> None:
    """Translate English into French, or the languages of --model; blank lines stay blank."""
    check_texts(text, input)
    check_output(output, input)
    if alignment_layer is not None and not alignments:
        raise UserError(f"--alignment-layer {alignment_layer} needs --alignments; give both")
    if with_blocks:
        _check_with(context)
    from clearhead.translation import DecodingOptions, Translator, documents
    from clearhead.translation.lines import Shown, Writer, windows

    search = DecodingOptions(
        beam_size=beam_size,
        length_penalty=length_penalty,
        n_best=n_best,
        no_repeat_ngram=no_repeat_ngram,
        max_length=max_length,
        batch_tokens=batch_tokens,
        scores=scores or format != "text",
    )
    chunks: Iterable[list[str]] = text_chunks(text, input, HINT)
    if join_lines:  # each TEXT is a document of its own
        chunks = [[*map(documents.join_lines, text)]] if text else documents.join_chunks(chunks)
    else:
        chunks = _with_advice(chunks)
    with warnings_on_stderr(quiet):
        if with_blocks:
            pour(_with_blocks(with_blocks, chunks, model, search), output)
            return
        translator = Translator.from_pretrained(
            model,
            device,
            threads,
            split_sentences=split,
            refuse_long=long_input == "refuse",
            precision=precision,
            others=ensemble or (),
            engine=engine,
        )
        if check_copies is not None:
            translator.check_copies = check_copies
        shown = Shown(scores, alignments, mark_doubt)
        write = Writer(translator, search, format, shown, alignment_layer)
        pour(map(write, windows(chunks)), output)


def _with_advice(chunks: Iterable[list[str]]) -> Iterator[list[str]]:
    """The same; where the first lines end within sentences, a warning names --join-lines."""
    from clearhead.translation.documents import ends_within_sentences

    for number, lines in enumerate(chunks):
        if number == 0 and ends_within_sentences("\n".join(lines).split("\n")):
            logger.warning(
                "lines end within sentences, and each line is translated by itself; "
                "--join-lines joins the lines of each paragraph"
            )
        yield lines


def _check_with(context: typer.Context) -> None:
    """Refuse the options that would have no effect on a learner's blocks."""
    for option in context.command.params:
        name, value = option.name or "", context.params.get(option.name or "")
        usual: tuple[object, ...] = (option.default, ALWAYS.get(name), None, ())
        if name not in WITH_BLOCKS and value not in usual:
            given = (option.secondary_opts if value is False else option.opts)[0]
            raise UserError(f"--with does not support {given}; leave one of them out")


def _with_blocks(
    specs: list[str], chunks: Iterable[list[str]], model: str | None, search: "DecodingOptions"
) -> Iterator[bytes]:
    """The translations by the learner's blocks; where they differ, next to the correct one."""
    import torch

    from clearhead.learn.swap import compare, load_block
    from clearhead.translation import Translator
    from clearhead.translation.loading import find_model, load_translator

    mine = [load_block(spec) for spec in specs]
    loaded, tokenizer = load_translator(find_model(model), torch.device("cpu"))
    texts = [text for chunk in chunks for text in chunk]

    def translate() -> list[str]:
        translator = Translator(loaded, tokenizer, engine="readable")
        return [best[0].text for best in translator.translate_detailed(texts, search)]

    expected, actual, swapped = compare(loaded, translate, mine)
    for one in swapped:
        logger.log(logging.WARNING if one.note else logging.INFO, "%s", one)
    for right, own in zip(expected, actual, strict=True):
        both = own if own == right else f"your block: {own}\nclearhead:  {right}"
        yield f"{both}\n".encode("utf-8", "backslashreplace")
