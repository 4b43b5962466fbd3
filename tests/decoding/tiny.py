"""Small random models whose every size differs, loud enough to disagree about the next word."""

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.marian import Marian, MarianConfig

# (norm, tie_embeddings)
VARIANTS = [("pre", False), ("pre", True), ("post", False), ("post", True)]


def make_model(norm: str = "pre", tie: bool = False, vocab: int = 23, seed: int = 1) -> Transformer:
    """2 encoder layers, 3 decoder layers, 3 heads of 4; 17 source and 29 target positions."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        src_vocab_size=vocab if tie else vocab + 6,
        tgt_vocab_size=vocab,
        src_seq_len=17,
        tgt_seq_len=29,
        d_model=12,
        encoder_layers=2,
        decoder_layers=3,
        h=3,
        d_ff=20,
        dropout=0.3,
        norm=norm,  # type: ignore[arg-type]
        tie_embeddings=tie,
    )
    return talkative(Transformer.from_config(config))


def talkative(model: Transformer) -> Transformer:
    """With opinions, and an inclination to end: so some sentences do."""
    with torch.no_grad():
        _loud(model)
        model.projection_layer.proj.bias[model.config.eos_id] += 2.0
    return model.eval()


def _loud(model: Transformer) -> None:
    for parameter in model.parameters():
        parameter += 0.3 * torch.randn_like(parameter)


def make_marian(vocab: int = 23, seed: int = 1) -> Marian:
    """Post-norm, swish, the sines before the cosines; writing begins with the padding sign."""
    signs = {"pad_id": vocab - 1, "bos_id": vocab - 1, "eos_id": 0}
    sizes: dict[str, Any] = asdict(make_model("post", True, vocab).config)
    torch.manual_seed(seed)
    model = Marian.from_config(MarianConfig(**sizes | signs, initial_std=0.3))
    with torch.no_grad():
        _loud(model)
    return model.eval()


def random_sources(model: Transformer, count: int, seed: int = 1) -> list[list[int]]:
    """Sources of 1 to 17 ids, end sign included."""
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    lengths = torch.randint(0, config.src_seq_len, (count,), generator=generator).tolist()
    return [
        [
            *torch.randint(3, config.src_vocab_size, (n,), generator=generator).tolist(),
            config.eos_id,
        ]
        for n in lengths
    ]


def teacher_forced(model: Transformer, source: list[int], target: list[int]) -> Tensor:
    """(len(target), vocab) log-probabilities of every next token, one sentence, no cache."""
    src = torch.tensor([source])
    tgt = torch.tensor([[model.config.bos_id, *target[:-1]]])
    src_mask = padding_mask(src, model.config.pad_id)
    with torch.no_grad():
        memory = model.encode(src, src_mask)
        tgt_mask = decoder_mask(tgt, model.config.pad_id)
        return model.project(model.decode(memory, src_mask, tgt, tgt_mask))[0]


def true_score(model: Transformer, source: list[int], written: list[int]) -> float:
    """The sum of the log-probabilities of what was written, end sign included if it is there."""
    steps = teacher_forced(model, source, written)
    return float(steps[torch.arange(len(written)), torch.tensor(written)].sum())
