"""ESM-2's files (`transformers`: EsmModel and its heads)."""

from typing import Any

from clearhead.models.esm import Esm, EsmConfig
from clearhead.pretrained.family import Family, Raw
from clearhead.pretrained.table import Row, Table, linears, norms, tensor

_THEIRS, _OURS = "esm.encoder.layer.{n}", "encoder.layers.{n}"

TABLE = Table(
    prefix="esm.",
    rows=(
        tensor(
            "esm.embeddings.word_embeddings.weight",
            "embed.embedding.weight",
            ("lm_head.decoder.weight",),
        ),
        Row(
            "esm.rotary_embeddings.inv_freq",
            ("encoder.layers.0.self_attention_block.rotary.frequencies",),  # all layers share it
            also=tuple(
                f"esm.encoder.layer.{layer}.attention.self.rotary_embeddings.inv_freq"
                for layer in ("{n}", "*")  # one a layer in old files, and a literal * in new ones
            ),
            formula=True,
        ),
        *linears(
            {
                f"{_THEIRS}.attention.self.query": f"{_OURS}.self_attention_block.w_q",
                f"{_THEIRS}.attention.self.key": f"{_OURS}.self_attention_block.w_k",
                f"{_THEIRS}.attention.self.value": f"{_OURS}.self_attention_block.w_v",
                f"{_THEIRS}.attention.output.dense": f"{_OURS}.self_attention_block.w_o",
                f"{_THEIRS}.intermediate.dense": f"{_OURS}.feed_forward_block.linear_1",
                f"{_THEIRS}.output.dense": f"{_OURS}.feed_forward_block.linear_2",
                "esm.pooler.dense": "heads.pooler.linear",
                "lm_head.dense": "heads.masked_lm.linear",
                "classifier.dense": "heads.sequence.1.linear",
                "classifier.out_proj": "heads.sequence.2.linear",
                "classifier": "heads.token.linear",
            }
        ),
        *norms(
            {
                f"{_THEIRS}.attention.LayerNorm": f"{_OURS}.residual_connections.0.norm",
                f"{_THEIRS}.LayerNorm": f"{_OURS}.residual_connections.1.norm",
                "esm.encoder.emb_layer_norm_after": "encoder.norm",
                "lm_head.layer_norm": "heads.masked_lm.norm",
            }
        ),
        tensor("lm_head.bias", "heads.masked_lm.projection.bias"),
    ),
    # A regression from attentions to contacts in space, which this model does not predict, and
    # a table of positions that ESM-2's files hold though its positions are rotary.
    carried=(
        "esm.contact_head.regression.weight",
        "esm.contact_head.regression.bias",
        "esm.embeddings.position_embeddings.weight",
    ),
    dropped=("esm.embeddings.position_ids",),
)


class EsmFamily(Family):
    """Its rotary base is a whole number here and not there."""

    def write(self, config: Any, origin: Raw | None) -> dict[str, Any]:
        """As `Family.write`."""
        return super().write(config, origin) | {"rope_theta": float(config.rotary_base)}


FAMILY = EsmFamily(
    model_type="esm",
    config=EsmConfig,
    build=Esm,
    fields={
        "vocab_size": "vocab_size",
        "seq_len": "max_position_embeddings",
        "d_model": "hidden_size",
        "layers": "num_hidden_layers",
        "h": "num_attention_heads",
        "d_ff": "intermediate_size",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "eps": "layer_norm_eps",
        "initial_std": "initializer_range",
        "pad_id": "pad_token_id",
        "mask_id": "mask_token_id",
        "rotary_base": "rope_theta",
    },
    fixed={
        "position_embedding_type": ("rotary",),
        "token_dropout": (True,),
        "emb_layer_norm_before": (False, None),
        "is_folding_model": (False,),
        "is_decoder": (False,),
        "add_cross_attention": (False,),
        "tie_word_embeddings": (True,),
    },
    absent={
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "layer_norm_eps": 1e-12,
        "pad_token_id": None,
        "mask_token_id": None,
        "position_embedding_type": "absolute",
        "token_dropout": False,
    },
    architectures={
        "EsmModel": ("pooler",),
        "EsmForMaskedLM": ("masked_lm",),
        "EsmForSequenceClassification": ("sequence",),
        "EsmForTokenClassification": ("token",),
    },
    heads={"pooler": "pooler.dense.weight", "masked_lm": "lm_head.dense.weight"},
    table=lambda config: TABLE,
)
