"""The examples in docs/family.md run in order."""

import re
from pathlib import Path
from typing import Any

import torch
import transformers

PAGE = Path(__file__).parents[2] / "docs" / "family.md"


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 8
    torch.manual_seed(0)
    names: dict[str, Any] = {"directory": tmp_path}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["scores"].shape == (2, 5, 100) and names["vector"].shape == (2, 48)
    assert names["text"].shape == (1, 7) and names["guesses"].shape == (33,)
    assert names["captured"]["decoder.layers.0"].shape == (1, 7, 48)
    assert names["captured"]["decoder.layers.1.self_attention_block.weights"].shape == (1, 4, 7, 7)
    transformers.BertForMaskedLM.from_pretrained(tmp_path)  # as the page says
