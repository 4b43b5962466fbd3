"""The files that the README tells people to read are the files that a training step executes."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from clearhead.blocks import READABLE, FeedForwardBlock, MultiHeadAttentionBlock, Parts
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.device_settings import EngineChoice, choose_device_settings
from clearhead.training.model_recipes import TranslationRecipe
from clearhead.training.objective import make_objective
from clearhead.training.trainer import Trainer
from tests.laws.tracing import executed
from tests.laws.tree import ROOT

SIZES = TransformerConfig(
    29, 23, src_seq_len=17, tgt_seq_len=13, d_model=12, encoder_layers=2, decoder_layers=1,
    h=3, d_ff=20, tie_embeddings=False,
)  # fmt: skip
ENGINES: tuple[EngineChoice, ...] = ("readable", "fast")

# What runs of a part that is no module with a `forward`. Training calls `encode` and `decode`,
# not `Transformer.forward`, so that padding is never projected.
CALLED_AS = {
    "padding and look-ahead masks": ("padding_mask", "look_ahead_mask"),
    "scaled_dot_product_attention": ("MultiHeadAttentionBlock.attention",),
    "Transformer": ("Transformer.encode", "Transformer.decode"),
    "build_transformer": (),  # makes the model
}
IN_ORDER = [
    "Transformer.encode", "InputEmbeddings.forward", "PositionalEncoding.forward",
    "Encoder.forward", "EncoderBlock.forward", "ResidualConnection.forward",
    "LayerNormalization.forward", "MultiHeadAttentionBlock.forward",
    "MultiHeadAttentionBlock.attention", "FeedForwardBlock.forward",
    "Transformer.decode", "Decoder.forward", "DecoderBlock.forward", "ProjectionLayer.forward",
]  # fmt: skip
# With both engines: the optimizer, which holds the float32 master weights.
SHARED = {"flat_optimizer"}
REPLACED_BY_FAST = "ProjectionLayer.forward"  # by one operation with the loss

Called = tuple[str, str]  # path below the package, qualified name


def parts_to_read() -> set[Called]:
    """Each part of the README's table "Read it", as the function that runs it."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Read it")[1]
    rows = re.findall(r"^\| (.+?) \| .*\(src/clearhead/(.+?)\) \|$", section, re.MULTILINE)
    found = set()
    for parts, path in rows:
        for part in re.findall(r"`(\w+)`", parts) or [parts]:
            names = CALLED_AS.get(part, (f"{part}.forward",))
            found |= {(path, name) for name in names}
    return found


class OneBatch:
    """The same three padded sentence pairs again and again."""

    epoch = 0

    def __next__(self) -> SimpleNamespace:
        source, target = np.full((3, 9), 5), np.full((3, 7), 7)
        source[:, 8] = target[:, 6] = 2
        source[1, 4:], target[2, 3:] = 0, 0
        return SimpleNamespace(source=source, target=target)


def trainer_with(engine: EngineChoice, parts: Parts = READABLE) -> Trainer:
    """A trainer of a small model, ready for its first step."""
    ground = choose_device_settings("cpu", "fp32", engine)
    objective = make_objective(0.1, 0.0, 1, ground.engine.token_loss)
    model = Transformer.from_config(SIZES, parts)
    return Trainer(TranslationRecipe(), model, OneBatch(), objective, ground)  # type: ignore[arg-type]


def step_of(engine: EngineChoice) -> Callable[[], object]:
    """One training step, to be traced."""
    return trainer_with(engine).step


def one_step(engine: EngineChoice, parts: Parts = READABLE) -> list[Called]:
    trainer, finite = trainer_with(engine, parts), list[bool]()
    ran = executed(lambda: finite.append(trainer.step().finite))
    assert finite == [True]
    return [(path, name) for path, _, name in (line.partition(" ") for line in ran)]


def test_the_table_names_every_part_of_the_order() -> None:
    in_table = {name for path, name in parts_to_read() if not path.endswith("masks.py")}
    assert in_table == set(IN_ORDER)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_training_step_runs_every_file_of_the_table(engine: EngineChoice) -> None:
    left_out = {REPLACED_BY_FAST} if engine == "fast" else set()
    expected = {(path, name) for path, name in parts_to_read() if name not in left_out}
    called = one_step(engine)
    assert not expected - set(called)
    assert (("fast/loss.py", "projected_cross_entropy") in called) == (engine == "fast")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_parts_run_in_the_order_of_the_paper(engine: EngineChoice) -> None:
    names = [name for _, name in one_step(engine) if name in IN_ORDER]
    expected = [name for name in IN_ORDER if engine == "readable" or name != REPLACED_BY_FAST]
    assert names == expected


@pytest.mark.parametrize(
    ("engine", "files"),
    [
        ("readable", SHARED),
        ("fast", SHARED | {"accelerate", "dropout", "loss"}),
    ],
)
def test_nothing_else_is_replaced(engine: EngineChoice, files: set[str]) -> None:
    called = one_step(engine)
    assert {Path(path).stem for path, _ in called if path.startswith("fast/")} == files
    formula = ("blocks/normalization.py", "LayerNormalization.normalize")
    assert (formula in called) == (engine == "readable")


def counting(kind: type[torch.nn.Module]) -> tuple[type[torch.nn.Module], list[int]]:
    """A learner's own subclass of a block, and how often its forward ran."""
    runs: list[int] = []
    original: Callable[..., Tensor] = kind.forward

    class Learners(kind):  # type: ignore[misc, valid-type]
        def forward(self, *inputs: Tensor) -> Tensor:
            runs.append(1)
            return original(self, *inputs)

    return Learners, runs


@pytest.mark.parametrize("engine", ENGINES)
def test_a_learners_own_blocks_run_as_well(engine: EngineChoice) -> None:
    attention, attended = counting(MultiHeadAttentionBlock)
    feed_forward, fed = counting(FeedForwardBlock)
    one_step(engine, replace(READABLE, attention=attention, feed_forward=feed_forward))
    assert len(attended) == SIZES.encoder_layers + 2 * SIZES.decoder_layers
    assert len(fed) == SIZES.encoder_layers + SIZES.decoder_layers
