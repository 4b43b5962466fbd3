from collections.abc import Iterator, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from clearhead import Translator
from clearhead.data.grammar import SPLITS, GrammarPair, word_spans, words
from clearhead.errors import UserError
from clearhead.evaluation import alignment_error
from clearhead.evaluation.alignment_error import (
    LinkCount,
    alignment_errors,
    link_matrix,
    word_indices,
    words_of_tokens,
)
from clearhead.models import Transformer
from clearhead.text import Tokenizer
from clearhead.translation.result import alignment_layer_of
from tests.evaluation.tiny import HEADS, LAYERS, model, pairs, tokenizer

TEXTS = st.one_of(st.text(max_size=30), st.text("ab' ?!-é\u202f«\u0301", max_size=20))


def gold_attention(pair: GrammarPair) -> Tensor:
    """Head 1 of the last layer follows the gold links in the rows that predict."""
    source, target = (
        words_of_tokens(tokenizer(), pair.source),
        words_of_tokens(tokenizer(), pair.target),
    )
    gold = link_matrix(pair.sure, pair.alignment, target.shape[1], source.shape[1])
    weights = torch.full((LAYERS, HEADS, target.shape[0] + 1, source.shape[0] + 1), 0.01)
    weights[-1, 1, :-1, :-1] += target @ gold @ source.T
    weights[..., -1] = 5.0  # EOS, which unused heads attend to, is not a word
    return weights


@pytest.fixture
def gold_head(monkeypatch: pytest.MonkeyPatch) -> None:
    def weights(
        model: Transformer, sources: Sequence[object], targets: Sequence[object], tokens: int
    ) -> Iterator[tuple[int, Tensor]]:
        # In reverse, since the order of batches is not guaranteed.
        for number in reversed(range(len(sources))):
            yield number, gold_attention(pairs()[number])

    monkeypatch.setattr(alignment_error, "cross_attention_heads", weights)


@pytest.mark.usefixtures("gold_head")
def test_a_head_with_gold_attention_is_found_and_reaches_the_floor() -> None:
    found = alignment_errors(model(), tokenizer(), pairs())
    best = found.best
    assert (best.rows, best.layer, best.head) == ("output", LAYERS - 1, 1)
    assert best.error == pytest.approx(found.floor, abs=1e-6)
    assert best.error == found.heads["output"][LAYERS - 1][1]


@pytest.mark.usefixtures("gold_head")
def test_the_error_is_0_if_every_word_has_one_gold_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simple = []
    for pair in pairs():
        links = tuple((0, word) for word in range(len(words(pair.target))))
        simple.append(pair._replace(alignment=links, sure=links))
    monkeypatch.setitem(globals(), "pairs", lambda: simple)
    found = alignment_errors(model(), tokenizer(), simple)
    assert found.floor == found.best.error == 0


def test_errors_of_a_model_are_between_the_floor_and_1() -> None:
    found = alignment_errors(model(), tokenizer(), pairs())
    for rows in ("input", "output"):
        assert len(found.layers[rows]) == LAYERS
        errors = [error for layer in found.heads[rows] for error in layer] + found.layers[rows]
        assert len(errors) == LAYERS * (HEADS + 1)
        assert all(found.floor - 1e-6 <= error <= 1 for error in errors)


def test_the_layer_of_links_is_the_one_with_the_smallest_error_of_the_shipped_translator() -> None:
    shipped = Translator.from_pretrained(engine="readable")
    assert isinstance(shipped.model, Transformer) and isinstance(shipped.tokenizer, Tokenizer)
    found = alignment_error.alignment_errors(shipped.model, shipped.tokenizer, pairs(count=60))
    errors = found.layers["output"]
    assert errors.index(min(errors)) == alignment_layer_of(len(errors))


def test_errors_do_not_depend_on_the_batch_size() -> None:
    one = alignment_errors(model(), tokenizer(), pairs(), batch_tokens=1)
    many = alignment_errors(model(), tokenizer(), pairs())
    assert one.heads == many.heads


def test_pairs_that_are_too_long_are_skipped_and_counted() -> None:
    sizes = sorted(
        max(len(tokenizer().encode(p.source)), len(tokenizer().encode(p.target))) for p in pairs()
    )
    found = alignment_errors(model(sizes[5] + 1), tokenizer(), pairs())
    kept = sum(size <= sizes[5] for size in sizes)
    assert (found.sentences, found.skipped) == (kept, len(sizes) - kept)


def test_a_model_with_too_few_positions_is_refused() -> None:
    with pytest.raises(UserError, match="none of the 12 sentences fits the 2 source"):
        alignment_errors(model(2), tokenizer(), pairs())


def sure_links(links: list[tuple[int, int]], target_words: int, source_words: int) -> Tensor:
    return link_matrix(links, links, target_words, source_words)


def error(attention: Tensor, gold: Tensor, present: Tensor | None = None) -> float:
    count = LinkCount()
    count.add(
        attention, gold, torch.ones(gold.shape[0], dtype=torch.bool) if present is None else present
    )
    return count.error().item()


