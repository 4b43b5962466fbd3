"""The shipped weights in a learner's blocks: `clearhead translate --with FILE:CLASS`."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clearhead import blocks
from clearhead.errors import UserError
from clearhead.learn import adopt
from clearhead.learn.failures import failure, open_blanks
from clearhead.learn.folder import read_file
from clearhead.learn.observe import load_text
from clearhead.learn.run import HAS_FEATURES
from clearhead.models import Transformer

# The arguments with which a block of the library was built; inner blocks first.
ARGUMENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "LayerNormalization": lambda m: (m.alpha.numel(), m.eps),
    "InputEmbeddings": lambda m: (m.d_model, m.vocab_size),
    "PositionalEncoding": lambda m: (m.d_model, m.seq_len, m.dropout.p),
    "MultiHeadAttentionBlock": lambda m: (m.d_model, m.h, m.dropout.p),
    "FeedForwardBlock": lambda m: (m.linear_1.in_features, m.linear_1.out_features, m.dropout.p),
    "ProjectionLayer": lambda m: (m.proj.in_features, m.proj.out_features),
    "ResidualConnection": lambda m: (m.dropout.p, m.norm),
    "EncoderBlock": lambda m: (m.self_attention_block, m.feed_forward_block, *_residuals(m)),
    "DecoderBlock": lambda m: (
        m.self_attention_block, m.cross_attention_block, m.feed_forward_block, *_residuals(m),
    ),
    "Encoder": lambda m: (m.layers, m.norm),
    "Decoder": lambda m: (m.layers, m.norm),
}  # fmt: skip
CLOSE = 1e-3


@dataclass(frozen=True)
class Block:
    """A learner's class, which takes the place of the library's class of the same name."""

    name: str
    make: Callable[..., nn.Module]
    filename: str


@dataclass(frozen=True)
class Swapped:
    """How many blocks the learner's took the place of, and what it lacks or computes otherwise."""

    name: str
    filename: str
    count: int
    note: str = ""

    def __str__(self) -> str:
        times = f"{self.count} times" if self.count > 1 else "once"
        return f"{self.name} of {self.filename} runs {times}{self.note and '; '}{self.note}"


def load_block(spec: str) -> Block:
    """The class that `FILE:CLASS` names.

    Raises:
        UserError: no such file or class, an error in the file, or a class of another name.
    """
    path, _, name = spec.rpartition(":")
    if not path or name not in ARGUMENTS:
        raise UserError(f"--with {spec}: expected FILE.py:CLASS with one of {', '.join(ARGUMENTS)}")
    return block_of(read_file(Path(path)), path, name)


def block_of(text: str, filename: str, name: str) -> Block:
    """The class of this name that a text defines.

    Raises:
        UserError: the text has an open blank or an error, or does not define the class.
    """
    if blank := open_blanks(text):
        raise UserError(f"{filename}, {blank}")
    try:
        names = vars(load_text(text, filename))
    except (Exception, SystemExit) as error:
        raise _in_words(error, filename) from error
    if not isinstance(names.get(name), type):
        found = [n for n, v in names.items() if isinstance(v, type) and v.__module__ == "answer"]
        raise UserError(f"{filename} defines no class {name}; found {', '.join(found) or 'none'}")
    return Block(name, names[name], filename)


def swap(model: Transformer, block: Block) -> Swapped:
    """Put the learner's block, with the model's weights, in place of each block of its kind.

    Raises:
        UserError: the block cannot be built, hold the weights, or run.
    """
    kind = getattr(blocks, block.name)
    places = [(path, m) for path, m in model.named_modules() if type(m) is kind]
    if not places:
        raise UserError(f"this model has no {block.name}, or --with names it twice; leave it out")
    try:
        original, inputs = places[0][1], _inputs(model, places[0][1])
        filled = _filled(block, original)
        tried = [_difference(made, original, inputs) for made, _ in filled]
        best = min(range(len(tried)), key=tried.__getitem__)
        for path, module in places:
            model.set_submodule(path, _filled(block, module)[best][0])
    except Exception as error:
        raise _in_words(error, block.filename) from error
    left = filled[best][1]
    notes = [f"no parameter for {', '.join(sorted(left))}"] if left else []
    if not tried[best] < CLOSE:
        notes.append(f"its output differs from the library's by up to {tried[best]:.3g}")
    return Swapped(block.name, block.filename, len(places), "; ".join(notes))


