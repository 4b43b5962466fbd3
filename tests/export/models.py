"""The exported models: the shipped one, and small random ones whose sizes all differ."""

from functools import cache
from itertools import islice
from pathlib import Path

import pytest
import torch

from clearhead.data.grammar import generate
from clearhead.export.exporting import TARGETS, export
from clearhead.export.verify import Engine, Ids, sentences, translate
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.weight_files import SHIPPED
from clearhead.text import Tokenizer

LIMIT = 30  # tokens of a translation
# Added to the bias of EOS, so that sentences end, but not immediately.
_ENDING = {("pre", True): 2.0, ("pre", False): 2.0, ("post", True): -0.5, ("post", False): 3.0}
VARIANTS = list(_ENDING)


@cache
def shipped() -> tuple[Transformer, Tokenizer]:
    return Transformer.from_pretrained(SHIPPED), Tokenizer.load(SHIPPED)


@cache
def shipped_sources() -> list[Ids]:
    return sentences(*shipped(), 200)


@cache
def shipped_translations(beam_size: int) -> list[Ids]:
    return translate(shipped()[0], shipped_sources(), beam_size, 64)


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train([pair.source for pair in islice(generate("train"), 300)], 330)


def tiny(norm: str = "pre", tie: bool = True, d_model: int = 12) -> Transformer:
    """1 + 2 layers, 3 heads; sharp attention, so that every source has another translation."""
    torch.manual_seed(5)
    vocab = tokenizer().vocab_size
    config = TransformerConfig(
        src_vocab_size=vocab,
        tgt_vocab_size=vocab if tie else vocab + 7,
        src_seq_len=63,
        tgt_seq_len=41,
        d_model=d_model,
        encoder_layers=1,
        decoder_layers=2,
        h=3,
        d_ff=20,
        norm=norm,  # type: ignore[arg-type]
        tie_embeddings=tie,
    )
    model = Transformer.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter += 0.3 * torch.randn_like(parameter)
            if "attention" in name:
                parameter *= 3
        bias = model.projection_layer.get_parameter("proj.bias")
        bias[: config.eos_id] = -30.0  # never predicted, as in a trained model
        bias[config.eos_id] += _ENDING[norm, tie]
        bias[3:259] -= 8.0  # prefer words to single bytes
    return model


def tiny_sources(model: Transformer, count: int = 40) -> list[Ids]:
    return sentences(model, tokenizer(), count)


def exported(model: Transformer, name: str, directory: Path) -> Path:
    """Save the model, then export it."""
    model.save_pretrained(directory / "model")
    tokenizer().save(directory / "model")
    export(directory / "model", TARGETS[name], directory / name, "float32")
    return directory / name


def assert_same_translations(engine: Engine, model: Transformer) -> None:
    """Token for token, greedy and beam 4.

    Other engines treat a hypothesis cut at the limit as ended, ours does not.
    """
    sources = tiny_sources(model)
    for beam_size in (1, 4):
        ours = translate(model, sources, beam_size, LIMIT)
        theirs = engine.translate(sources, beam_size, LIMIT)
        pairs = list(zip(ours, theirs, strict=True))
        ended = [pair for pair in pairs if max(map(len, pair)) < LIMIT]
        assert len(ended) > 5 or beam_size == 1
        assert len({tuple(ids) for ids in ours}) > 5, "the translations must differ"
        for mine, other in pairs if beam_size == 1 else ended:
            assert other == mine


def assert_shipped_agrees(engine: Engine) -> None:
    """200 sentences, token for token, greedy and beam 4."""
    for beam_size in (1, 4):
        theirs = engine.translate(shipped_sources(), beam_size, 64)
        assert theirs == shipped_translations(beam_size)


def run_usage(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the example of the README in the exported directory."""
    readme = (directory / "README.md").read_text(encoding="utf-8")
    assert "Tatoeba" in readme, "the model card attributes the training data"
    monkeypatch.chdir(directory)
    exec(readme.rsplit("```python\n", 1)[1].split("```")[0], {})
