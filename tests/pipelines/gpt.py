"""A directory of a GPT-2 as users have it: random weights beside a byte-level tokenizer."""

from pathlib import Path
from typing import Any

import torch
import transformers

from tests.text import test_pretrained as files

SIZES = {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 90}


def gpt(directory: Path, **more: Any) -> Any:
    """Their model; its files lie in the directory. It writes bytes as wildly as words."""
    files.byte_level(directory)
    words = files.load_tokenizer(directory).vocab_size
    config = transformers.GPT2Config(
        vocab_size=words, bos_token_id=0, eos_token_id=0, **SIZES | more
    )
    torch.manual_seed(20190214)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(directory)
    return model
