"""Hugging Face: a directory that `transformers` loads, model, tokenizer and search settings.

Two of its architectures are the paper's under other names: Pegasus is pre-norm with final norms,
Marian post-norm without. Both scale the embedding, have biases everywhere, ReLU, and sinusoids in
another order of features (see `conventions`).

Their norms have a fixed epsilon of 1e-5 inside the root. The difference that `conventions` cannot
remove is a factor of about 1 - 5e-6 / sigma²; it changes the shipped model's logits by about 1e-5.

Its beam search equals ours: with `early_stopping="never"`, the exported setting, our default; with
True, our `early_stopping`. Lengths include EOS.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import tokenizers
import torch
from tokenizers.processors import TemplateProcessing
from torch import Tensor

from clearhead.decoding.readable import batches_by_tokens, padded
from clearhead.decoding.search import never_generated
from clearhead.errors import UserError
from clearhead.export.conventions import transformers_weights
from clearhead.export.verify import Ids
from clearhead.models import Transformer, TransformerConfig
from clearhead.text import Tokenizer

transformers: Any = import_module("transformers")  # optional
progress: Any = import_module("transformers.utils.logging")
ARCHITECTURES = {
    "pre": ("PegasusConfig", "PegasusForConditionalGeneration"),
    "post": ("MarianConfig", "MarianMTModel"),
}
USAGE = """
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

model = AutoModelForSeq2SeqLM.from_pretrained(".")
tokenizer = AutoTokenizer.from_pretrained(".")
found = model.generate(**tokenizer(["Where is the station?"], return_tensors="pt"))
print(tokenizer.decode(found[0], skip_special_tokens=True))
"""


def build(model: Transformer, tokenizer: Tokenizer, directory: Path, precision: str) -> None:
    """Write config.json, generation_config.json, model.safetensors and the tokenizer.

    Raises:
        UserError: no architecture fits this model.
    """
    _check(model.config)
    config_class, model_class = (getattr(transformers, n) for n in ARCHITECTURES[model.config.norm])
    theirs = model_class(config_class(**sizes(model.config)))
    theirs.load_state_dict(dict(transformers_weights(model)))
    theirs.generation_config = _search(model.config)
    with _without_progress_bars():
        theirs.to(getattr(torch, precision)).save_pretrained(directory)
    _save_tokenizer(tokenizer, model.config, directory)


def _check(config: TransformerConfig) -> None:
    if not config.tie_embeddings:
        raise UserError(
            "no architecture of transformers fits a model with tie_embeddings=false; export it "
            "to ctranslate2 or onnx"
        )
    if config.d_model % 2:
        raise UserError(
            f"transformers has no sinusoids for an odd width, but d_model={config.d_model}; "
            "export to ctranslate2 or onnx"
        )


def sizes(config: TransformerConfig) -> dict[str, Any]:
    """Our hyperparameters under the names of `transformers`; ReLU as in the paper."""
    return {
        "vocab_size": config.tgt_vocab_size,
        "decoder_vocab_size": config.tgt_vocab_size,
        "max_position_embeddings": max(config.src_seq_len, config.tgt_seq_len),
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.h,
        "decoder_attention_heads": config.h,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "dropout": config.dropout,
        "attention_dropout": config.dropout_of("attention"),
        "activation_dropout": config.dropout_of("activation"),
        "activation_function": "relu",
        "scale_embedding": True,
        "tie_word_embeddings": True,
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": None,
    }


def _search(config: TransformerConfig) -> Any:
    """The search of `clearhead translate`; "never" is our stopping rule, which is exact."""
    return transformers.GenerationConfig(
        num_beams=4,
        length_penalty=1.0,
        early_stopping="never",
        max_length=config.tgt_seq_len + 1,  # theirs counts BOS
        min_new_tokens=1,
        suppress_tokens=never_generated(config),
        pad_token_id=config.pad_id,
        bos_token_id=config.bos_id,
        eos_token_id=config.eos_id,
        decoder_start_token_id=config.bos_id,
    )


def _save_tokenizer(tokenizer: Tokenizer, config: TransformerConfig, directory: Path) -> None:
    """tokenizer.json that appends EOS; special tokens typed in a text remain text."""
    tokenizer.save(directory)
    engine = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    pad, bos, eos = (tokenizer.piece(i) for i in (config.pad_id, config.bos_id, config.eos_id))
    engine.post_processor = TemplateProcessing(
        single=f"$A {eos}", pair=f"$A {eos} $B {eos}", special_tokens=[(eos, config.eos_id)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=engine,
        pad_token=pad,
        bos_token=bos,
        eos_token=eos,
        split_special_tokens=True,
        model_max_length=config.src_seq_len,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(directory)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    shown = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            progress.enable_progress_bar()


class Loaded:
    """An exported directory in `transformers`; implements `Engine`."""

    def __init__(self, directory: Path) -> None:
        with _without_progress_bars():
            self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(directory).eval()

    def translate(self, sources: Sequence[Ids], beam_size: int, limit: int) -> list[Ids]:
        """As `Engine.translate`."""
        found: list[Ids] = [[] for _ in sources]
        for batch in batches_by_tokens([len(ids) for ids in sources], 8192 // beam_size):
            output = self._generate([sources[i] for i in batch], beam_size, limit)
            for i, ids in zip(batch, output.sequences.tolist(), strict=True):
                found[i] = self._up_to_eos(ids[1:])[0]  # the first is BOS
        return found

    def greedy_logits(self, sources: Sequence[Ids], limit: int) -> list[tuple[Ids, Tensor]]:
        """As `Engine.greedy_logits`."""
        output = self._generate(sources, 1, limit, logits=True)
        logits = torch.stack(output.logits, dim=1).float()  # (sentences, steps, vocab)
        ends = [self._up_to_eos(ids[1:])[1] for ids in output.sequences.tolist()]
        return [(ids, rows[: len(ids)]) for ids, rows in zip(ends, logits, strict=True)]

    def _generate(
        self, sources: Sequence[Ids], beam_size: int, limit: int, logits: bool = False
    ) -> Any:
        src = padded(sources, self.model.config.pad_token_id, self.model.device)
        return self.model.generate(
            input_ids=src,
            attention_mask=(src != self.model.config.pad_token_id).long(),
            num_beams=beam_size,
            early_stopping=beam_size > 1,
            max_length=None,
            max_new_tokens=limit,
            min_new_tokens=0,
            output_logits=logits,
            return_dict_in_generate=True,
        )

    def _up_to_eos(self, ids: Ids) -> tuple[Ids, Ids]:
        """The ids before EOS, and the ids up to and including it."""
        eos_id = self.model.config.eos_token_id
        if eos_id not in ids:
            return ids, ids
        end = ids.index(eos_id)
        return ids[:end], ids[: end + 1]
