"""Every axis of BERT, GPT-2 and ESM-2 has a name, without rules written for them."""

from dataclasses import fields
from typing import Any

import pytest
import torch

from clearhead.explain import trace
from clearhead.models import Bert, BertConfig, Esm, EsmConfig, Gpt, GptConfig

SIZES = {"d_model": 12, "h": 3, "d_ff": 20, "layers": 2, "seq_len": 16}

SPECIAL = ["pad_id", "bos_id", "eos_id", "mask_id"]


@pytest.mark.parametrize(
    ("kind", "config"), [(Bert, BertConfig), (Gpt, GptConfig), (Esm, EsmConfig)]
)
def test_every_axis_has_a_name_and_nothing_is_doubted(kind: Any, config: Any) -> None:
    known = {field.name for field in fields(config)}
    special = {name: i for i, name in enumerate(SPECIAL) if name in known}
    network = kind(config(vocab_size=31, **SIZES, **special)).eval()
    ids = torch.randint(4, 31, (2, 7))
    found = trace(network, ids)
    assert torch.equal(found.output, network(ids))
    assert found.root.output == "(batch, seq_len, d_model)"
    softmax = [row for row in found.rows() if row.operation == "softmax"]
    assert {row.output for row in softmax} == {"(batch, h, seq_len, seq_len)"}
    unnamed = [
        (row.location.code if row.location else row.what, row.arrow())
        for row in found.rows()
        for shape in row.outputs
        if any(not axis.resolved.name for axis in shape)
    ]
    assert not unnamed
    assert not [doubt for row in found.rows() for doubt in row.doubts]
