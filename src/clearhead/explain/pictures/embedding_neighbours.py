"""Which words lie near each other in the table of embeddings."""

from collections.abc import Sequence

import torch
from matplotlib.figure import Figure

from clearhead.errors import UserError
from clearhead.explain.pictures.matrix import plain
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import BLUE, RULES, in_style
from clearhead.explain.words import label
from clearhead.text import BothLanguages
from clearhead.text.tokenizer import SPECIALS
from clearhead.translation import Translator

Neighbours = list[tuple[str, float]]
_MOST = 8


def nearest(translator: Translator, word: str, count: int = 8) -> Neighbours:
    """The tokens whose embeddings have the largest cosine with that of the word.

    Raises:
        UserError: the word is more than one token, and so has no row of its own.
    """
    token = _only_token(translator.tokenizer, word)
    table = translator.model.src_embed.get_parameter("embedding.weight").detach().float()
    table = torch.nn.functional.normalize(table[: translator.tokenizer.vocab_size], dim=1)
    cosines = table @ table[token]
    cosines[: len(SPECIALS)] = cosines[token] = -torch.inf
    best = cosines.topk(count)
    return [
        (label(translator.tokenizer.piece(i)), value)
        for i, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


@in_style()
def embedding_neighbours(translator: Translator, words: Sequence[str], count: int = 8) -> Picture:
    """One panel a word: its nearest tokens and how near they are (1 = the same direction)."""
    if not 1 <= len(words) <= _MOST:
        raise UserError(f"this picture has room for 1 to {_MOST} words, got {len(words)}")
    found = {word: nearest(translator, word, count) for word in words}
    columns = min(4, len(found))
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(2.8 * columns, 0.27 * count * rows + 0.9 * rows))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    for axes, (word, near) in zip(panels.flat, found.items(), strict=False):
        names, values = zip(*near, strict=True)
        axes.barh(range(count), values, color=BLUE, height=0.7)
        axes.set_yticks(range(count), plain(names))
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set_title(f"near {plain([word])[0]!r}")
        axes.set_xlim(0, 1)
    for axes in panels[-1]:
        axes.set_xlabel("cosine")
    return Picture(figure, RULES)


def _only_token(tokenizer: BothLanguages, word: str) -> int:
    ids = tokenizer.encode(word)
    if len(ids) != 1:
        pieces = " ".join(repr(tokenizer.piece(i)) for i in ids) or "nothing"
        raise UserError(
            f"{word!r} is {len(ids)} tokens to this model ({pieces}) and has no row of its own "
            "in the table; give a more common word"
        )
    return ids[0]
