"""Our search over the exported graphs, computed by ONNX Runtime.

decode(onnx_engine(directory), sources, DecodingOptions(beam_size=4))
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.decoding import DecodingOptions, ReadableEngine, decode
from clearhead.export.verify import Ids
from clearhead.models import TransformerConfig

onnxruntime: Any = import_module("onnxruntime")  # optional, and has no types


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
        options = DecodingOptions(
            beam_size=beam_size, max_length=limit, min_length=0, early_stopping=True
        )
        return [best[0].ids for best in decode(self.engine, sources, options)]

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
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
