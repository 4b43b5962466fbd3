"""The README.md of a model directory: what it learned from, whose text that was, how good it is."""

from pathlib import Path

from clearhead.files import atomic_write
from clearhead.training.checkpoint import Progress
from clearhead.training.measures import perplexity
from clearhead.training.recipe import Data
from clearhead.training.task import Words

CARD = """\
# {title}

{about}

- Learned from: {train}{attribution}
- {steps:,} steps, {tokens:,} {learned}, {minutes:.0f} minutes
- {score}
"""


def write_card(directory: Path, data: Data, words: Words, progress: Progress) -> None:
    """Write README.md beside the weights."""
    text = CARD.format(
        title=words.title,
        about=words.about,
        train=_name(data.train),
        attribution=f" ({data.attribution})" if data.attribution else "",
        steps=progress.step,
        tokens=progress.tokens,
        learned=words.learned,
        minutes=progress.seconds / 60,
        score=_score(data, words, progress),
    )
    atomic_write(directory / "README.md", text)


def _score(data: Data, words: Words, progress: Progress) -> str:
    if not progress.dev:
        return "not evaluated yet"
    score, dev = words.score, _name(data.dev) or "a part of it, set aside"
    return (
        f"On {dev} ({progress.dev['sentences']:.0f} {words.judged}, "
        f"at step {progress.dev['step']:,.0f}): "
        f"{score.label} {progress.dev[score.key]:.{score.digits}f}, "
        f"perplexity {perplexity(progress.dev['loss']):.3f}"
    )


def _name(spec: str) -> str:
    """A corpus without the path on this machine."""
    return spec if ":" in spec else ", ".join(Path(part).name for part in spec.split(","))
