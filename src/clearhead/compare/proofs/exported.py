"""An export of the shipped translator, held against the translator that it was made from."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from clearhead.compare.proofs.proof import Finding, Proof
from clearhead.export.exporting import export
from clearhead.export.quiet import quiet
from clearhead.export.targets import TARGETS, engine_of
from clearhead.export.verify import BEAM_SIZE, sentences, verify
from clearhead.models import Transformer
from clearhead.text import Tokenizer
from clearhead.translation.location import SHIPPED

# Two engines add the same float32 numbers in another order, through all layers.
BOUND = 1e-3
SENTENCES = 24


def exported(target: str, engine: str) -> Proof:
    """The proof of one of `clearhead export`'s targets."""
    return Proof(
        f"the shipped translator, exported to {target}", engine, "float32", BOUND,
        partial(agreement, target),
    )  # fmt: skip


def agreement(target: str) -> Finding:
    """The largest logit apart, and translations that are not the same token for token."""
    model, tokenizer = Transformer.from_pretrained(SHIPPED), Tokenizer.load(SHIPPED)
    with TemporaryDirectory() as folder, quiet():
        directory = Path(folder) / target
        export(SHIPPED, TARGETS[target], directory, "float32")
        engine = engine_of(TARGETS[target])(directory)
        found = verify(model, engine, sentences(model, tokenizer, SENTENCES))
        del engine  # it may hold files of the folder open
    unlike = 2 * found.sentences - found.greedy - found.beam
    note = (
        f"of {found.sentences} sentences {found.greedy} the same greedy, "
        f"{found.beam} with beam {BEAM_SIZE}"
    )
    return Finding(found.logit_difference, None, unlike, note)
