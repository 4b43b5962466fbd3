"""BERT's files (`transformers`: BertModel and its heads)."""

from clearhead.models.bert import Bert, BertConfig
from clearhead.pretrained.family import Family
from clearhead.pretrained.table import Table, linears, norms, tensor

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
FIXED = {
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}

TABLE = Table(
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

FAMILY = Family(
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
    table=lambda config: TABLE,
)
