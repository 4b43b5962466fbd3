from collections.abc import Iterator, Sequence

import pytest
import torch
from torch import Tensor

from clearhead.data.grammar import GrammarPair, words
from clearhead.errors import UserError
from clearhead.evaluation import alignment_error
from clearhead.evaluation.alignment_error import alignment_errors
from clearhead.evaluation.links import links_as_matrix
from clearhead.evaluation.piece_words import membership
from clearhead.models import Transformer
from tests.evaluation.tiny import HEADS, LAYERS, model, pairs, tokenizer


def attention_that_knows(pair: GrammarPair) -> Tensor:
    """In the last layer, head 1, the rows that predict look where the truth says."""
    source, target = membership(tokenizer(), pair.source), membership(tokenizer(), pair.target)
    truth = links_as_matrix(pair.sure, pair.alignment, target.shape[1], source.shape[1])
    weights = torch.full((LAYERS, HEADS, target.shape[0] + 1, source.shape[0] + 1), 0.01)
    weights[-1, 1, :-1, :-1] += target @ truth @ source.T
    weights[..., -1] = 5.0  # the end sign, where idle heads look, is no word
    return weights


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    def weights(
        model: Transformer, sources: Sequence[object], targets: Sequence[object], tokens: int
    ) -> Iterator[tuple[int, Tensor]]:
        # Backwards: batches come in no particular order.
        for number in reversed(range(len(sources))):
            yield number, attention_that_knows(pairs()[number])

    monkeypatch.setattr(alignment_error, "cross_attention_heads", weights)


@pytest.mark.usefixtures("knowing")
def test_a_head_that_looks_at_the_truth_is_found_and_reaches_the_floor() -> None:
    found = alignment_errors(model(), tokenizer(), pairs())
    best = found.best
    assert (best.rows, best.layer, best.head) == ("output", LAYERS - 1, 1)
    assert best.error == pytest.approx(found.floor, abs=1e-6)
    assert best.error == found.heads["output"][LAYERS - 1][1]


@pytest.mark.usefixtures("knowing")
def test_there_is_no_error_where_the_truth_has_one_link_for_every_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simple = []
    for pair in pairs():
        links = tuple((0, word) for word in range(len(words(pair.target))))
        simple.append(pair._replace(alignment=links, sure=links))
    monkeypatch.setitem(globals(), "pairs", lambda: simple)
    found = alignment_errors(model(), tokenizer(), simple)
    assert found.floor == found.best.error == 0


def test_errors_of_a_model_lie_between_the_floor_and_1() -> None:
    found = alignment_errors(model(), tokenizer(), pairs())
    for rows in ("input", "output"):
        assert len(found.layers[rows]) == LAYERS
        everyone = [error for layer in found.heads[rows] for error in layer] + found.layers[rows]
        assert len(everyone) == LAYERS * (HEADS + 1)
        assert all(found.floor - 1e-6 <= error <= 1 for error in everyone)


def test_the_size_of_a_batch_changes_nothing() -> None:
    one = alignment_errors(model(), tokenizer(), pairs(), batch_tokens=1)
    many = alignment_errors(model(), tokenizer(), pairs())
    assert one.heads == many.heads


def test_pairs_beyond_the_positions_are_left_out_and_counted() -> None:
    sizes = sorted(
        max(len(tokenizer().encode(p.source)), len(tokenizer().encode(p.target))) for p in pairs()
    )
    found = alignment_errors(model(sizes[5] + 1), tokenizer(), pairs())
    kept = sum(size <= sizes[5] for size in sizes)
    assert (found.sentences, found.skipped) == (kept, len(sizes) - kept)


def test_a_model_with_room_for_none_is_refused() -> None:
    with pytest.raises(UserError, match="none of the 12 sentences fits the 2 source"):
        alignment_errors(model(2), tokenizer(), pairs())
