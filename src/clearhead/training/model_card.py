"""The README.md of a model directory: what it learned from, whose text that was, how good it is."""

from pathlib import Path

from clearhead.files import atomic_write
from clearhead.training.checkpoint import Progress
from clearhead.training.measures import perplexity
from clearhead.training.recipe import Recipe

CARD = """\
# {source} → {target} translator

A Transformer trained with clearhead; use it with `clearhead translate --model DIRECTORY`
or `clearhead.Translator.from_pretrained(DIRECTORY)`.

- Learned from: {train}{attribution}
- {steps:,} steps, {tokens:,} target tokens, {minutes:.0f} minutes
- {score}
"""


def write_card(directory: Path, recipe: Recipe, progress: Progress) -> None:
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
        score=_score(recipe, progress),
    )
    atomic_write(directory / "README.md", text)


def _score(recipe: Recipe, progress: Progress) -> str:
    if not progress.dev:
        return "not evaluated yet"
    return (
        f"On {_name(recipe.data.dev)} ({progress.dev['sentences']:.0f} sentences, greedy, "
        f"at step {progress.dev['step']:,.0f}): BLEU {progress.dev['bleu']:.2f}, "
        f"perplexity {perplexity(progress.dev['loss']):.3f}"
    )


def _name(spec: str) -> str:
    """A corpus without the path on this machine."""
    return spec if ":" in spec else ", ".join(Path(part).name for part in spec.split(","))
