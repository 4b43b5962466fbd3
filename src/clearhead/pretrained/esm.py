"""ESM-2's files (`transformers`: EsmModel and its heads)."""

from typing import Any

from clearhead.models.esm import Esm, EsmConfig
from clearhead.pretrained.bert import FIELDS, FIXED, OUR_NORMS, encoder_linears
from clearhead.pretrained.family import Family, Raw
from clearhead.pretrained.table import Row, Table, linears, norms, tensor

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
            ("encoder.layers.0.self_attention_block.rotary.frequencies",),  # shared by all layers
            also=tuple(
                f"esm.encoder.layer.{layer}.attention.self.rotary_embeddings.inv_freq"
                for layer in ("{n}", "*")  # one per layer in old files, a literal * in new ones
            ),
            formula=True,
        ),
        *linears(
            {
                **encoder_linears("esm"),
                "lm_head.dense": "heads.masked_lm.linear",
                "classifier.dense": "heads.sequence.1.linear",
                "classifier.out_proj": "heads.sequence.2.linear",
                "classifier": "heads.token.linear",
            }
        ),
        *norms(
            {
                "esm.encoder.layer.{n}.attention.LayerNorm": OUR_NORMS[0],
                "esm.encoder.layer.{n}.LayerNorm": OUR_NORMS[1],
                "esm.encoder.emb_layer_norm_after": "encoder.norm",
                "lm_head.layer_norm": "heads.masked_lm.norm",
            }
        ),
        tensor("lm_head.bias", "heads.masked_lm.projection.bias"),
    ),
    # A regression from attention to contacts, which this model does not predict, and position
    # embeddings, which ESM-2's files contain although its positions are rotary.
    carried=(
        "esm.contact_head.regression.weight",
        "esm.contact_head.regression.bias",
        "esm.embeddings.position_embeddings.weight",
    ),
    dropped=("esm.embeddings.position_ids",),
)


class EsmFamily(Family):
    """The rotary base is an integer in ours and a float in theirs."""

    def write(self, config: Any, origin: Raw | None) -> dict[str, Any]:
        """As `Family.write`."""
        return super().write(config, origin) | {"rope_theta": float(config.rotary_base)}


FAMILY = EsmFamily(
    model_type="esm",
    config=EsmConfig,
    build=Esm,
    fields=FIELDS | {"mask_id": "mask_token_id", "rotary_base": "rope_theta"},
    fixed=FIXED
    | {
        "position_embedding_type": ("rotary",),
        "token_dropout": (True,),
        "emb_layer_norm_before": (False, None),
        "is_folding_model": (False,),
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
