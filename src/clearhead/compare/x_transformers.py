"""`x-transformers`: the collection of everything that was ever tried on a Transformer."""

from collections.abc import Iterator

from torch import Tensor, nn

from clearhead.compare.ordinary_step import ordinary, precisions
from clearhead.compare.peers import library
from clearhead.compare.race import Contestant
from clearhead.compare.task import Task
from clearhead.models import TransformerConfig

NAME = "x-transformers"


class XTransformer(nn.Module):
    """Its encoder-decoder of our sizes.

    Its attention has no biases, its positions are learnt, the rest counts the same.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id = config.pad_id
        self.inner = library("x_transformers").XTransformer(
            dim=config.d_model,
            tie_token_emb=config.tie_embeddings,
            pad_value=config.pad_id,
            **_side("enc", config, config.encoder_layers),
            **_side("dec", config, config.decoder_layers),
        )

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab)."""
        mask = src != self.pad_id
        memory = self.inner.encoder(src, mask=mask, return_embeddings=True)
        # Past its wrapper, whose loss knows no label smoothing.
        return self.inner.decoder.net(tgt, context=memory, context_mask=mask)


def _side(name: str, config: TransformerConfig, layers: int) -> dict[str, object]:
    encoder = name == "enc"
    sizes: dict[str, object] = {
        "num_tokens": config.src_vocab_size if encoder else config.tgt_vocab_size,
        "max_seq_len": config.src_seq_len if encoder else config.tgt_seq_len,
        "depth": layers,
        "heads": config.h,
        "attn_dim_head": config.d_model // config.h,
        "ff_mult": config.d_ff / config.d_model,
        "ff_custom_activation": nn.ReLU(),
        "emb_dropout": config.dropout,
        "attn_dropout": config.dropout_of("attention"),
        "ff_dropout": config.dropout_of("activation"),
        "attn_sublayer_dropout": config.dropout,
        "ff_sublayer_dropout": config.dropout,
    }
    return {f"{name}_{key}": value for key, value in sizes.items()}


def contestants(task: Task) -> Iterator[Contestant]:
    """Its training step."""
    for precision in precisions(task):
        yield ordinary(NAME, XTransformer(task.config), task, precision)
