"""Marian's files (`transformers`: MarianMTModel)."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.models.marian import Marian, MarianConfig
from clearhead.pretrained.family import Family, Raw
from clearhead.pretrained.table import ONE_BATCH, ONE_ROW, Row, Table, linears, norms, tensor
from clearhead.text.model_files import read_json

logger = logging.getLogger(__name__)

_ATTENTION = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
_SUBLAYERS = {"self_attn": "self_attention_block", "encoder_attn": "cross_attention_block"}
# The linear layers of a layer under their names and ours; an encoder has no cross-attention.
LINEARS = {
    **{
        f"{sublayer}.{matrix}": f"{block}.{w}"
        for sublayer, block in _SUBLAYERS.items()
        for matrix, w in _ATTENTION.items()
    },
    "fc1": "feed_forward_block.linear_1",
    "fc2": "feed_forward_block.linear_2",
}
NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


def _stack(name: str) -> tuple[Row, ...]:
    """The layers of the encoder or decoder."""
    theirs, ours = f"model.{name}.layers.{{n}}", f"{name}.layers.{{n}}"
    matrices = {f"{theirs}.{linear}": f"{ours}.{own}" for linear, own in LINEARS.items()}
    residuals = {
        f"{theirs}.{norm}": f"{ours}.residual_connections.{i}.norm"
        for i, norm in enumerate(NORMS[name])
    }
    return *linears(matrices), *norms(residuals)


_SOURCE, _TARGET = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
_SHARED = (
    tensor(
        "model.shared.weight", "src_embed.embedding.weight", (_SOURCE, _TARGET, "lm_head.weight")
    ),
)
_SEPARATE = (
    tensor(_SOURCE, "src_embed.embedding.weight"),
    tensor(_TARGET, "tgt_embed.embedding.weight", ("lm_head.weight",)),
)
_ROWS = (
    *_stack("encoder"),
    *_stack("decoder"),
    Row("final_logits_bias", ("projection_layer.proj.bias",), ONE_ROW),
    Row("model.encoder.embed_positions.weight", ("src_pos.pe",), ONE_BATCH, formula=True),
    Row("model.decoder.embed_positions.weight", ("tgt_pos.pe",), ONE_BATCH, formula=True),
)
TABLES = {
    shared: Table("", (*words, *_ROWS)) for shared, words in ((True, _SHARED), (False, _SEPARATE))
}


# Settings of a search in generation_config.json: our options, if we have them, and the defaults.
SEARCH: dict[str, tuple[str, float]] = {
    "num_beams": ("beam_size", 4),
    "length_penalty": ("length_penalty", 1.0),
    "no_repeat_ngram_size": ("no_repeat_ngram", 0),
    "repetition_penalty": ("", 1.0),
    "encoder_no_repeat_ngram_size": ("", 0),
    "min_length": ("", 0),
    "forced_bos_token_id": ("", -1),
}


def log_search_settings(directory: Path) -> None:
    """Log the settings in generation_config.json, which is not applied, that differ from ours."""
    raw = read_json(directory / "generation_config.json", {})
    given = {key: raw[key] for key in SEARCH if raw.get(key) not in (None, SEARCH[key][1])}
    options = [f"{SEARCH[key][0]}={value}" for key, value in given.items() if SEARCH[key][0]]
    if given:
        found = ", ".join(f"{key}={value}" for key, value in given.items())
        advice = f"set {', '.join(options)} (options of the same names on the command line)"
        logger.info(
            f"generation_config.json of {directory} has {found}, which clearhead does not apply"
            + (f"; to search with these values, {advice}" if options else "")
        )


class MarianFamily(Family):
    """Its encoder and decoder may differ in heads and d_ff; ours may not."""

    def read(self, raw: Raw, held: Callable[[str], bool]) -> Any:
        """As `Family.read`."""
        raw = self.named(raw)
        for key in ("attention_heads", "ffn_dim"):
            both = [(self.absent | dict(raw))[f"{side}_{key}"] for side in ("encoder", "decoder")]
            if both[0] != both[1]:
                raise UserError(
                    f"this marian model has encoder_{key}={both[0]} and decoder_{key}="
                    f"{both[1]}, but clearhead has one for both; give another model"
                )
        return super().read(raw, held)

    def counted(self, raw: Raw) -> dict[str, Any]:
        """As `Family.counted`; a model with one vocabulary may state its size once."""
        one = "vocab_size" in raw and not raw.get("decoder_vocab_size")
        return {"tgt_vocab_size": raw["vocab_size"]} if one else {}

    def write(self, config: Any, origin: Raw | None) -> dict[str, Any]:
        """As `Family.write`."""
        raw = super().write(config, origin)
        raw["decoder_attention_heads"] = config.h
        raw["decoder_ffn_dim"] = config.d_ff
        raw["max_position_embeddings"] = max(config.src_seq_len, config.tgt_seq_len)
        for part in ("attention", "activation"):
            raw[f"{part}_dropout"] = config.dropout_of(part)
        return raw


MARIAN = MarianFamily(
    model_type="marian",
    config=MarianConfig,
    build=Marian.assemble,
    fields={
        "src_vocab_size": "vocab_size",
        "tgt_vocab_size": "decoder_vocab_size",
        "src_seq_len": "max_position_embeddings",
        "tgt_seq_len": "max_position_embeddings",
        "d_model": "d_model",
        "encoder_layers": "encoder_layers",
        "decoder_layers": "decoder_layers",
        "h": "encoder_attention_heads",
        "d_ff": "encoder_ffn_dim",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "activation_dropout": "activation_dropout",
        "activation": "activation_function",
        "scale_embedding": "scale_embedding",
        "initial_std": "init_std",
        "tie_embeddings": "share_encoder_decoder_embeddings",
        "pad_id": "pad_token_id",
        "bos_id": "decoder_start_token_id",
        "eos_id": "eos_token_id",
    },
    fixed={
        # transformers 5 ignores these four, and computes another function than the training did.
        "normalize_before": (False,),
        "normalize_embedding": (False,),
        "add_final_layer_norm": (False,),
        "static_position_embeddings": (True,),
        "is_decoder": (False,),
        "is_causal": (None, True),
        "is_encoder_decoder": (True,),
        "tie_word_embeddings": (True,),
    },
    absent={
        "max_position_embeddings": 1024,
        "d_model": 1024,
        "encoder_layers": 12,
        "decoder_layers": 12,
        "encoder_attention_heads": 16,
        "decoder_attention_heads": 16,
        "encoder_ffn_dim": 4096,
        "decoder_ffn_dim": 4096,
        "activation_function": "gelu",
        "scale_embedding": False,
        "share_encoder_decoder_embeddings": True,
        "pad_token_id": 58100,
        "decoder_start_token_id": 58100,
        "eos_token_id": 0,
    },
    architectures={"MarianMTModel": ()},
    heads={},
    table=lambda config: TABLES[config.tie_embeddings],
    aliases={
        "hidden_size": "d_model",
        "num_hidden_layers": "encoder_layers",
        "num_attention_heads": "encoder_attention_heads",
    },
)
