"""The shipped translator, exported to other engines or computed in bfloat16.

Both sides translate the same sentences. An export must give the same translations; bfloat16 only
approximates float32.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from clearhead.compare.proofs.proof import Deviation, Proof
from clearhead.decoding import DecodingOptions, ReadableEngine
from clearhead.decoding.readable import padded
from clearhead.export.exporting import TARGETS, engine_of, export, quiet
from clearhead.export.verify import BEAM_SIZE, sentences, verify
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.models import Transformer
from clearhead.models.weight_files import SHIPPED
from clearhead.text import Tokenizer

BOUND = 1e-3  # logits in float32, summed in another order through all layers
BFLOAT16_BOUND = 0.1  # nats of a token's log-probability: bfloat16 has 8 significant bits
SENTENCES = 24


def ctranslate2() -> Iterator[Proof]:
    """The export to CTranslate2."""
    yield exported("ctranslate2", "ctranslate2.Translator")


def onnx() -> Iterator[Proof]:
    """The export to two ONNX graphs, computed by ONNX Runtime."""
    yield exported("onnx", "onnxruntime")


def exported(target: str, engine: str) -> Proof:
    """The proof for one target of `clearhead export`."""
    return Proof(
        f"the shipped translator, exported to {target}", engine, "float32", BOUND,
        partial(_export_deviation, target),
    )  # fmt: skip


def _shipped() -> tuple[Transformer, list[list[int]]]:
    model = Transformer.from_pretrained(SHIPPED)
    return model, sentences(model, Tokenizer.load(SHIPPED), SENTENCES)


def _export_deviation(target: str) -> Deviation:
    """The largest difference of logits, and the translations that differ in any token."""
    model, sources = _shipped()
    with TemporaryDirectory() as folder, quiet():
        directory = Path(folder) / target
        export(SHIPPED, TARGETS[target], directory, "float32")
        engine = engine_of(TARGETS[target])(directory)
        found = verify(model, engine, sources)
        del engine  # it may hold files of the folder open
    different = 2 * found.sentences - found.greedy - found.beam
    note = (
        f"of {found.sentences} sentences {found.greedy} the same greedy, "
        f"{found.beam} with beam {BEAM_SIZE}"
    )
    return Deviation(found.logit_difference, None, different, note)


def bfloat16() -> Iterator[Proof]:
    """`clearhead translate --precision bfloat16`, where it is faster than float32."""
    if multiplies_bfloat16(torch.device("cpu")):
        yield Proof(
            "the shipped translator in bfloat16, log-probability of a token", "in float32",
            "bfloat16", BFLOAT16_BOUND, bfloat16_deviation, "≈",
        )  # fmt: skip


@torch.no_grad()
def bfloat16_deviation() -> Deviation:
    """The largest difference of a token's log-probability, given the float32 translation."""
    model, sources = _shipped()
    options = DecodingOptions(beam_size=1)
    engines = ReadableEngine.of(model, "bfloat16"), ReadableEngine.of(model)
    found = [[best[0].ids for best in engine.decode(sources, options)] for engine in engines]
    same = sum(map(list.__eq__, *found))
    ours, theirs = (forced_log_probabilities(engine, sources, found[1]) for engine in engines)
    note = f"of {len(sources)} sentences {same} the same greedy"
    return Deviation(float((ours - theirs).abs().max()), note=note)


def forced_log_probabilities(
    engine: ReadableEngine, sources: Sequence[Sequence[int]], targets: list[list[int]]
) -> Tensor:
    """The log-probability of each token of the given translations: (tokens,)."""
    config = engine.config
    labels = padded([[*ids, config.eos_id] for ids in targets], config.pad_id, engine.device)
    steps = engine.begin(padded(sources, config.pad_id, engine.device))
    last, found = torch.full((len(labels),), config.bos_id), []
    for label in labels.unbind(1):
        found.append(steps.step(last).gather(1, label[:, None])[:, 0])
        last = label
    return torch.stack(found, dim=1)[labels != config.pad_id]
