"""ONNX: an encoder graph and a decoder graph with a key-value cache.

`encoder.onnx` reads the sources once; `decoder.onnx` decodes one token per call and returns the
cache with one more position. Both consist of the model's own blocks, with norms fused
(LayerNormalization in the graph; see `fast.accelerate`). The search between them is that of
`clearhead.decoding`, with all of its options:

    decode(onnx_engine(directory), sources, DecodingOptions(beam_size=4))
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import padding_mask
from clearhead.decoding import ReadableEngine
from clearhead.export.verify import Ids, translate
from clearhead.fast import accelerate
from clearhead.files import atomic_write
from clearhead.models import Transformer, TransformerConfig
from clearhead.text import Tokenizer

USAGE = """
from clearhead.decoding import DecodingOptions, decode
from clearhead.export.onnx import onnx_engine
from clearhead.text import Tokenizer

engine, tokenizer = onnx_engine("."), Tokenizer.load(".")
source = [*tokenizer.encode("Where is the station?"), tokenizer.eos_id]
found = decode(engine, [source], DecodingOptions(beam_size=4))
print(tokenizer.decode(found[0][0].ids))
"""
# An example of each input, and the names of its dynamic axes.
Inputs = dict[str, tuple[Tensor, dict[int, str]]]
# Sizes of the traced example: all different, none 0 or 1, so that no axis becomes constant.
SENTENCES, BEAMS, SRC_LEN, PREFIX = 2, 3, 5, 4


def build(model: Transformer, tokenizer: Tokenizer, directory: Path, precision: str) -> None:
    """Write encoder.onnx, decoder.onnx, config.json and the tokenizer."""
    config = model.config
    model = accelerate(deepcopy(model), {"normalization"}).eval()
    encoder, decoder = EncoderGraph(model), DecoderGraph(model)
    src = torch.full((SENTENCES, SRC_LEN), config.eos_id)
    src_mask = padding_mask(src, config.pad_id)
    memory = encoder(src, src_mask)
    layers, h, d_k = memory.shape[1], memory.shape[3], memory.shape[5]
    last = torch.full((SENTENCES, BEAMS), config.bos_id)
    cache = torch.zeros(SENTENCES, BEAMS, layers, 2, h, PREFIX, d_k)
    masked = (src_mask, {0: "sentences", 3: "src_len"})
    encoder_inputs: Inputs = {"src": (src, {0: "sentences", 1: "src_len"}), "src_mask": masked}
    decoder_inputs: Inputs = {
        "last": (last, {0: "sentences", 1: "beams"}),
        "cache": (cache, {0: "sentences", 1: "beams", 5: "written"}),
        "memory": (memory, {0: "sentences", 4: "src_len"}),
        "src_mask": masked,
    }
    _write(encoder, directory / "encoder.onnx", encoder_inputs, ["memory"])
    _write(decoder, directory / "decoder.onnx", decoder_inputs, ["logits", "longer_cache"])
    atomic_write(directory / "config.json", config.to_json())
    tokenizer.save(directory)


def _write(graph: nn.Module, path: Path, inputs: Inputs, outputs: list[str]) -> None:
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


class EncoderGraph(nn.Module):
    """The source's keys and values for the cross-attention of every decoder layer.

    Shape:
        src: (sentences, src_len) ids, src_mask: (sentences, 1, 1, src_len), True = visible
        -> memory: (sentences, layers, 2, h, src_len, d_k)
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Embed, encode, project for each decoder layer."""
        x = self.model.src_pos(_embedded(self.model.src_embed, src))
        output = self.model.encoder(x, src_mask)
        blocks = [layer.cross_attention_block for layer in self.model.decoder.layers]
        projections = [(block, w) for block in blocks for w in (block.w_k, block.w_v)]
        memory = torch.stack([block.split_heads(w(output)) for block, w in projections], dim=1)
        return memory.unflatten(1, (len(blocks), 2))


class DecoderGraph(nn.Module):
    """One decoding step for every beam of every sentence, as a pure function.

    Shape:
        last: (sentences, beams) ids; memory from `EncoderGraph`; src_mask as there;
        cache: (sentences, beams, layers, 2, h, written, d_k), at first with written = 0
        -> logits: (sentences, beams, vocab), the cache with written + 1
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model: Any = model

    def forward(
        self, last: Tensor, cache: Tensor, memory: Tensor, src_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Embed the new position, apply the layers with their caches, project."""
        x = _embedded(self.model.tgt_embed, last)  # (sentences, beams, d_model)
        x = x + self.model.tgt_pos.pe[:, cache.shape[5]]  # the position of the new token
        caches = []
        for number, layer in enumerate(self.model.decoder.layers):
            attend, cross_attend, feed_forward = layer.residual_connections
            own = SelfAttention(layer.self_attention_block, cache[:, :, number])
            cross = CrossAttention(layer.cross_attention_block, memory[:, number], src_mask)
            x = feed_forward(cross_attend(attend(x, own), cross), layer.feed_forward_block)
            caches.append(own.cache)
        x = self.model.decoder.norm(x)
        return self.model.projection_layer.proj(x), torch.stack(caches, dim=2)


class SelfAttention:
    """The new position attends to itself and all earlier ones; afterwards `cache` holds it too."""

    def __init__(self, block: Any, cache: Tensor) -> None:
        self.block, self.cache = block, cache  # (sentences, beams, 2, h, written, d_k)

    def __call__(self, y: Tensor) -> Tensor:
        """(sentences, beams, d_model) -> the same shape."""
        block = self.block
        new = torch.stack([self._heads(block.w_k(y)), self._heads(block.w_v(y))], dim=2)
        self.cache = torch.cat([self.cache, new], dim=4)
        keys, values = self.cache.unbind(2)  # (sentences, beams, h, written + 1, d_k) each
        x, _ = block.attention(self._heads(block.w_q(y)), keys, values, None, None)
        return block.w_o(x.squeeze(3).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        # (sentences, beams, d_model) -> (sentences, beams, h, 1, d_k)
        return x.unflatten(2, (self.block.h, self.block.d_k)).unsqueeze(3)


class CrossAttention:
    """All beams of a sentence attend to its source in parallel."""

    def __init__(self, block: Any, memory: Tensor, src_mask: Tensor) -> None:
        self.block, self.memory, self.src_mask = block, memory, src_mask

    def __call__(self, y: Tensor) -> Tensor:
        """(sentences, beams, d_model) -> the same shape."""
        block, (keys, values) = self.block, self.memory.unbind(1)
        query = block.split_heads(block.w_q(y))  # (sentences, h, beams, d_k)
        x, _ = block.attention(query, keys, values, self.src_mask, None)
        return block.w_o(block.join_heads(x))


def _embedded(embed: Any, ids: Tensor) -> Tensor:
    # Not `InputEmbeddings.forward`, which checks the ids and cannot be traced.
    return embed.embedding(ids) * math.sqrt(embed.d_model)


def onnx_engine(directory: str | Path) -> ReadableEngine:
    """An exported directory as an engine for `clearhead.decoding.decode`."""
    config = TransformerConfig.load(Path(directory) / "config.json")
    encoder = _session(Path(directory) / "encoder.onnx")
    decoder = _session(Path(directory) / "decoder.onnx")

    def begin(src: Tensor) -> OnnxSteps:
        src_mask = padding_mask(src, config.pad_id)
        memory = encoder.run(None, {"src": src.numpy(), "src_mask": src_mask.numpy()})[0]
        return OnnxSteps(decoder, torch.from_numpy(memory), src_mask)

    return ReadableEngine(config, torch.device("cpu"), begin)


class OnnxSteps:
    """`clearhead.decoding.steps.Steps` that runs the decoder graph.

    Shapes as in `onnx`. Each row is a sentence with a single beam.
    """

    def __init__(self, session: Any, memory: Tensor, src_mask: Tensor) -> None:
        rows, layers, _, h, _, d_k = memory.shape
        self.session, self.memory, self.src_mask = session, memory, src_mask
        self.cache = memory.new_empty(rows, 1, layers, 2, h, 0, d_k)

    def step(self, last: Tensor) -> Tensor:
        """(rows,) last tokens -> (rows, vocab) log-probabilities of the next."""
        return self.logits(last).log_softmax(dim=-1)

    def logits(self, last: Tensor) -> Tensor:
        """As `step`, before the softmax."""
        inputs = {
            "last": last.unsqueeze(1),
            "cache": self.cache,
            "memory": self.memory,
            "src_mask": self.src_mask,
        }
        arrays = {name: tensor.contiguous().numpy() for name, tensor in inputs.items()}
        logits, cache = self.session.run(None, arrays)
        self.cache = torch.from_numpy(cache)
        return torch.from_numpy(logits).squeeze(1)

    def reorder(self, rows: Tensor) -> None:
        """As `Steps.reorder`."""
        self.cache = self.cache[rows]

    def keep(self, rows: Tensor) -> None:
        """As `Steps.keep`."""
        self.reorder(rows)
        self.memory, self.src_mask = self.memory[rows], self.src_mask[rows]


class Loaded:
    """An exported directory in onnxruntime; implements `export.verify.Engine`."""

    def __init__(self, directory: Path) -> None:
        self.engine = onnx_engine(directory)

    def translate(self, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
        """As `Engine.translate`."""
        return translate(self.engine, sources, beam_size, limit)

    def greedy_logits(self, sources: Sequence[Ids], limit: int) -> list[tuple[Ids, Tensor]]:
        """As `Engine.greedy_logits`; logits are computed in a second, teacher-forced pass."""
        config, found = self.engine.config, []
        for source, ids in zip(sources, self.translate(sources, 1, limit), strict=True):
            written = [*ids, config.eos_id][:limit]
            steps = self.engine.begin(torch.tensor([source]))
            assert isinstance(steps, OnnxSteps)
            read = [config.bos_id, *written[:-1]]
            logits = [steps.logits(torch.tensor([last])) for last in read]
            found.append((written, torch.cat(logits)))
        return found


def _session(path: Path) -> Any:
    onnxruntime: Any = import_module("onnxruntime")  # optional, and has no types
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
