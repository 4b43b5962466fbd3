"""Which source word a target word came from, read off the cross-attention.

Attention is not alignment: it says where the model looked, and a layer may
look elsewhere than at the word it translates (at the end sign, at the word
after). Expect a rough picture, best for content words; `clearhead evaluate`
measures the error of every layer and head. Words are what `str.split` gives.
"""

from collections.abc import Callable, Sequence

from torch import Tensor

from clearhead.text import BothLanguages
from clearhead.translation.result import Link


def word_numbers(decode: Callable[[Sequence[int]], str], ids: Sequence[int]) -> list[int]:
    """The number of the word that each token belongs to."""
    beginnings = [decode(ids[: end + 1]) for end in range(len(ids))]
    return [max(0, len(text.split()) - 1) for text in beginnings]


def word_links(
    tokenizer: BothLanguages, source: Sequence[int], target: Sequence[int], attention: Tensor
) -> list[Link]:
    """For every target word the source word that its tokens looked at most.

    Shape: attention: (target tokens, source tokens and end sign).
    """
    if not (tokenizer.decode_source(source).split() and tokenizer.decode(target).split()):
        return []  # nothing but white space: there are no words to link
    source_words = word_numbers(tokenizer.decode_source, source)
    target_words = word_numbers(tokenizer.decode, target)
    shape = (target_words[-1] + 1, source_words[-1] + 1)
    columns = attention.new_zeros(len(target), shape[1])
    columns.index_add_(1, _index(source_words, attention), attention[:, : len(source)])
    words = attention.new_zeros(shape)
    words.index_add_(0, _index(target_words, attention), columns)
    return [(int(best), word) for word, best in enumerate(words.argmax(dim=1))]


def first_word(text: str, start: int) -> int:
    """How many words of the text begin before `start`, not counting one that goes on there."""
    before = text[:start]
    goes_on = before and not before[-1].isspace()
    return len(before.split()) - bool(goes_on)


def _index(numbers: list[int], like: Tensor) -> Tensor:
    return like.new_tensor(numbers).long()
