"""`clearhead evaluate`: metrics of a translator, or of a file of translations."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli import options
from clearhead.cli.streams import only_file, warnings_on_stderr
from clearhead.errors import UserError, counted

if TYPE_CHECKING:
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
    bool, typer.Option("--as-papers", help="Add BLEU of lower-cased, Moses-tokenized text.")
]
Tokenized = Annotated[
    Path | None,
    typer.Option("--tokenized-references", help="References for --as-papers, already tokenized."),
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
TargetLang = Annotated[str, typer.Option(help="Target language in TMX, JSONL or a data set.")]


def evaluate(
    data: Data = None,
    model: options.Model = None,
    hypotheses: Hypotheses = None,
    against: Against = None,
    as_papers: Papers = False,
    tokenized: Tokenized = None,
    output: Output = None,
    beam_size: options.BeamSize = 4,
    length_penalty: options.LengthPenalty = 1.0,
    limit: Limit = None,
    json: Json = False,
    batch_tokens: options.BatchTokens = 8192,
    source_lang: SourceLang = "en",
    target_lang: TargetLang = "fr",
    check_copies: options.CheckCopies = None,
    ensemble: options.Ensemble = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
    engine: options.Engine = "auto",
) -> None:
    """Score a translator with BLEU and chrF.

    On the grammar corpus also exact match by phenomenon and construction. The translations are
    saved in a file. With --hypotheses, an existing file is scored; then --model is used only for
    the alignment error rate on the grammar corpus.
    """
    spec = _check(data, hypotheses, output, model)
    from clearhead.evaluation import evaluation, examples
    from clearhead.evaluation.scores import moses_bleu

    def load(*others: str) -> "Translator":
        from clearhead.translation import Translator

        return Translator.from_pretrained(model, device, threads, others=others, engine=engine)

    # Report errors before an hour of translating, not after it.
    pairs = examples.read_examples(spec, limit, source_lang, target_lang)
    read = partial(examples.read_hypotheses, lines=len(pairs), limited=len(pairs) == limit)
    other = read(against) if against else None
    papers = None
    if as_papers or tokenized:
        papers = moses_bleu(target_lang, read(tokenized) if tokenized else None)
    kept = hypotheses or output or examples.default_name(spec, model, len(ensemble or []), limit)
    with warnings_on_stderr(quiet=False):
        if hypotheses:
            found, system = read(kept), None
            translator = load() if model and pairs.grammar else None
        else:
            examples.check_writable(
                kept, spec, {"--against": against, "--tokenized-references": tokenized}
            )
            translator = load(*(ensemble or ()))
            if check_copies is not None:
                translator.check_copies = check_copies
            print(f"translating {counted(len(pairs), 'line')}", file=sys.stderr)
            found = translator.translate(
                pairs.sources, beam_size=beam_size, length_penalty=length_penalty,
                batch_tokens=batch_tokens,
            )  # fmt: skip
            examples.write_hypotheses(kept, found)
            models = [model or "shipped", *(ensemble or [])]
            system = _settings(models, beam_size, length_penalty, translator)
        result = evaluation.evaluate(pairs, found, other, translator, papers)
    subject = evaluation.Subject(spec, len(pairs), system, kept, against)
    print(evaluation.as_json(subject, result) if json else evaluation.as_text(subject, result))


def _check(
    data: str | None, hypotheses: Path | None, output: Path | None, model: str | None
) -> str:
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
    if model and not hypotheses:
        _refuse_other_models(model)
    return data


def _refuse_other_models(model: str) -> None:
    """Before the data is read, whose format depends on the kind of model."""
    from clearhead.text.model_files import OTHERS, read_json
    from clearhead.translation.loading import find_model

    directory = find_model(model)
    kind = str(read_json(directory / "config.json").get("model_type"))
    if kind in OTHERS:
        raise UserError(
            f"clearhead evaluate scores translators, and {directory} holds a {kind} model; its "
            f"validation metrics are in README.md there; use {OTHERS[kind]} for its output"
        )


def _settings(
    models: list[str], beam_size: int, length_penalty: float, translator: "Translator"
) -> dict[str, str | int | float]:
    """Model and search settings, as the report states them."""
    weight = next(translator.model.parameters())
    return {
        "model": " + ".join(models),
        "beam_size": beam_size,
        "length_penalty": length_penalty,
        "device": str(weight.device),
        "precision": str(weight.dtype).removeprefix("torch."),
    }
