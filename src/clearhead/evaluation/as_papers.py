"""BLEU as papers on Multi30k print it: lower-cased, Moses-normalised, Moses-tokenised.

Papers before sacreBLEU scored the text that their systems wrote: words apart from
punctuation, everything small. Such numbers compare with each other and with nothing
else, so they stand beside sacreBLEU's own, never in its place. The road of a line is
that of Multi30k's `lc.norm.tok` files: Moses's normalize-punctuation, lower-casing,
Moses's tokenizer with its escapes (an apostrophe becomes `&apos;`), by sacremoses. (The
files were lower-cased first; the normalizer hardly knows capitals, so nothing changes.)
After it a token is what stands between two spaces, and sacreBLEU only counts.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from clearhead.errors import UserError
from clearhead.evaluation.scores import Score, check_lines

Road = Callable[[str], str]


@dataclass(frozen=True)
class AsPapers:
    """What a text is made into, and references that somebody else has made into it already.

    Without `tokenized` references, the raw ones take the same road as the hypotheses.
    """

    road: Road
    tokenizer: str  # for the signature
    tokenized: Sequence[str] | None = None

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """BLEU of raw hypotheses after the road; the signature says which.

        Raises:
            UserError: there are no lines, or not as many on both sides.
        """
        if self.tokenized is None:
            references = [self.road(line) for line in references]
        else:
            references = self.tokenized
        check_lines(hypotheses, references)
        # force: sacreBLEU would warn that the text looks tokenised, which it is.
        bleu = BLEU(lowercase=True, tokenize="none", force=True)
        bleu.tokenizer_signature = self.tokenizer
        found = bleu.corpus_score([self.road(line) for line in hypotheses], [references])
        return Score("BLEU", found.score, str(bleu.get_signature()))


def as_papers(language: str = "fr", tokenized: Sequence[str] | None = None) -> AsPapers:
    """The road for one language.

    Raises:
        UserError: sacremoses is not installed, or does not know the language.
    """
    sacremoses = _import_sacremoses()
    known = set(sacremoses.corpus.NonbreakingPrefixes().available_langs.values())
    if language not in known:
        raise UserError(
            f"the Moses tokenizer does not know the language {language!r}; give the code of one "
            f"that it does with --target-lang: {', '.join(sorted(known))}"
        )
    normalize = sacremoses.MosesPunctNormalizer(language).normalize
    tokenize = sacremoses.MosesTokenizer(language).tokenize

    def road(text: str) -> str:
        return str(tokenize(normalize(text).lower(), return_str=True, escape=True))

    return AsPapers(road, f"moses-norm-{language}-sacremoses-{sacremoses.__version__}", tokenized)


def _import_sacremoses() -> Any:
    try:
        return importlib.import_module("sacremoses")
    except ImportError as error:
        raise UserError(
            "scoring as papers do needs sacremoses, which is not installed; "
            "install it with: pip install 'clearhead[compare]'"
        ) from error
