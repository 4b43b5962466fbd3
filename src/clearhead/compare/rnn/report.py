"""The study as a page of Markdown; every sentence that judges comes from `findings`."""

from collections.abc import Iterable, Iterator, Sequence

from clearhead.compare.rnn.entrants import TRANSFORMER
from clearhead.compare.rnn.findings import TIE, left_of, number, questions, reach, slopes
from clearhead.compare.rnn.numbers import Gradients, Lesson, Numbers, PerName, Recall, Wall


def as_markdown(found: Numbers) -> str:
    """Who won what, then every experiment with its picture and its table."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Numbers) -> Iterator[str]:
    yield "# RNNs and the Transformer, measured\n"
    yield f"{found.setting}\n\nMachine: {found.machine}.\n"
    rows = [[n, f"{s.hidden:,}", f"{s.parameters:,}"] for n, s in found.sizes.items()]
    yield from table(["", "width of the state", "parameters"], rows)
    yield from _verdicts(found)
    yield from _wall(found.wall)
    yield from _gradients(found.gradients)
    yield from _recall(found.recall)
    for count, lesson in enumerate(found.lessons, 1):
        yield from _lesson(lesson, count)
    writing = found.writing
    yield from _head("Writing one sentence", "writing")
    yield "Kilobytes carried from token to token, after so many tokens:\n"
    yield from _per_name("tokens", writing.lengths, writing.kilobytes)
    yield "\nMicroseconds a token:\n"
    yield from _per_name("tokens", writing.lengths, writing.microseconds)


def _verdicts(found: Numbers) -> Iterator[str]:
    asked = list(questions(found))
    for title, wanted in (
        ("Where the Transformer wins", [q for q in asked if q.winner == TRANSFORMER]),
        ("Where an RNN wins", [q for q in asked if q.winner not in (TRANSFORMER, TIE)]),
        (
            "Too close to call (within 5 %, or within what chance does)",
            [q for q in asked if q.winner == TIE],
        ),
    ):
        yield f"\n## {title}\n"
        yield from [f"- {question.sentence()}." for question in wanted] or ["Nowhere in this run."]


def _wall(wall: Wall) -> Iterator[str]:
    yield from _head("The sequential wall", "wall")
    grown = slopes(wall.lengths, wall.seconds)
    yield (
        f"A step always has {wall.tokens:,} tokens a side. Its time grows with the length of the "
        "sentences to the power (0: not at all, 1: in proportion) "
        + ", ".join(f"{name} {power:.2f}" for name, power in grown.items())
        + ".\n\nMilliseconds a step:\n"
    )
    milliseconds = {name: [1e3 * value for value in own] for name, own in wall.seconds.items()}
    yield from _per_name("tokens a sentence", wall.lengths, milliseconds)
    yield "\nMegabytes kept for the backward pass:\n"
    yield from _per_name("tokens a sentence", wall.lengths, wall.megabytes)


def _gradients(gradients: Gradients) -> Iterator[str]:
    yield from _head("How far back a gradient reaches", "gradients")
    for when, norms in (("Fresh", gradients.norms), ("After training", gradients.trained)):
        for name, own in norms.items():
            left = left_of(gradients.distances, own)
            end, far = reach(gradients.distances, left), gradients.distances[-1]
            where = f"below 1 % from {end} words back on; " if end else ""
            yield f"- {when}, {name}: {where}{number(100 * left[-1])} % is left at {far}."


def _recall(recall: Recall) -> Iterator[str]:
    yield from _head("Recall of a token planted n tokens back", "recall")
    yield (
        f"One of {recall.symbols} symbols, then noise; chance is {100 / recall.symbols:.1f} %. "
        "Everybody stops at 99 %, or when all sequences are used up; fewer sequences and less "
        "than 99 % mean that the clock ran out. Right, %:\n"
    )
    percent = {name: [100 * value for value in own] for name, own in recall.accuracy.items()}
    yield from _per_name("tokens back", recall.distances, percent)
    yield "\nSequences learnt from:\n"
    most = {"all of them": [float(count) for count in recall.most]}
    yield from _per_name("tokens back", recall.distances, recall.sequences | most)


def _lesson(lesson: Lesson, count: int) -> Iterator[str]:
    yield from _head(f"Translating: {lesson.title}, {lesson.pairs:,} pairs", f"lesson_{count}")
    rows = []
    for name, curve in lesson.curves.items():
        last, best = curve[-1], min(point.loss for point in curve)
        numbers = [f"{last.tokens:,}", f"{last.bleu:.1f}", f"{last.loss:.2f}", f"{best:.2f}"]
        rows.append([name, *numbers])
    yield f"After {lesson.seconds:.0f} s of learning each:\n"
    yield from table(["", "tokens read", "BLEU", "loss", "best loss"], rows)


def _head(title: str, picture: str) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield f"![{title}]({picture}.png)\n"


def _per_name(label: str, xs: Sequence[int], values: PerName) -> Iterator[str]:
    rows = [[name, *map(number, own)] for name, own in values.items()]
    return table([label, *(f"{x:,}" for x in xs)], rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A Markdown table, numbers to the right."""
    yield f"| {' | '.join(head)} |"
    yield "|---|" + "--:|" * (len(head) - 1)
    yield from (f"| {' | '.join(row)} |" for row in rows)