def _residuals(module: Any) -> tuple[Any, ...]:
    """The dropout rate of a layer, and its residual connections one after the other."""
    connections = module.residual_connections
    return connections[0].dropout.p, iter([*connections]).__next__


def _call_form(make: Callable[..., nn.Module], name: str, original: nn.Module) -> tuple[Any, ...]:
    """The library's arguments as the constructor of the learner takes them (`Run.call_form`).

    It may have `eps` alone, `features` first, or no norm.
    """
    arguments = ARGUMENTS[name](original)
    kinds = inspect.signature(make).parameters.values()
    if any(kind.kind is kind.VAR_POSITIONAL for kind in kinds):
        return arguments
    taken = [kind.name for kind in kinds if kind.kind is kind.POSITIONAL_OR_KEYWORD]
    if name == "LayerNormalization" and len(taken) == 1 and "eps" in taken[0]:
        return arguments[1:]
    if name in HAS_FEATURES and taken[:1] == ["features"]:
        norms = [m for m in original.modules() if isinstance(m, blocks.LayerNormalization)]
        arguments = (norms[0].alpha.numel(), *arguments)
    return arguments[: len(taken)] if name in HAS_FEATURES else arguments


def _filled(block: Block, original: nn.Module) -> list[tuple[nn.Module, set[str]]]:
    """The block with the weights of the original, once for each way that the shapes allow.

    With each comes what the original has and the block has no parameter for.
    """
    made, own, state = _made(block, original)
    found = []
    for way in adopt.ways(own, state) if state else []:
        one, own, _ = _made(block, original)
        adopt.fill(own, state, way)
        found.append((one.eval(), way.adapted(own, state)))
    return found or [(made.eval(), set())]


def _made(
    block: Block, original: nn.Module
) -> tuple[nn.Module, dict[str, nn.Parameter], dict[str, nn.Parameter]]:
    """A new block, its own parameters and those of the original, without those of inner blocks."""
    arguments = _call_form(block.make, block.name, original)
    inner = [m for m in arguments if isinstance(m, nn.Module)]
    if any(callable(a) and not isinstance(a, nn.Module) for a in arguments):  # they make each one
        inner += getattr(original, "residual_connections", [])
    given = {id(p) for m in inner for p in m.parameters()}
    made = block.make(*arguments)
    own, state = (
        {n: p for n, p in m.named_parameters() if id(p) not in given} for m in (made, original)
    )
    return made, own, state


def _inputs(model: Transformer, module: nn.Module) -> tuple[Any, ...]:
    """What a block receives when the model reads a few ids."""
    seen: list[tuple[Any, ...]] = []
    handle = module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    ids = torch.arange(3, 10)[None]
    mask = torch.ones(1, 1, 1, ids.shape[1], dtype=torch.bool)
    with torch.no_grad():
        model(ids, ids, mask, blocks.look_ahead_mask(ids.shape[1]))
    handle.remove()
    return seen[0]


def _difference(mine: nn.Module, original: nn.Module, inputs: tuple[Any, ...]) -> float:
    """The largest difference of the outputs; infinite if the shapes differ."""
    with torch.no_grad():
        actual, expected = mine(*inputs), original(*inputs)
    if not isinstance(actual, Tensor) or actual.shape != expected.shape:
        return float("inf")
    return float((actual - expected).abs().max().nan_to_num(nan=float("inf")))


def compare(
    model: Transformer, translate: Callable[[], list[str]], mine: Sequence[Block]
) -> tuple[list[str], list[str], list[Swapped]]:
    """Translations by the library's blocks and by the learner's, and what was swapped.

    The model keeps the learner's blocks.

    Raises:
        UserError: a block cannot take the other's place, or fails while it translates.
    """
    expected = translate()
    inner_first = sorted(mine, key=lambda block: list(ARGUMENTS).index(block.name))
    swapped = [swap(model, block) for block in inner_first]
    try:
        return expected, translate(), swapped
    except Exception as error:
        raise _in_words(error, mine[0].filename) from error


def _in_words(error: BaseException, filename: str) -> UserError:
    """The learner's error as one line, with its line in the file."""
    if isinstance(error, UserError):
        return error
    found = failure(error, filename)
    first = str(found["error"]).strip().splitlines()[0]
    line = f", line {found['line']}" if found["line"] else ""
    return UserError(f"{filename}{line}: {first}")