@st.composite
def sentences(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Attention and gold links of one shape."""
    target, source = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    attention = torch.rand(target, source, generator=generator)
    values = torch.tensor([0.0, 0.0, 1.0, 2.0])  # no link, no link, possible, sure
    return attention, values[torch.randint(4, (target, source), generator=generator)]


def test_gold_attention_has_no_error() -> None:
    gold = sure_links([(0, 2), (1, 0), (2, 1)], 3, 3)
    assert error(gold, gold) == 0


def test_attention_without_any_gold_link_has_error_1() -> None:
    gold = sure_links([(0, 0), (1, 1)], 2, 3)
    assert error(sure_links([(2, 0), (2, 1)], 2, 3), gold) == 1


def test_the_formula_of_och_and_ney() -> None:
    gold = sure_links([(0, 0), (1, 0), (2, 1)], 3, 3)
    attention = sure_links([(0, 0), (1, 1), (2, 2)], 3, 3)
    found = {(0, 0), (1, 1), (2, 2)}
    sure = {(0, 0), (1, 0), (2, 1)}
    assert error(attention, gold) == pytest.approx(1 - 2 * len(found & sure) / (3 + 3))


def test_a_possible_link_is_right_if_found_and_not_required() -> None:
    sure, possible = {(0, 0), (1, 1)}, {(0, 0), (1, 1), (0, 2)}
    gold = link_matrix(sure, possible, 3, 2)
    found, other = (sure_links([(0, 0), (1, 1), (source, 2)], 3, 2) for source in (0, 1))
    assert error(found, gold) == 1 - (2 + 3) / (3 + 2)
    assert error(other, gold) == pytest.approx(1 - (2 + 2) / (3 + 2))


@given(sentences())
def test_the_error_is_between_0_and_1(sentence: tuple[Tensor, Tensor]) -> None:
    assert 0 <= error(*sentence) <= 1


@given(sentences())
def test_no_aligner_is_better_than_gold_attention(sentence: tuple[Tensor, Tensor]) -> None:
    attention, gold = sentence
    assert error(attention, gold) >= error(gold, gold) - 1e-6


@given(st.lists(sentences(), min_size=1, max_size=3))
def test_many_aligners_together_have_the_errors_of_each(
    corpus: list[tuple[Tensor, Tensor]],
) -> None:
    together, first, second = LinkCount(), LinkCount(), LinkCount()
    for attention, gold in corpus:
        present = torch.ones(gold.shape[0], dtype=torch.bool)
        together.add(torch.stack([attention, -attention]), gold, present)
        first.add(attention, gold, present)
        second.add(-attention, gold, present)
    assert together.error().tolist() == [first.error().item(), second.error().item()]


def test_a_word_without_tokens_gets_no_link() -> None:
    gold = sure_links([(0, 0)], 2, 2)
    attention = sure_links([(0, 0), (0, 1)], 2, 2)
    assert error(attention, gold, torch.tensor([True, False])) == 0


def test_without_any_link_there_is_no_error() -> None:
    assert LinkCount().error().item() == 0


@given(TEXTS)
def test_every_token_of_any_text_belongs_to_exactly_one_word(text: str) -> None:
    matrix = words_of_tokens(tokenizer(), text)
    words = word_spans(text)
    assert matrix.shape == (len(tokenizer().encode(text)), len(words))
    assert not words or matrix.sum(dim=1).tolist() == [1.0] * matrix.shape[0]


@given(TEXTS)
def test_words_are_in_the_order_of_their_tokens(text: str) -> None:
    pieces = [span for _, span in tokenizer().pieces(text)]
    numbers = word_indices(pieces, word_spans(text))
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("split", SPLITS)
def test_every_word_of_the_grammar_has_a_token(split: str) -> None:
    for pair in pairs(split, 40):
        for text in (pair.source, pair.target):
            assert words_of_tokens(tokenizer(), text).any(dim=0).all(), text


def test_a_token_belongs_to_the_word_with_most_of_it_and_a_space_to_the_next_word() -> None:
    words = [(0, 4), (4, 6), (8, 10)]  # "Paul's  xx"
    pieces = [(0, 2), (2, 5), (5, 6), (6, 7), (7, 10), (10, 11)]
    assert word_indices(pieces, words) == [0, 0, 1, 2, 2, 2]


def test_a_token_with_equal_shares_belongs_to_the_later_word() -> None:
    assert word_indices([(0, 2), (1, 3)], [(0, 2), (2, 3)]) == [0, 1]


def test_the_tokens_of_a_word_spell_it() -> None:
    text = pairs()[0].target
    numbers = word_indices([span for _, span in tokenizer().pieces(text)], word_spans(text))
    ids = tokenizer().encode(text)
    for word, (start, end) in enumerate(word_spans(text)):
        own = [i for i, number in zip(ids, numbers, strict=True) if number == word]
        assert tokenizer().decode(own).strip() == text[start:end]
