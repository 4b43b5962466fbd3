"""CTranslate2: a directory that `ctranslate2.Translator` loads, C++ on CPU or GPU.

The weights are copied with four adaptations: norms as described in `conventions`, our own
positional encoding (CTranslate2's has all sines before all cosines), queries, keys and values of
an attention in one matrix, and a bias that excludes padding and BOS, as our search does.

Its beam search equals ours with `early_stopping`: hypotheses are ranked by score / length **
length_penalty, and the search ends when beam_size of them have ended. It includes EOS in the
length only with `return_end_token=True`. Without that option, or compared with our default
stopping rule, which is exact, the best of four hypotheses may occasionally differ.
"""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clearhead.decoding.search import never_generated
from clearhead.export.conventions import epsilon, scale_and_shift, vocabulary_list, weight_and_bias
from clearhead.export.verify import Ids
from clearhead.models import Transformer
from clearhead.text import Tokenizer

ctranslate2: Any = import_module("ctranslate2")  # optional, and has no types
EXCLUDED = -1e4  # far below any logit, and representable in 16 bits
USAGE = """
import ctranslate2, tokenizers

translator = ctranslate2.Translator(".")
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
pieces = [*tokenizer.encode("Where is the station?").tokens, "</s>"]
# The search ends when 4 hypotheses are finished; with patience=2 it goes on, as clearhead's does.
found = translator.translate_batch([pieces], beam_size=4, return_end_token=True)
print(tokenizer.decode([tokenizer.token_to_id(p) for p in found[0].hypotheses[0][:-1]]))
"""


def build(model: Transformer, tokenizer: Tokenizer, directory: Path, precision: str) -> None:
    """Write model.bin, config.json, the vocabulary and the tokenizer."""
    config, spec = model.config, _spec(model)
    source = vocabulary_list(tokenizer, config.src_vocab_size)
    spec.register_source_vocabulary(source)
    target = vocabulary_list(tokenizer, config.tgt_vocab_size)
    spec.register_target_vocabulary(target)
    spec.config.layer_norm_epsilon = epsilon(model) ** 2
    spec.config.unk_token = source[config.pad_id]  # our texts have no unknown tokens
    spec.config.bos_token = spec.config.decoder_start_token = target[config.bos_id]
    spec.config.eos_token = source[config.eos_id]
    spec.validate()
    spec.optimize(quantization=precision)
    spec.save(str(directory))
    tokenizer.save(directory)


def _spec(model: Any) -> Any:
    """The weights under CTranslate2's names."""
    config = model.config
    spec = ctranslate2.specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers), config.h, pre_norm=config.norm == "pre"
    )
    spec.encoder.embeddings[0].weight = _array(model.src_embed.embedding.weight)
    spec.decoder.embeddings.weight = _array(model.tgt_embed.embedding.weight)
    spec.encoder.position_encodings.encodings = _array(model.src_pos.pe[0])
    spec.decoder.position_encodings.encodings = _array(model.tgt_pos.pe[0])
    for theirs, ours in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        _layer(theirs, ours)
    for theirs, ours in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        _layer(theirs, ours)
        _cross_attention(theirs.attention, ours)
    if config.norm == "pre":
        _norm(spec.encoder.layer_norm, model.encoder.norm, config.d_model)
        _norm(spec.decoder.layer_norm, model.decoder.norm, config.d_model)
    _linear(spec.decoder.projection, model.projection_layer.proj)
    spec.decoder.projection.bias[never_generated(config)] = EXCLUDED
    return spec


def _layer(spec: Any, block: Any) -> None:
    """Self-attention and feed-forward, the first and the last sublayer of a layer."""
    attention, feed_forward = block.self_attention_block, block.feed_forward_block
    residuals = block.residual_connections
    _fused(spec.self_attention.linear[0], attention.w_q, attention.w_k, attention.w_v)
    _linear(spec.self_attention.linear[1], attention.w_o)
    _norm(spec.self_attention.layer_norm, residuals[0].norm, attention.d_model)
    _linear(spec.ffn.linear_0, feed_forward.linear_1)
    _linear(spec.ffn.linear_1, feed_forward.linear_2)
    _norm(spec.ffn.layer_norm, residuals[-1].norm, attention.d_model)


def _cross_attention(spec: Any, block: Any) -> None:
    attention = block.cross_attention_block
    _linear(spec.linear[0], attention.w_q)
    _fused(spec.linear[1], attention.w_k, attention.w_v)
    _linear(spec.linear[2], attention.w_o)
    _norm(spec.layer_norm, block.residual_connections[1].norm, attention.d_model)


def _fused(spec: Any, *linears: Any) -> None:
    parts = [ctranslate2.specs.common_spec.LinearSpec() for _ in linears]
    for part, linear in zip(parts, linears, strict=True):
        _linear(part, linear)
    ctranslate2.converters.utils.fuse_linear(spec, parts)


def _linear(spec: Any, linear: Any) -> None:
    spec.weight, spec.bias = map(_array, weight_and_bias(linear))


def _norm(spec: Any, norm: Any, features: int) -> None:
    spec.gamma, spec.beta = map(_array, scale_and_shift(norm, features))


def _array(tensor: Tensor) -> Any:
    return np.array(tensor.detach().float())  # a copy, because exporting may change it


class Loaded:
    """An exported directory in `ctranslate2.Translator`; implements `Engine`."""

    def __init__(
        self, directory: Path, precision: str = "default", workers: int = 1, threads: int = 0
    ) -> None:
        self.source = _vocabulary(directory, "source")
        target = _vocabulary(directory, "target")
        self.ids = {token: i for i, token in enumerate(target)}
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self.eos_id = self.ids[config["eos_token"]]
        self.engine = ctranslate2.Translator(
            str(directory),
            device="cpu",
            compute_type=precision,
            inter_threads=workers,
            intra_threads=threads or torch.get_num_threads(),
        )

    def translate(self, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
        """As `Engine.translate`."""
        found = [self.ids_of(result) for result in self._run(sources, beam_size, limit)]
        return [ids[:-1] if ids[-1:] == [self.eos_id] else ids for ids in found]

    def greedy_logits(self, sources: Sequence[Ids], limit: int) -> list[tuple[Ids, Tensor]]:
        """As `Engine.greedy_logits`."""
        return [
            (self.ids_of(result), torch.tensor(np.array([np.array(x) for x in result.logits[0]])))
            for result in self._run(sources, 1, limit, logits=True)
        ]

    def _run(
        self, sources: Sequence[Ids], beam_size: int, limit: int, logits: bool = False
    ) -> list[Any]:
        return self.engine.translate_batch(
            [[self.source[i] for i in ids] for ids in sources],
            beam_size=beam_size,
            max_decoding_length=limit,
            return_end_token=True,
            return_logits_vocab=logits,
            min_decoding_length=0,
            max_batch_size=4096,
            batch_type="tokens",
        )

    def ids_of(self, result: Any) -> Ids:
        """The best translation of a result."""
        return [self.ids[token] for token in result.hypotheses[0]]


def _vocabulary(directory: Path, side: str) -> list[str]:
    own, shared = directory / f"{side}_vocabulary.json", directory / "shared_vocabulary.json"
    return json.loads((own if own.exists() else shared).read_text(encoding="utf-8"))
