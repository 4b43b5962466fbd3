"""`clearhead evaluate`: metrics of a translator, or of a file of translations."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from clearhead.cli.options import (
    BatchTokens,
    BeamSize,
    CheckCopies,
    Device,
    Engine,
    Ensemble,
    LengthPenalty,
    Model,
    Threads,
)
from clearhead.cli.streams import only_file, warnings_on_stderr
from clearhead.errors import UserError, counted

if TYPE_CHECKING:
    from clearhead.decoding.choice import EngineName
    from clearhead.evaluation.evaluation import Evaluation, Subject
    from clearhead.evaluation.scores import MosesBleu
    from clearhead.translation import Translator

Data = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="Test set: a file, SOURCE,TARGET or grammar:SPLIT:COUNT."),
]
Hypotheses = Annotated[
    Path | None,
    typer.Option("--hypotheses", "--hyp", help="Score this file, one line each; do not translate."),
]
Against = Annotated[
    Path | None, typer.Option(help="Another system's hypotheses, for a paired bootstrap.")
]
Papers = Annotated[
    bool, typer.Option("--as-papers", help="Also BLEU lower-cased and Moses-tokenised.")
]
Tokenized = Annotated[
    Path | None,
    typer.Option("--tokenized-references", help="References for --as-papers, already tokenised."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="File for the hypotheses.", show_default="DATA.MODEL.hyp",
        callback=only_file,
    ),
]  # fmt: skip
Limit = Annotated[int | None, typer.Option(help="Only the first N pairs.", show_default="all")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SourceLang = Annotated[str, typer.Option(help="Source language in TMX, JSONL or a data set.")]
TargetLang = Annotated[str, typer.Option(help="Target language there.")]


class Search(NamedTuple):
    """Settings of the search."""

    beam_size: int
    length_penalty: float
    batch_tokens: int


def evaluate(
    data: Data = None,
    model: Model = None,
    hypotheses: Hypotheses = None,
    against: Against = None,
    as_papers: Papers = False,
    tokenized: Tokenized = None,
    output: Output = None,
    beam_size: BeamSize = 4,
    length_penalty: LengthPenalty = 1.0,
    limit: Limit = None,
    json: Json = False,
    batch_tokens: BatchTokens = 8192,
    source_lang: SourceLang = "en",
    target_lang: TargetLang = "fr",
    check_copies: CheckCopies = None,
    ensemble: Ensemble = None,
    device: Device = "auto",
    threads: Threads = None,
    engine: Engine = "auto",
) -> None:
    """Score a translator with BLEU and chrF.

    On the grammar corpus also exact match by phenomenon and construction. The translations are
    saved in a file. With --hypotheses, an existing file is scored; then --model is used only for
    the alignment error rate on the grammar corpus.
    """
    spec = _check(data, hypotheses, output)
    from clearhead.evaluation.evaluation import Subject
    from clearhead.evaluation.evaluation import evaluate as compute_metrics
    from clearhead.evaluation.examples import (
        check_writable,
        default_name,
        read_examples,
        read_hypotheses,
    )

    # Report errors before an hour of translating, not after it.
    examples = read_examples(spec, limit, source_lang, target_lang)
    read = partial(read_hypotheses, lines=len(examples), limited=limit is not None)
    other = read(against) if against else None
    papers = _moses_bleu(target_lang, read(tokenized) if tokenized else None, as_papers)
    kept = hypotheses or output or default_name(spec, model, len(ensemble or []), limit)
    search = None if hypotheses else Search(beam_size, length_penalty, batch_tokens)
    with warnings_on_stderr(quiet=False):
        if search is None:
            found = read(kept)
            translator = (
                _load(model, device, threads, engine) if model and examples.grammar else None
            )
        else:
            check_writable(kept, spec, {"--against": against, "--tokenized-references": tokenized})
            translator = _load(model, device, threads, engine, ensemble)
            if check_copies is not None:
                translator.check_copies = check_copies
            found = _translate(translator, examples.sources, search, kept)
        evaluation = compute_metrics(examples, found, other, translator, papers)
    system = _settings(model, ensemble, search, translator)
    _show(Subject(spec, len(examples), system, kept, against), evaluation, json)


def _check(data: str | None, hypotheses: Path | None, output: Path | None) -> str:
    """The test set; errors that can be found before anything is loaded."""
    if hypotheses and output:
        raise UserError(
            "both --hypotheses and --output are given; a file that is scored "
            "is not written again: leave --output out"
        )
    if data is None:
        raise UserError(
            "no test set: give one with --data, for example "
            "--data test.tsv, --data test.en,test.fr or --data grammar:test:1000"
        )
    return data


def _moses_bleu(language: str, tokenized: list[str] | None, requested: bool) -> "MosesBleu | None":
    if tokenized is None and not requested:
        return None
    from clearhead.evaluation.scores import moses_bleu

    return moses_bleu(language, tokenized)


def _load(
    model: str | None,
    device: str,
    threads: int | None,
    engine: "EngineName",
    ensemble: list[str] | None = None,
) -> "Translator":
    from clearhead.translation import Translator

    return Translator.from_pretrained(model, device, threads, others=ensemble or (), engine=engine)


def _translate(
    translator: "Translator", sources: list[str], search: Search, kept: Path
) -> list[str]:
    from clearhead.evaluation.examples import write_hypotheses

    print(f"translating {counted(len(sources), 'line')}", file=sys.stderr)
    found = translator.translate(
        sources,
        beam_size=search.beam_size,
        length_penalty=search.length_penalty,
        batch_tokens=search.batch_tokens,
    )
    write_hypotheses(kept, found)
    return found


def _settings(
    model: str | None,
    ensemble: list[str] | None,
    search: Search | None,
    translator: "Translator | None",
) -> dict[str, str | int | float] | None:
    """Model and search settings; None if the hypotheses come from a file."""
    if search is None or translator is None:
        return None
    weight = next(translator.model.parameters())
    return {
        "model": " + ".join([model or "shipped", *(ensemble or [])]),
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "device": str(weight.device),
        "precision": str(weight.dtype).removeprefix("torch."),
    }


def _show(subject: "Subject", evaluation: "Evaluation", json: bool) -> None:
    from clearhead.evaluation.evaluation import as_json, as_text

    print(as_json(subject, evaluation) if json else as_text(subject, evaluation))
