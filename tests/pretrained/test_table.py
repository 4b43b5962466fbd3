"""The tables: every tensor of ours has its row, and what is left out means what it means there."""

from collections import Counter
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from clearhead.pretrained.family import Family
from clearhead.pretrained.loading import FAMILIES
from clearhead.pretrained.table import (
    AS_IT_IS,
    ONE_BATCH,
    ONE_ROW,
    STACKED,
    TRANSPOSED,
    Form,
)

THEIRS = {
    "bert": transformers.BertConfig, "gpt2": transformers.GPT2Config,
    "esm": transformers.EsmConfig, "marian": transformers.MarianConfig,
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_missing_key_has_the_default_of_transformers(family: Family) -> None:
    default = THEIRS[family.model_type]()
    fields = family.config.__dataclass_fields__
    for ours, key in family.fields.items():
        if key in ("vocab_size", "decoder_vocab_size", "n_inner"):
            continue  # the first must be there, the others are counted from others
        meant = family.absent[key] if key in family.absent else fields[ours].default
        assert meant == getattr(default, key), key
    for key, allowed in family.fixed.items():
        if hasattr(default, key):
            assert family.absent.get(key, allowed[0]) == getattr(default, key) or (
                getattr(default, key) in allowed
            ), key


def small(family: Family, heads: tuple[str, ...]) -> Any:
    if family.model_type == "marian":
        return family.config(9, 9, 8, 8, 12, 2, 3, h=3, d_ff=5)
    return family.config(33, 8, 12, 2, 3, 5, heads=heads)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_tensor_of_ours_is_in_exactly_one_row(family: Family) -> None:
    for heads in family.architectures.values():
        config = small(family, heads)
        model = family.build(config)
        rows = family.table(config).entries(dict(model.named_parameters()))
        count = Counter(name for row in rows for name in row.ours)
        assert set(count) == {name for name, _ in model.named_parameters()}
        assert set(count.values()) == {1}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_tensor_of_theirs_is_in_at_most_one_row(family: Family) -> None:
    for heads in family.architectures.values():
        config = small(family, heads)
        rows = family.table(config).entries(dict(family.build(config).named_parameters()))
        names = Counter(name for row in rows for name in {row.theirs, *row.also})
        assert max(names.values()) == 1


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_class_exists_in_transformers(family: Family) -> None:
    for name in family.architectures:
        theirs = getattr(transformers, name)
        assert theirs.config_class is THEIRS[family.model_type]
        prefix = family.table(small(family, ())).prefix
        assert name == family.bare or prefix in (f"{theirs.base_model_prefix}.", "")


@pytest.mark.parametrize(
    ("form", "shape", "count"),
    [(AS_IT_IS, (4, 6), 1), (STACKED, (6, 4), 3), (STACKED, (6,), 2), (TRANSPOSED, (4, 6), 3),
     (TRANSPOSED, (4, 6), 1), (ONE_ROW, (1, 6), 1), (ONE_BATCH, (4, 6), 1)],
)  # fmt: skip
@given(seed=st.integers(0, 2**31))
def test_a_form_is_invertible(form: Form, shape: tuple[int, ...], count: int, seed: int) -> None:
    theirs = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    ours = list(form.apart(theirs, count))
    assert len(ours) == count
    assert torch.equal(form.together(ours), theirs)
    assert sorted(n for t in ours for n in t.flatten().tolist()) == sorted(
        theirs.flatten().tolist()
    )
