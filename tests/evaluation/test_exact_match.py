import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.grammar import PHENOMENA
from clearhead.errors import UserError
from clearhead.evaluation.exact_match import Count, exact_match
from tests.evaluation.tiny import pairs


def test_the_references_are_all_right() -> None:
    generated = pairs(count=30)
    found = exact_match([pair.target for pair in generated], generated)
    assert found.overall == Count(30, 30)
    assert all(c.percent == 100 for c in found.by_phenomenon.values())
    assert all(c.percent == 100 for c in found.by_construction.values())


@given(st.lists(st.booleans(), min_size=30, max_size=30))
def test_each_sentence_counts_once_overall_and_once_per_phenomenon(right: list[bool]) -> None:
    generated = pairs(count=30)
    found = exact_match(
        [p.target if r else p.target + " !" for p, r in zip(generated, right, strict=True)],
        generated,
    )
    assert found.overall == Count(sum(right), 30)
    assert sum(c.total for c in found.by_construction.values()) == 30
    assert sum(c.right for c in found.by_construction.values()) == sum(right)
    for name in PHENOMENA:
        of_kind = [r for p, r in zip(generated, right, strict=True) if name in p.phenomena]
        assert found.by_phenomenon.get(name, Count(0, 0)) == Count(sum(of_kind), len(of_kind))


def test_another_space_before_a_question_mark_is_wrong() -> None:
    question = next(pair for pair in pairs(count=30) if pair.target.endswith("?"))
    assert exact_match([question.target.replace("\u202f", " ")], [question]).overall.right == 0


def test_a_missing_hypothesis_is_refused() -> None:
    with pytest.raises(UserError, match="1 hypotheses for 2 references"):
        exact_match(["a"], pairs()[:2])
