"""The whole recurrent translator; called as a `Transformer` is, so that both learn alike."""

from torch import Tensor, nn

from clearhead.blocks import InputEmbeddings, ProjectionLayer
from clearhead.compare.rnn.attending_decoder import AttendingDecoder
from clearhead.compare.rnn.carried import Carried, Memory
from clearhead.compare.rnn.plain_decoder import MakeStack, PlainDecoder
from clearhead.compare.rnn.stacks import initialize_recurrent
from clearhead.models import TransformerConfig

MakeDecoder = type[PlainDecoder] | type[AttendingDecoder]


class RnnTranslator(nn.Module):
    """Encoder and decoder of `layers` recurrent layers, `hidden` wide.

    Vocabulary, token width, layers, dropout and tied tables are those of `config`, the
    Transformer beside it; only `hidden` is chosen so that both have as many parameters.

        memory = model.encode(src, src_mask)                # outputs (batch, src_len, hidden)
        hidden = model.decode(memory, src_mask, tgt)        # (batch, tgt_len, d_model)
        log_probabilities = model.project(hidden)           # (batch, tgt_len, vocab)
    """

    def __init__(
        self, config: TransformerConfig, stack: MakeStack, decoder: MakeDecoder, hidden: int
    ) -> None:
        super().__init__()
        self.config = config
        d_model, dropout = config.d_model, config.dropout
        self.src_embed = InputEmbeddings(d_model, config.src_vocab_size)
        self.tgt_embed = InputEmbeddings(d_model, config.tgt_vocab_size)
        self.projection_layer = ProjectionLayer(d_model, config.tgt_vocab_size)
        self.encoder = stack(d_model, hidden, config.encoder_layers, dropout)
        self.decoder = decoder(stack, d_model, hidden, config.decoder_layers, dropout)
        self.dropout = nn.Dropout(dropout)
        if config.tie_embeddings:
            self.tgt_embed.embedding.weight = self.src_embed.embedding.weight
            self.projection_layer.proj.weight = self.src_embed.embedding.weight

    def encode(self, src: Tensor, src_mask: Tensor) -> Memory:
        """(batch, src_len) ids, padding at the end; mask (batch, 1, 1, src_len)."""
        x = self.dropout(self.src_embed(src))
        return Memory(*self.encoder.read(x, src_mask.flatten(1).sum(1)))

    def decode(
        self, memory: Memory, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """Teacher forcing; no mask is needed: an RNN has not read yet what comes later."""
        return self.decoder(self.dropout(self.tgt_embed(tgt)), self.start(memory, src_mask))

    def start(self, memory: Memory, src_mask: Tensor) -> Carried:
        """Before the first word is written."""
        return self.decoder.start(memory, src_mask.flatten(1))

    def step(self, ids: Tensor, carried: Carried) -> tuple[Tensor, Carried]:
        """(batch,) the word last written -> (batch, d_model) what comes next."""
        return self.decoder.step(self.dropout(self.tgt_embed(ids)), carried)

    def project(self, x: Tensor) -> Tensor:
        """(batch, tgt_len, d_model) -> (batch, tgt_len, vocab) log-probabilities."""
        return self.projection_layer(x)


def initialize(model: RnnTranslator) -> None:
    """As the Transformer's: Xavier for matrices, N(0, 1/d_model) for the tables of words."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    for stack in (model.encoder, model.decoder.stack):
        initialize_recurrent(stack)
    for embed in (model.src_embed, model.tgt_embed):
        nn.init.normal_(embed.embedding.weight, std=model.config.d_model**-0.5)
    nn.init.zeros_(model.projection_layer.proj.bias)
