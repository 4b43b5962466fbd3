"""Translating the same sentences with the same weights: ours against production engines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from clearhead.compare import clearhead_decoding, ctranslate2, generate
from clearhead.compare.engine import Engine, Ids, Search, Subject
from clearhead.compare.peers import chosen, is_installed, left_out
from clearhead.compare.race import Contestant, Laps, fastest, race
from clearhead.compare.results import Duel, Heat, distinct
from clearhead.errors import UserError


@dataclass(frozen=True)
class Entry:
    """One name of the starting list and the package that it needs."""

    engines: Callable[[Subject], Iterable[Engine]]
    package: str


STARTERS = {
    "ctranslate2": Entry(ctranslate2.engines, "ctranslate2"),
    "transformers": Entry(generate.engines, "transformers"),
}
# How many times as fast as CTranslate2 in the same precision we want to be, by (rows, beam).
EQUAL_PRECISION = {(64, 1): 1.5, (64, 4): 1.3, (1, 1): 1.0}
BEST_AGAINST_INT8, GENERATE = 1.3, 5.0


class Translating:
    """One engine on all the sentences; remembers what it said."""

    def __init__(self, engine: Engine, sources: Sequence[Ids], search: Search) -> None:
        self.engine, self.sources, self.search = engine, sources, search
        self.found: list[Ids] = []

    def __call__(self) -> float:
        """Returns how many sentences were translated."""
        self.found = self.engine.translate(self.sources, self.search)
        return len(self.found)


def muster(subject: Subject, only: Sequence[str]) -> tuple[list[Engine], list[str]]:
    """All engines that are installed, ours first, and a remark for each one that is not.

    Raises:
        UserError: a name in `only` is nobody's.
    """
    engines: list[Engine] = list(clearhead_decoding.engines(subject))
    remarks = []
    for name in chosen(only, STARTERS):
        entry = STARTERS[name]
        if not is_installed(entry.package):
            remarks.append(left_out(name, entry.package))
            continue
        try:
            engines.extend(entry.engines(subject))
        except UserError as error:  # no export of this model's shape
            remarks.append(f"{name} left out: {error}")
    return engines, remarks


def decoding_heats(
    engines: Sequence[Engine],
    subject: Subject,
    sources: Sequence[Ids],
    shapes: tuple[Sequence[int], Sequence[int]],
    rounds: int,
    say: Callable[[str], None] = print,
) -> list[Heat]:
    """A heat for every number of rows and beams in `shapes`; at one row greedy alone.

    One row takes an eighth of the sentences: they are slow and all alike.
    """
    longest = max(map(len, sources))
    limit = min(2 * longest + 20, subject.model.config.tgt_seq_len)
    heats = []
    for rows, beam in product(*shapes):
        if rows > 1 or beam == 1 or len(shapes[1]) == 1:
            some = sources if rows > 1 else sources[: max(1, len(sources) // 8)]
            say(f"batch {rows}, beam {beam}")
            heats.append(decoding_heat(engines, some, Search(beam, rows, limit), rounds, say))
    return heats


def decoding_heat(
    engines: Iterable[Engine],
    sources: Sequence[Ids],
    search: Search,
    rounds: int,
    say: Callable[[str], None] = print,
) -> Heat:
    """One batch size, one beam; the notes say who translated as our float32 does."""
    laps_of = {engine.name: Translating(engine, sources, search) for engine in engines}
    laps = race([Contestant(name, run) for name, run in laps_of.items()], rounds, 1, say=say)
    reference, *_ = laps_of.values()
    notes = {
        name: f"{_same(run.found, reference.found):.1f} % the same" for name, run in laps_of.items()
    }
    manner = "greedy" if search.beam == 1 else f"beam {search.beam}"
    title = f"Decoding, batch {search.rows}, {manner}, {len(sources):,} sentences"
    return Heat(title, "sentences/s", laps, distinct(_duels(laps, search)), notes)


def _same(found: list[Ids], reference: list[Ids]) -> float:
    return 100 * sum(a == b for a, b in zip(found, reference, strict=True)) / len(reference)


def _duels(laps: Laps, search: Search) -> Iterator[Duel]:
    """Like against like, then our best against the best of others."""
    bar = EQUAL_PRECISION.get((search.rows, search.beam))
    for precision in ctranslate2.PRECISIONS:
        ours, theirs = f"{clearhead_decoding.NAME}, {precision}", f"{ctranslate2.NAME}, {precision}"
        if ours in laps and theirs in laps:
            yield Duel(ours, theirs, bar)
            if (best := fastest(laps, theirs)) and best != theirs:
                yield Duel(ours, best)
    champion = fastest(laps, clearhead_decoding.NAME)
    assert champion is not None
    for name, wanted in (
        (f"{ctranslate2.NAME}, int8", BEST_AGAINST_INT8),
        (generate.NAME, GENERATE),
    ):
        if best := fastest(laps, name):
            yield Duel(champion, best, wanted if search.rows > 1 else None)
