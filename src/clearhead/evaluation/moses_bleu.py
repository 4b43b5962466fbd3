"""BLEU as in papers on Multi30k: lower-cased, Moses-normalised, Moses-tokenised.

Papers before sacreBLEU scored tokenised and lower-cased text. Such scores are comparable only with
each other, so they are reported in addition to sacreBLEU's own. The preprocessing is that of
Multi30k's `lc.norm.tok` files: Moses's normalize-punctuation, lower-casing, Moses's tokenizer with
escapes (an apostrophe becomes `&apos;`), all by sacremoses. (The files were lower-cased first,
which makes no difference to the normalizer.) After that, tokens are separated by spaces, and
sacreBLEU only counts.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from clearhead.errors import UserError
from clearhead.evaluation.scores import Score, check_lines


@dataclass(frozen=True)
class MosesBleu:
    """BLEU after preprocessing; `tokenized` are references that are already preprocessed."""

    preprocess: Callable[[str], str]
    tokenizer: str  # for the signature
    tokenized: Sequence[str] | None = None

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """BLEU of plain hypotheses; the signature names the preprocessing.

        Raises:
            UserError: there are no lines, or the numbers of lines differ.
        """
        if self.tokenized is None:
            references = [self.preprocess(line) for line in references]
        else:
            references = self.tokenized
        check_lines(hypotheses, references)
        # force: no warning that the text looks tokenised, since it is.
        bleu = BLEU(lowercase=True, tokenize="none", force=True)
        bleu.tokenizer_signature = self.tokenizer
        found = bleu.corpus_score([self.preprocess(line) for line in hypotheses], [references])
        return Score("BLEU", found.score, str(bleu.get_signature()))


def moses_bleu(language: str = "fr", tokenized: Sequence[str] | None = None) -> MosesBleu:
    """The metric for one language.

    Raises:
        UserError: sacremoses is not installed or does not support the language.
    """
    sacremoses = _import_sacremoses()
    known = set(sacremoses.corpus.NonbreakingPrefixes().available_langs.values())
    if language not in known:
        raise UserError(
            f"the Moses tokenizer does not support the language {language!r}; give the code of one "
            f"that it does with --target-lang: {', '.join(sorted(known))}"
        )
    normalize = sacremoses.MosesPunctNormalizer(language).normalize
    tokenize = sacremoses.MosesTokenizer(language).tokenize

    def preprocess(text: str) -> str:
        return str(tokenize(normalize(text).lower(), return_str=True, escape=True))

    signature = f"moses-norm-{language}-sacremoses-{sacremoses.__version__}"
    return MosesBleu(preprocess, signature, tokenized)


def _import_sacremoses() -> Any:
    try:
        return importlib.import_module("sacremoses")
    except ImportError as error:
        raise UserError(
            "scoring as papers do needs sacremoses, which is not installed; "
            "install it with: pip install 'clearhead[compare]'"
        ) from error
