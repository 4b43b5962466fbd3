"""ONNX: an encoder and a decoder with cache, which onnxruntime runs on anything.

`encoder.onnx` reads the sources once, `decoder.onnx` writes one token a call; their
tensors are told in `onnx_graph`. The search between them is `clearhead.decoding`'s own
(`onnx_runner`), so its options, its stopping rule and its bans hold here as they stand.
Norms are the fused ones (LayerNormalization in the graph; see `fast.normalization`).
"""

from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor, nn

from clearhead.blocks import padding_mask
from clearhead.export.onnx_graph import DecoderGraph, EncoderGraph
from clearhead.fast import accelerate
from clearhead.files import atomic_write
from clearhead.models import Transformer
from clearhead.text import Tokenizer

USAGE = """
from clearhead.decoding import DecodingOptions, decode
from clearhead.export.onnx_runner import onnx_engine
from clearhead.text import Tokenizer

engine, tokenizer = onnx_engine("."), Tokenizer.load(".")
source = [*tokenizer.encode("Where is the station?"), tokenizer.eos_id]
found = decode(engine, [source], DecodingOptions(beam_size=4))
print(tokenizer.decode(found[0][0].ids))
"""
# An example of each input, and which of its axes are free.
Inputs = dict[str, tuple[Tensor, dict[int, str]]]
# Sizes of the example that is traced: no two alike, none 0 or 1, so that all stay free.
SENTENCES, BEAMS, SRC_LEN, WRITTEN = 2, 3, 5, 4


def build(model: Transformer, tokenizer: Tokenizer, directory: Path, precision: str) -> None:
    """Write encoder.onnx, decoder.onnx, the sizes (config.json) and the tokenizer."""
    config = model.config
    model = accelerate(deepcopy(model), {"normalization"}).eval()
    encoder, decoder = EncoderGraph(model), DecoderGraph(model)
    src = torch.full((SENTENCES, SRC_LEN), config.eos_id)
    src_mask = padding_mask(src, config.pad_id)
    memory = encoder(src, src_mask)
    layers, h, d_k = memory.shape[1], memory.shape[3], memory.shape[5]
    last = torch.full((SENTENCES, BEAMS), config.bos_id)
    cache = torch.zeros(SENTENCES, BEAMS, layers, 2, h, WRITTEN, d_k)
    masked = (src_mask, {0: "sentences", 3: "src_len"})
    reads: Inputs = {"src": (src, {0: "sentences", 1: "src_len"}), "src_mask": masked}
    writes: Inputs = {
        "last": (last, {0: "sentences", 1: "beams"}),
        "cache": (cache, {0: "sentences", 1: "beams", 5: "written"}),
        "memory": (memory, {0: "sentences", 4: "src_len"}),
        "src_mask": masked,
    }
    _write(encoder, directory / "encoder.onnx", reads, ["memory"])
    _write(decoder, directory / "decoder.onnx", writes, ["logits", "longer_cache"])
    atomic_write(directory / "config.json", config.to_json())
    tokenizer.save(directory)


def _write(graph: nn.Module, path: Path, inputs: Inputs, outputs: list[str]) -> None:
    """Trace a graph on the example tensors; the named axes stay free."""
    torch.onnx.export(
        graph,
        tuple(tensor for tensor, _ in inputs.values()),
        path,
        input_names=list(inputs),
        output_names=outputs,
        dynamic_shapes={name: axes for name, (_, axes) in inputs.items()},
        dynamo=True,
        external_data=False,
        verbose=False,
    )
