"""A Marian as the hub holds them: two SentencePiece models, one vocabulary, taught a little."""

import io
import json
from collections.abc import Iterable
from pathlib import Path

import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks import look_ahead_mask, padding_mask, shift_right
from clearhead.data.corpus import GrammarPairs
from clearhead.decoding.readable import padded
from clearhead.models.marian import Marian, MarianConfig
from clearhead.pretrained import save_pretrained
from clearhead.text.sentencepiece_pair import SentencePiecePair

PAIRS = list(GrammarPairs("train", 300))


def save_marian(directory: Path) -> Path:
    """Files that clearhead and `transformers` load."""
    processors = {side: _learned(side) for side in ("source", "target")}
    pieces = [e.id_to_piece(i) for e in processors.values() for i in range(3, e.get_piece_size())]
    vocab = dict.fromkeys(["</s>", "<unk>", *pieces, "<pad>"])
    numbers = {piece: number for number, piece in enumerate(vocab)}
    _write(directory / "vocab.json", numbers)
    settings = {"separate_vocabs": False, "source_lang": "en", "target_lang": "fr"}
    _write(directory / "tokenizer_config.json", settings)
    for side, processor in processors.items():
        (directory / f"{side}.spm").write_bytes(processor.serialized_model_proto())
    save_pretrained(_taught(directory, len(vocab)), directory)
    return directory


def _learned(side: str) -> sentencepiece.SentencePieceProcessor:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([getattr(pair, side) for pair in PAIRS]),
        model_writer=written, vocab_size=200, minloglevel=2, hard_vocab_limit=False,
        num_threads=1, character_coverage=1.0,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())


def _taught(directory: Path, words: int) -> Marian:
    """It has seen some batches: what it says depends on what it is told, and comes to an end."""
    torch.manual_seed(5)
    pad = words - 1
    model = Marian.from_config(
        MarianConfig(
            words, words, 48, 48, d_model=36, encoder_layers=1, decoder_layers=2, h=3, d_ff=60,
            dropout=0.0, tie_embeddings=True, pad_id=pad, bos_id=pad, eos_id=0, initial_std=0.1,
        )
    )  # fmt: skip
    pair = SentencePiecePair.load(directory)

    def batch(step: int) -> tuple[Tensor, Tensor]:
        rows = [PAIRS[i % len(PAIRS)] for i in range(step * 32, step * 32 + 32)]
        sides = (
            [pair.encode(row.source) for row in rows],
            [pair.encode_target(row.target) for row in rows],
        )
        src, tgt = (padded(side, pad, torch.device("cpu")) for side in sides)
        return src, tgt

    teach(model, (batch(step) for step in range(150)))
    return model.eval()


def teach(model: Marian, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Sources and targets, each with its end sign and padding."""
    pad, optimizer = model.config.pad_id, torch.optim.Adam(model.parameters(), lr=3e-3)
    for src, tgt in batches:
        logits = forced(model, src, shift_right(tgt, pad))
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=pad)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def forced(model: Marian, src: Tensor, tgt: Tensor) -> Tensor:
    """(batch, tgt_len, words): what the model would say at each place of given targets."""
    mask = padding_mask(src, model.config.pad_id)
    hidden = model.decode(model.encode(src, mask), mask, tgt, look_ahead_mask(tgt.shape[1]))
    return model.project(hidden)


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
