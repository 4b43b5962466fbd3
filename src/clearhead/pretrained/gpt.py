"""GPT-2's files (`transformers`: GPT2Model and its heads)."""

from typing import Any

from clearhead.models.gpt import Gpt, GptConfig
from clearhead.pretrained.family import Family, Raw
from clearhead.pretrained.table import STACKED, TRANSPOSED, Form, Row, Table, linears, norms, tensor

_THEIRS, _OURS = "transformer.h.{n}", "decoder.layers.{n}"


def _conv1d(theirs: str, *ours: str) -> tuple[Row, Row]:
    """A matrix (in, out) and its bias; several of ours are concatenated in one of theirs."""

    def row(kind: str, form: Form) -> Row:
        names = tuple(f"{_OURS}.{name}.{kind}" for name in ours)
        return Row(f"{_THEIRS}.{theirs}.{kind}", names, form)

    return row("weight", TRANSPOSED), row("bias", STACKED)


TABLE = Table(
    prefix="transformer.",
    rows=(
        tensor("transformer.wte.weight", "embed.embedding.weight", ("lm_head.weight",)),
        tensor("transformer.wpe.weight", "positions.table.weight"),
        *_conv1d("attn.c_attn", *(f"self_attention_block.{w}" for w in ("w_q", "w_k", "w_v"))),
        *_conv1d("attn.c_proj", "self_attention_block.w_o"),
        *_conv1d("mlp.c_fc", "feed_forward_block.linear_1"),
        *_conv1d("mlp.c_proj", "feed_forward_block.linear_2"),
        *linears({"classifier": "heads.token.linear"}),
        *norms(
            {
                f"{_THEIRS}.ln_1": f"{_OURS}.residual_connections.0.norm",
                f"{_THEIRS}.ln_2": f"{_OURS}.residual_connections.1.norm",
                "transformer.ln_f": "decoder.norm",
            }
        ),
    ),
    # The causal mask, and the value that it masks with.
    dropped=(f"{_THEIRS}.attn.bias", f"{_THEIRS}.attn.masked_bias"),
)


class GptFamily(Family):
    """Its config.json may omit d_ff, which then is four times d_model."""

    def counted(self, raw: Raw) -> dict[str, Any]:
        """As `Family.counted`."""
        width = {} if raw.get("n_inner") else {"d_ff": 4 * raw.get("n_embd", 768)}
        return super().counted(raw) | width

    def write(self, config: Any, origin: Raw | None) -> dict[str, Any]:
        """As `Family.write`."""
        raw = super().write(config, origin)
        if config.d_ff == 4 * config.d_model and "n_inner" in (origin or {}):
            raw["n_inner"] = (origin or {})["n_inner"]
        return raw


GPT = GptFamily(
    model_type="gpt2",
    config=GptConfig,
    build=Gpt,
    fields={
        "vocab_size": "vocab_size",
        "seq_len": "n_positions",
        "d_model": "n_embd",
        "layers": "n_layer",
        "h": "n_head",
        "d_ff": "n_inner",
        "dropout": "resid_pdrop",
        "attention_dropout": "attn_pdrop",
        "embedding_dropout": "embd_pdrop",
        "activation": "activation_function",
        "eps": "layer_norm_epsilon",
        "initial_std": "initializer_range",
        "pad_id": "pad_token_id",
        "bos_id": "bos_token_id",
        "eos_id": "eos_token_id",
    },
    fixed={
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
        "is_causal": (None, True),
        "tie_word_embeddings": (True,),
    },
    absent={},
    architectures={
        "GPT2Model": (),
        "GPT2ForTokenClassification": ("token",),
        "GPT2LMHeadModel": (),
    },
    heads={},
    table=lambda config: TABLE,
    aliases={
        "max_position_embeddings": "n_positions",
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
    },
)
