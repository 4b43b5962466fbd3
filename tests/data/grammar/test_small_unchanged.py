"""The small grammar is what recipes, lessons and recorded results refer to: it does not change."""

from hashlib import sha256
from itertools import islice

import pytest

from clearhead.data.grammar import SPLITS, generate

# Of the first 1,000 pairs with their links, as the grammar made them before the wide one was added.
FINGERPRINTS = {
    "train": "1352ef4b65d3ab9a7e42e428d9ce8abf24efdca27e538d6531515b8d23d9dcc8",
    "dev": "f08db61cf46337a88d82b130fa7cfbfd1c34c84a02a719a9082590f47434c4c0",
    "test": "142f1a5349ead3ab86a8faac84cada808713381f0d65e18427d0179cf72399ed",
    "held_out_words": "79d7cb2ba8d0def6290eb892e7eaecefcba456482ff4a926be0ef5f4e025c78d",
    "held_out_constructions": "125d7d260d4c4f4c49ae95808111bdbab8a731d3f58da7474e73b190841e214e",
    "long": "85e0f8d2c9eba0d541bc82dac94f10c8d1d5722df7ce7146e833f47de97eed05",
}


@pytest.mark.parametrize("split", SPLITS)
def test_the_first_thousand_pairs_are_the_same_as_ever(split: str) -> None:
    found = sha256()
    for pair in islice(generate(split), 1_000):
        found.update(repr((pair.source, pair.target, pair.alignment, pair.sure)).encode())
    assert found.hexdigest() == FINGERPRINTS[split]
