"""clearhead: the Transformer you can read is the Transformer you run.

`import clearhead` is cheap: torch loads when one of the names below is first
used, not before.
"""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers, which run nothing
    from clearhead.models import Transformer, build_transformer
    from clearhead.pipelines import pipeline
    from clearhead.translation import Translator

__version__ = "0.1.0"
__all__ = ["Transformer", "Translator", "__version__", "build_transformer", "pipeline"]

_PACKAGES = (
    "biology", "blocks", "compare", "data", "decoding", "evaluation", "explain", "export", "fast",
    "learn", "models", "native", "pipelines", "pretrained", "text", "training", "translation",
)  # fmt: skip

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.translation": ["Translator"],
        "clearhead.pipelines": ["pipeline"],
        "clearhead.models": ["Transformer", "build_transformer"],
    },
    _PACKAGES,
)
