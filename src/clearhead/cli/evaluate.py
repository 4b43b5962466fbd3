"""`clearhead evaluate`: how good is a translator, or a file of translations?"""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from clearhead.cli.machine_options import Device, Threads
from clearhead.cli.model_options import Ensemble, Model
from clearhead.cli.search_options import BatchTokens, BeamSize, LengthPenalty
from clearhead.cli.warnings_on_stderr import warnings_on_stderr
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.evaluation.as_papers import AsPapers
    from clearhead.evaluation.judge import Verdict
    from clearhead.evaluation.report import Subject
    from clearhead.translation import Translator

Data = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="Test set: a file, SOURCE,TARGET or grammar:SPLIT:COUNT."),
]
Hypotheses = Annotated[
    Path | None,
    typer.Option("--hypotheses", "--hyp", help="Score this file, a line each; do not translate."),
]
Against = Annotated[
    Path | None, typer.Option(help="Another system's hypotheses, for a paired bootstrap.")
]
Papers = Annotated[
    bool, typer.Option("--as-papers", help="Also BLEU lower-cased and Moses-tokenised.")
]
Tokenized = Annotated[
    Path | None,
    typer.Option("--tokenized-references", help="References for --as-papers, made so before."),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Keep hypotheses here.", show_default="DATA.MODEL.hyp"),
]
Limit = Annotated[int | None, typer.Option(help="The first N pairs only.", show_default="all")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SourceLang = Annotated[str, typer.Option(help="What TMX, JSONL or a data set call the source.")]
TargetLang = Annotated[str, typer.Option(help="What they call the target.")]


class Search(NamedTuple):
    """How the model looks for its translations."""

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
    ensemble: Ensemble = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Score a translator with BLEU and chrF; on the grammar corpus also its errors by kind.

    The translations are kept in a file. With --hypotheses a file is scored as it is; a
    --model beside it is only asked where its attention looks, on the grammar corpus.
    """
    spec = _check(data, hypotheses, output)
    from clearhead.evaluation.examples import read_examples
    from clearhead.evaluation.hypotheses import check_writable, default_name, read_hypotheses
    from clearhead.evaluation.judge import judge
    from clearhead.evaluation.report import Subject

    # Whatever can be wrong is said before an hour of translating, not after it.
    examples = read_examples(spec, limit, source_lang, target_lang)
    read = partial(read_hypotheses, lines=len(examples), limited=limit is not None)
    other = read(against) if against else None
    road = _road(target_lang, read(tokenized) if tokenized else None, as_papers)
    kept = hypotheses or output or default_name(spec, model, len(ensemble or []))
    search = None if hypotheses else Search(beam_size, length_penalty, batch_tokens)
    with warnings_on_stderr(quiet=False):
        if search is None:
            found = read(kept)
            translator = _load(model, device, threads) if model and examples.grammar else None
        else:
            check_writable(kept)
            translator = _load(model, device, threads, ensemble)
            found = _translate(translator, examples.sources, search, kept)
        verdict = judge(examples, found, other, translator, road)
    system = _settings(model, ensemble, search, translator)
    _show(Subject(spec, len(examples), system, kept, against), verdict, json)


def _check(data: str | None, hypotheses: Path | None, output: Path | None) -> str:
    """What can be said before anything is loaded."""
    if hypotheses and output:
        raise UserError(
            "both --hypotheses and --output are given; a file that is scored is kept "
            "where it is: leave --output out"
        )
    if data is None:
        raise UserError(
            "evaluate on what? give a test set with --data, for example "
            "--data test.tsv, --data test.en,test.fr or --data grammar:test:1000"
        )
    return data


def _road(language: str, tokenized: list[str] | None, asked: bool) -> "AsPapers | None":
    """The way that papers score, where it was asked for in one way or the other."""
    if tokenized is None and not asked:
        return None
    from clearhead.evaluation.as_papers import as_papers

    return as_papers(language, tokenized)


def _load(
    model: str | None, device: str, threads: int | None, ensemble: list[str] | None = None
) -> "Translator":
    from clearhead.translation import Translator

    return Translator.from_pretrained(model, device, threads, others=ensemble or ())


def _translate(
    translator: "Translator", sources: list[str], search: Search, kept: Path
) -> list[str]:
    from clearhead.evaluation.hypotheses import write_hypotheses

    print(f"translating {len(sources):,} lines", file=sys.stderr)
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
    """What the numbers hold for; of translations that we did not make we know nothing."""
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


def _show(subject: "Subject", verdict: "Verdict", json: bool) -> None:
    from clearhead.evaluation.report import as_json
    from clearhead.evaluation.tables import as_text

    print(as_json(subject, verdict) if json else as_text(subject, verdict))
