"""BERT's files (`transformers`: BertModel and its heads)."""

from clearhead.models.bert import Bert, BertConfig
from clearhead.pretrained.family import Family
from clearhead.pretrained.table import Table, linears, norms, tensor

_THEIRS, _OURS = "bert.encoder.layer.{n}", "encoder.layers.{n}"
_WORDS = "bert.embeddings.word_embeddings.weight"

TABLE = Table(
    prefix="bert.",
    rows=(
        tensor(_WORDS, "embeddings.words.embedding.weight", ("cls.predictions.decoder.weight",)),
        tensor("bert.embeddings.position_embeddings.weight", "embeddings.positions.table.weight"),
        tensor("bert.embeddings.token_type_embeddings.weight", "embeddings.segments.weight"),
        *linears(
            {
                f"{_THEIRS}.attention.self.query": f"{_OURS}.self_attention_block.w_q",
                f"{_THEIRS}.attention.self.key": f"{_OURS}.self_attention_block.w_k",
                f"{_THEIRS}.attention.self.value": f"{_OURS}.self_attention_block.w_v",
                f"{_THEIRS}.attention.output.dense": f"{_OURS}.self_attention_block.w_o",
                f"{_THEIRS}.intermediate.dense": f"{_OURS}.feed_forward_block.linear_1",
                f"{_THEIRS}.output.dense": f"{_OURS}.feed_forward_block.linear_2",
                "bert.pooler.dense": "heads.pooler.linear",
                "cls.predictions.transform.dense": "heads.masked_lm.linear",
                "cls.seq_relationship": "heads.next_sentence.1.linear",
            }
        ),
        # What one class calls a classifier reads the pooled text, what another does each token.
        *linears({"classifier": "heads.sequence.1.linear"}),
        *linears({"classifier": "heads.token.linear"}),
        *norms(
            {
                "bert.embeddings.LayerNorm": "embeddings.norm",
                f"{_THEIRS}.attention.output.LayerNorm": f"{_OURS}.residual_connections.0.norm",
                f"{_THEIRS}.output.LayerNorm": f"{_OURS}.residual_connections.1.norm",
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
    fields={
        "vocab_size": "vocab_size",
        "seq_len": "max_position_embeddings",
        "d_model": "hidden_size",
        "layers": "num_hidden_layers",
        "h": "num_attention_heads",
        "d_ff": "intermediate_size",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "activation": "hidden_act",
        "eps": "layer_norm_eps",
        "initial_std": "initializer_range",
        "pad_id": "pad_token_id",
        "segments": "type_vocab_size",
    },
    fixed={
        "position_embedding_type": ("absolute",),
        "is_decoder": (False,),
        "add_cross_attention": (False,),
        "tie_word_embeddings": (True,),
    },
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
