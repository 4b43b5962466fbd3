"""Two known mistakes at once: their source is valid, or the pair is left out."""

import ast
from itertools import combinations

import pytest

from clearhead.errors import UserError
from clearhead.learn.manifest import subject
from clearhead.learn.texts import variant_text
from tests.learn.subjects import subject_names


@pytest.mark.parametrize("name", subject_names())
def test_a_pair_of_variants_is_valid_code_or_refused(name: str) -> None:
    made = 0
    for pair in combinations([v.name for v in subject(name).variants], 2):
        try:
            ast.parse(variant_text(name, *pair))
        except UserError:
            continue
        made += 1
    assert made or len(subject(name).variants) < 4
