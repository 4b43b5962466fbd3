"""The files of BERT and of ESM-2, whose layers have the same names.

In `transformers` they are BertModel, EsmModel and the classes with their heads.
"""

from typing import Any

from clearhead.models.bert import Bert, BertConfig
from clearhead.models.esm import Esm, EsmConfig
from clearhead.pretrained.family import Family, Raw
from clearhead.pretrained.table import Row, Table, linears, norms, tensor

_WORDS = "bert.embeddings.word_embeddings.weight"
OUR_LAYER = "encoder.layers.{n}"
OUR_NORMS = tuple(f"{OUR_LAYER}.residual_connections.{i}.norm" for i in (0, 1))


def encoder_linears(prefix: str) -> dict[str, str]:
    """The matrices of a layer and the pooler, under BERT's names, which ESM has too."""
    layer = f"{prefix}.encoder.layer.{{n}}"
    return {
        f"{layer}.attention.self.query": f"{OUR_LAYER}.self_attention_block.w_q",
        f"{layer}.attention.self.key": f"{OUR_LAYER}.self_attention_block.w_k",
        f"{layer}.attention.self.value": f"{OUR_LAYER}.self_attention_block.w_v",
        f"{layer}.attention.output.dense": f"{OUR_LAYER}.self_attention_block.w_o",
        f"{layer}.intermediate.dense": f"{OUR_LAYER}.feed_forward_block.linear_1",
        f"{layer}.output.dense": f"{OUR_LAYER}.feed_forward_block.linear_2",
        f"{prefix}.pooler.dense": "heads.pooler.linear",
    }


# Fields of config.json, and the values that our formulas require, which ESM has too.
FIELDS = {
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
}
FIXED = {"is_decoder": (False,), "add_cross_attention": (False,), "tie_word_embeddings": (True,)}

BERT_TABLE = Table(
    prefix="bert.",
    rows=(
        tensor(_WORDS, "embeddings.words.embedding.weight", ("cls.predictions.decoder.weight",)),
        tensor("bert.embeddings.position_embeddings.weight", "embeddings.positions.table.weight"),
        tensor("bert.embeddings.token_type_embeddings.weight", "embeddings.segments.weight"),
        *linears(
            {
                **encoder_linears("bert"),
                "cls.predictions.transform.dense": "heads.masked_lm.linear",
                "cls.seq_relationship": "heads.next_sentence.1.linear",
            }
        ),
        # `classifier` reads the pooled text in one class, each token in another.
        *linears({"classifier": "heads.sequence.1.linear"}),
        *linears({"classifier": "heads.token.linear"}),
        *norms(
            {
                "bert.embeddings.LayerNorm": "embeddings.norm",
                "bert.encoder.layer.{n}.attention.output.LayerNorm": OUR_NORMS[0],
                "bert.encoder.layer.{n}.output.LayerNorm": OUR_NORMS[1],
                "cls.predictions.transform.LayerNorm": "heads.masked_lm.norm",
            }
        ),
        tensor(
            "cls.predictions.bias",
            "heads.masked_lm.projection.bias",
            ("cls.predictions.decoder.bias",),
        ),
    ),
    dropped=("bert.embeddings.position_ids", "bert.embeddings.token_type_ids"),
)

BERT = Family(
    model_type="bert",
    config=BertConfig,
    build=Bert,
    fields=FIELDS | {"activation": "hidden_act", "segments": "type_vocab_size"},
    fixed=FIXED | {"position_embedding_type": ("absolute",)},
    absent={},
    architectures={
        "BertModel": ("pooler",),
        "BertForMaskedLM": ("masked_lm",),
        "BertForPreTraining": ("pooler", "masked_lm", "next_sentence"),
        "BertForNextSentencePrediction": ("pooler", "next_sentence"),
        "BertForSequenceClassification": ("pooler", "sequence"),
        "BertForTokenClassification": ("token",),
    },
    heads={
        "pooler": "pooler.dense.weight",
        "masked_lm": "cls.predictions.transform.dense.weight",
        "next_sentence": "cls.seq_relationship.weight",
    },
    table=lambda config: BERT_TABLE,
)


ESM_TABLE = Table(
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


ESM = EsmFamily(
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
    table=lambda config: ESM_TABLE,
)
