"""Our own search, in every number format that this machine computes in."""

from collections.abc import Iterator, Sequence

from clearhead.compare.engine import Ids, Search, Subject
from clearhead.decoding import DecodingOptions, Engine, decode
from clearhead.decoding.precision import PACKS, Precision
from clearhead.errors import UserError
from clearhead.models import Transformer

NAME = "clearhead"


class Clearhead:
    """`clearhead.decoding.decode` as `clearhead translate` calls it."""

    def __init__(self, model: Transformer, precision: Precision) -> None:
        self.name, self.precision = f"{NAME}, {precision}", precision
        self.inner = Engine.of(model, precision)

    def translate(self, sources: Sequence[Ids], search: Search) -> list[Ids]:
        """As `Engine.translate`; at one row sentence by sentence, as they come."""
        options = _options(search, longest=max(map(len, sources)))
        if search.rows > 1:
            return [best[0].ids for best in decode(self.inner, sources, options)]
        return [decode(self.inner, [source], options)[0][0].ids for source in sources]


def _options(search: Search, longest: int) -> DecodingOptions:
    return DecodingOptions(
        beam_size=search.beam,
        max_length=search.limit,
        early_stopping=True,
        batch_sentences=search.rows,
        batch_tokens=search.rows * search.beam * longest,  # which so is no limit of its own
        scores=False,
    )


def engines(subject: Subject) -> Iterator[Clearhead]:
    """float32, and the shorter formats where blocks and device allow them."""
    for precision in PACKS:
        try:
            yield Clearhead(subject.model, precision)
        except UserError:
            continue
