"""The README.md of a model directory: what it learned from, whose text that was, how good it is."""

from pathlib import Path

from clearhead.files import atomic_write
from clearhead.training.checkpoint import Progress
from clearhead.training.recipe import Recipe
from clearhead.training.validation import Verdict

CARD = """\
# {source} → {target} translator

A Transformer trained with clearhead; use it with `clearhead translate --model DIRECTORY`
or `clearhead.Translator.from_pretrained(DIRECTORY)`.

- Learned from: {train}{attribution}
- {steps:,} steps, {tokens:,} target tokens, {minutes:.0f} minutes
- On {dev} ({sentences} sentences, greedy): BLEU {bleu:.2f}, perplexity {ppl:.3f}
"""


def write_card(directory: Path, recipe: Recipe, progress: Progress, verdict: Verdict) -> None:
    """Write README.md beside the weights."""
    data = recipe.data
    text = CARD.format(
        source=data.source_lang,
        target=data.target_lang,
        train=_name(data.train),
        attribution=f" ({data.attribution})" if data.attribution else "",
        steps=progress.step,
        tokens=progress.tokens,
        minutes=progress.seconds / 60,
        dev=_name(data.dev),
        sentences=recipe.run.dev_sentences,
        bleu=verdict.bleu,
        ppl=2.718281828459045**verdict.loss,
    )
    atomic_write(directory / "README.md", text)


def _name(spec: str) -> str:
    """A corpus without the path on this machine."""
    return spec if ":" in spec else ", ".join(Path(part).name for part in spec.split(","))
