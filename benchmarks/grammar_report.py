"""A table of what a model trained on the built-in grammar has learned, by split.

    python benchmarks/grammar_report.py runs/first_light [--sentences 1000] [--beam-size 4]

Exact match on unseen sentences of each kind, the phenomena with most errors, and the alignment
error rate of the best cross-attention head on the test split. The targets are those of the
first_light recipe.
"""

import argparse
from pathlib import Path

from clearhead import Translator
from clearhead.compare.timing import describe_machine
from clearhead.evaluation.evaluation import Evaluation, evaluate
from clearhead.evaluation.examples import read_examples

SPLITS = ("dev", "test", "held_out_words", "held_out_constructions", "long")
TARGETS = {"test": 99.0, "held_out_words": 95.0}  # percent exact match
ALIGNMENT_BAR = 15.0  # percent alignment error of the best head


def main() -> None:
    """Translate every split and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beam-size", type=int, default=4)
    arguments = parser.parse_args()
    translator = Translator.from_pretrained(arguments.model)
    print(describe_machine())
    print(f"{arguments.sentences:,} sentences per split, beam size {arguments.beam_size}\n")
    print("| split | exact match | target | BLEU | wrong most often |\n|---|---|---|---|---|")
    for split in SPLITS:
        evaluation = examine(translator, split, arguments.sentences, arguments.beam_size)
        print(row(split, evaluation), flush=True)
        if evaluation.alignment is not None:
            alignment = alignment_lines(evaluation)
    print(f"\n{alignment}")


def examine(translator: Translator, split: str, sentences: int, beam_size: int) -> Evaluation:
    """Alignment is measured on the test split only."""
    examples = read_examples(f"grammar:{split}:{sentences}")
    found = translator.translate(examples.sources, beam_size=beam_size)
    return evaluate(examples, found, translator=translator if split == "test" else None)


def row(split: str, evaluation: Evaluation) -> str:
    exact = evaluation.exact_match
    assert exact is not None  # it is the grammar corpus
    wrong = sorted(exact.by_phenomenon.items(), key=lambda item: item[1].percent)
    worst = ", ".join(f"{n} {c.right} of {c.total}" for n, c in wrong[:3] if c.right < c.total)
    percent, least = exact.overall.percent, TARGETS.get(split)
    target = "none" if least is None else f"≥ {least:g} %: {met(percent >= least)}"
    return (
        f"| {split} | {percent:.2f} % | {target} | {evaluation.scores.bleu.value:.2f} | {worst} |"
    )


def alignment_lines(evaluation: Evaluation) -> str:
    found = evaluation.alignment
    assert found is not None
    best, error = found.best, 100 * found.best.error
    return (
        f"alignment error rate of the best cross-attention head: {error:.1f} % "
        f"(≤ {ALIGNMENT_BAR:g} %: {met(error <= ALIGNMENT_BAR)}), layer {best.layer}, "
        f"head {best.head}, {best.rows} rows;\n"
        f"one link for each target word cannot do better than {100 * found.floor:.1f} %"
    )


def met(holds: bool) -> str:
    return "met" if holds else "missed"


if __name__ == "__main__":
    main()
