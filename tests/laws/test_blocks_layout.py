"""`blocks/` shows the paper first: its twelve files, and all other blocks in `variants/`."""

import inspect

import pytest
from torch import nn

from clearhead import blocks
from tests.laws.tree import SOURCE

PAPER = {
    "attention", "checks", "decoder", "embeddings", "encoder", "feed_forward", "masks",
    "normalization", "parts", "positional_encoding", "projection", "residual",
}  # fmt: skip


def test_blocks_holds_the_parts_of_the_paper_and_no_others() -> None:
    files = {path.stem for path in (SOURCE / "blocks").glob("*.py")}
    assert files - {"__init__"} == PAPER


@pytest.mark.parametrize("name", blocks.__all__)
def test_each_block_can_be_imported_from_blocks(name: str) -> None:
    value = getattr(blocks, name)
    if inspect.isclass(value) and issubclass(value, nn.Module):
        home = value.__module__.removeprefix("clearhead.blocks.")
        assert home in PAPER or home.startswith("variants.")
