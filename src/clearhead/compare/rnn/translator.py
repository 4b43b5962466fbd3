"""Recurrent translators with the interface of `Transformer`, and as many parameters."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import torch
from torch import Tensor, nn

from clearhead.blocks import InputEmbeddings, ProjectionLayer, padding_mask
from clearhead.compare.rnn.layers import (
    AttentionDecoder,
    DecoderState,
    MakeStack,
    Memory,
    PlainDecoder,
    Stack,
    initialize_recurrent,
)
from clearhead.decoding import ReadableEngine
from clearhead.errors import UserError
from clearhead.models import Transformer, TransformerConfig, count_parameters

TRANSFORMER = "Transformer"
WIDEST = 2**16
TOLERANCE = 0.02  # of the Transformer's number of parameters
MakeDecoder = type[PlainDecoder] | type[AttentionDecoder]


class RnnTranslator(nn.Module):
    """Encoder and decoder of `layers` recurrent layers of width `hidden`.

    Vocabulary, embedding width, layers, dropout and tied embeddings are those of `config`; only
    `hidden` is chosen so that the number of parameters matches the Transformer's.

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
        """Teacher forcing; an RNN needs no causal mask, since it reads from left to right."""
        return self.decoder(self.dropout(self.tgt_embed(tgt)), self.start(memory, src_mask))

    def start(self, memory: Memory, src_mask: Tensor) -> DecoderState:
        """The decoder's state before the first token."""
        return self.decoder.start(memory, src_mask.flatten(1))

    def step(self, ids: Tensor, previous: DecoderState) -> tuple[Tensor, DecoderState]:
        """(batch,) last tokens -> (batch, d_model), and the next state."""
        return self.decoder.step(self.dropout(self.tgt_embed(ids)), previous)

    def project(self, x: Tensor) -> Tensor:
        """(batch, tgt_len, d_model) -> (batch, tgt_len, vocab) log-probabilities."""
        return self.projection_layer(x)


Model = Transformer | RnnTranslator


def initialize(model: RnnTranslator) -> None:
    """As in the Transformer: Xavier for matrices, N(0, 1/d_model) for embeddings."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    for stack in (model.encoder, model.decoder.stack):
        initialize_recurrent(stack)
    for embed in (model.src_embed, model.tgt_embed):
        nn.init.normal_(embed.embedding.weight, std=model.config.d_model**-0.5)
    nn.init.zeros_(model.projection_layer.proj.bias)


class RnnSteps:
    """The decoder one token at a time; implements `Steps`."""

    def __init__(self, model: RnnTranslator, src: Tensor) -> None:
        mask = padding_mask(src, model.config.pad_id)
        self.model, self.state = model, model.start(model.encode(src, mask), mask)

    def step(self, last: Tensor) -> Tensor:
        """As `Steps.step`."""
        return self.model.project(self.hidden(last))

    def hidden(self, last: Tensor) -> Tensor:
        """(rows,) the tokens written last -> (rows, d_model), the decoder's output."""
        output, self.state = self.model.step(last, self.state)
        return output

    def keep(self, rows: Tensor) -> None:
        """As `Steps.keep`."""
        self.state = self.state.rows(rows)

    reorder = keep


def engine_of(model: Model) -> ReadableEngine:
    """The engine that decodes with either kind of model."""
    if isinstance(model, Transformer):
        return ReadableEngine.of(model)
    return ReadableEngine(model.config, torch.device("cpu"), partial(RnnSteps, model), (model,))


LSTM, GRU = partial(Stack, nn.LSTM), partial(Stack, nn.GRU)
RECURRENT: dict[str, tuple[MakeStack, MakeDecoder]] = {
    "LSTM": (LSTM, PlainDecoder),
    "GRU": (GRU, PlainDecoder),
    "LSTM + attention": (LSTM, AttentionDecoder),
    "GRU + attention": (GRU, AttentionDecoder),
}
NAMES = [TRANSFORMER, *RECURRENT]


@dataclass(frozen=True)
class Size:
    """The width of the hidden state (d_model for the Transformer) and the parameters."""

    hidden: int
    parameters: int


def transformer_config(
    d_model: int, h: int, layers: int, vocabulary: int, seq_len: int
) -> TransformerConfig:
    """Equal encoder and decoder, d_ff four times d_model, tied embeddings."""
    return TransformerConfig(
        vocabulary,
        vocabulary,
        src_seq_len=seq_len,
        tgt_seq_len=seq_len,
        d_model=d_model,
        encoder_layers=layers,
        decoder_layers=layers,
        h=h,
        d_ff=4 * d_model,
        dropout=0.1,
        tie_embeddings=True,
    )


def make_model(name: str, config: TransformerConfig, seed: int) -> Model:
    """A newly initialized model; the same seed gives the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name == TRANSFORMER:
            return Transformer.from_config(config)
        model = RnnTranslator(config, *RECURRENT[name], matching_width(name, config))
        initialize(model)
        return model


def model_sizes(config: TransformerConfig) -> Iterator[tuple[str, Size]]:
    """The size of every model."""
    for name in NAMES:
        model = make_model(name, config, seed=1)
        hidden = config.d_model if name == TRANSFORMER else matching_width(name, config)
        yield name, Size(hidden, count_parameters(model))


@lru_cache
def matching_width(name: str, config: TransformerConfig) -> int:
    """The width of an RNN whose number of parameters is closest to the Transformer's.

    Raises:
        UserError: no width comes within 2 %.
    """

    def parameters(hidden: int) -> int:
        return count_parameters(RnnTranslator(config, *RECURRENT[name], hidden))

    with torch.device("meta"):  # shapes only
        wanted = count_parameters(Transformer.from_config(config))
        high = max(2, bisect_left(range(WIDEST), wanted, lo=1, key=parameters))
        errors = {hidden: abs(parameters(hidden) / wanted - 1) for hidden in (high - 1, high)}
    best = min(errors, key=errors.__getitem__)
    if errors[best] > TOLERANCE:
        raise UserError(
            f"no {name} comes within {TOLERANCE:.0%} of a Transformer with d_model="
            f"{config.d_model}, {config.encoder_layers} + {config.decoder_layers} layers "
            f"({wanted:,} parameters); take a larger d_model"
        )
    return best
