"""Our own search over the exported graphs: onnxruntime computes, `clearhead.decoding` chooses.

decode(onnx_engine(directory), sources, DecodingOptions(beam_size=4))
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.decoding import DecodingOptions, Engine, decode
from clearhead.export.engine import Ids
from clearhead.models import TransformerConfig

onnxruntime: Any = import_module("onnxruntime")  # optional, and has no types


def onnx_engine(directory: str | Path) -> Engine:
    """What `clearhead.decoding.decode` takes in a model's place: an exported directory."""
    config = TransformerConfig.load(Path(directory) / "config.json")
    encoder = _session(Path(directory) / "encoder.onnx")

    def encode(src: Tensor, src_mask: Tensor | None) -> Tensor:
        mask = padding_mask(src, config.pad_id) if src_mask is None else src_mask
        return torch.from_numpy(
            encoder.run(None, {"src": src.numpy(), "src_mask": mask.numpy()})[0]
        )

    decoder = OnnxDecoder(_session(Path(directory) / "decoder.onnx"))
    # The decoder's graph ends with the projection: its steps are logits already.
    return Engine(config, torch.device("cpu"), encode, decoder, lambda logits: logits)


class OnnxDecoder:
    """A `decoding.engine.StepDecoder` whose model stands in a graph; `step` gives logits.

    Shapes as in `onnx_graph`; rows are sentences x beams, sentence by sentence.
    """

    can_replace = False  # all sentences of a batch begin together

    def __init__(self, session: Any) -> None:
        self.session = session

    def start(self, memory: Tensor, src_mask: Tensor | None) -> None:
        """Begin new sentences, a row each, that have written nothing."""
        sentences, layers, _, h, src_len, d_k = memory.shape
        everywhere = torch.ones(sentences, 1, 1, src_len, dtype=torch.bool)
        self.memory, self.src_mask = memory, everywhere if src_mask is None else src_mask
        self.cache = memory.new_empty(sentences, 1, layers, 2, h, 0, d_k)

    def step(self, ids: Tensor) -> Tensor:
        """(rows,) the token last written -> (rows, vocab) the scores of the next."""
        inputs = {
            "last": ids.view(self.cache.shape[:2]),
            "cache": self.cache,
            "memory": self.memory,
            "src_mask": self.src_mask,
        }
        arrays = {name: tensor.contiguous().numpy() for name, tensor in inputs.items()}
        logits, cache = self.session.run(None, arrays)
        self.cache = torch.from_numpy(cache)
        return torch.from_numpy(logits).flatten(0, 1)

    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from what row rows[i] has written; one row may become several."""
        self.cache = self.cache.flatten(0, 1)[rows].unflatten(0, (len(self.cache), -1))

    def keep(self, sentences: Tensor) -> None:
        """Only these sentences, by number, stay."""
        self.cache, self.memory = self.cache[sentences], self.memory[sentences]
        self.src_mask = self.src_mask[sentences]

    def retire(self, sentences: list[int]) -> None:
        """These are written; their rows run on unseen until `keep`."""


class Loaded:
    """An exported directory in onnxruntime; implements `export.engine.Engine`."""

    def __init__(self, directory: Path) -> None:
        self.engine = onnx_engine(directory)

    def translate(self, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
        """As `Engine.translate`."""
        options = DecodingOptions(
            beam_size=beam_size, max_length=limit, min_length=0, early_stopping=True
        )
        return [best[0].ids for best in decode(self.engine, sources, options)]

    def greedy_logits(self, sources: Sequence[Ids], limit: int) -> list[tuple[Ids, Tensor]]:
        """As `Engine.greedy_logits`: the greedy translations, walked through once more."""
        config, found = self.engine.config, []
        for source, ids in zip(sources, self.translate(sources, 1, limit), strict=True):
            written = [*ids, config.eos_id][:limit]
            src, decoder = torch.tensor([source]), self.engine.new_decoder()
            decoder.start(self.engine.encode(src, None), None)
            steps = [decoder.step(torch.tensor([last])) for last in [config.bos_id, *written[:-1]]]
            found.append((written, torch.cat(steps)))
        return found


def _session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
