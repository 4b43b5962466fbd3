"""Scores of translations: BLEU and chrF, a paired bootstrap, exact match, and BLEU as in papers.

Scores of tokenized or lower-cased text look higher and are not comparable; so both sides are
scored as plain text, and sacreBLEU applies its own tokenization. The signature records it (Post
2018, "A Call for Clarity in Reporting BLEU Scores"): quote it with the score.

Paired bootstrap resampling (Koehn 2004): the test set is resampled 1,000 times with replacement,
and both systems are scored on each sample. p is the share of samples in which the difference
deviates from its mean by more than the observed difference. Below 0.05 the difference is called
significant. All samples of a single line are the same and say nothing; p is 1.
"""

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from clearhead.data.grammar import PHENOMENA, PRODUCTIONS, GrammarPair
from clearhead.errors import UserError
from clearhead.text.inputs import check_texts

RESAMPLES = 1000
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Score:
    """A value from 0 to 100, the name of the metric, and its signature."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class Scores:
    """Scores of a corpus of translations.

    `length_ratio` is the number of BLEU's tokens in the hypotheses per token in the references:
    well below 1, translations are cut short, and BLEU's brevity penalty applies. It is None if the
    references contain no token.
    """

    bleu: Score
    chrf: Score
    length_ratio: float | None


def score(hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
    """Score hypotheses against one reference each; empty lines count.

    Raises:
        UserError: there are no lines, one is no text, or the numbers of lines differ.
    """
    hypotheses, references = check_lines(hypotheses, references)
    bleu, chrf = BLEU(), CHRF()
    found = bleu.corpus_score(hypotheses, [references])
    also = chrf.corpus_score(hypotheses, [references])
    return Scores(
        Score("BLEU", found.score, str(bleu.get_signature())),
        Score("chrF", also.score, str(chrf.get_signature())),
        found.sys_len / found.ref_len if found.ref_len else None,
    )


def check_lines(hypotheses: Iterable[str], references: Iterable[str]) -> list[list[str]]:
    """Both as lists, if there is one hypothesis for each reference, and at least one.

    Raises:
        UserError: otherwise.
    """
    hypotheses, references = check_texts(hypotheses), check_texts(references)
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses for {len(references)} references; "
            "expected one line for each: score the translation of the whole test set"
        )
    if not references:
        raise UserError("there is no line to score; give a test set of at least one pair")
    return [hypotheses, references]


@dataclass(frozen=True)
class Comparison:
    """One metric of two systems; `margin` and `other_margin` are half 95 % intervals.

    `difference` is ours minus theirs. `signature` contains the number of samples and the seed
    (12345 unless SACREBLEU_SEED is set), so that the test can be repeated.
    """

    metric: str
    value: float
    margin: float
    other: float
    other_margin: float
    p_value: float
    signature: str

    @property
    def difference(self) -> float:
        """Positive if our system is better."""
        return self.value - self.other


def compare(
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[str],
    resamples: int = RESAMPLES,
) -> list[Comparison]:
    """BLEU and chrF of two systems on the same lines; deterministic.

    Raises:
        UserError: the numbers of lines differ, or SACREBLEU_SEED is no seed.
    """
    hypotheses, references = check_lines(hypotheses, references)
    against, references = check_lines(against, references)
    seed = os.environ.get("SACREBLEU_SEED", "0")
    valid = seed.isascii() and seed.isdigit() and int(seed) < 2**32
    if not valid and seed.lower() != "none":
        raise UserError(
            f"the environment variable SACREBLEU_SEED is {seed!r}; expected a whole number "
            "from 0 to 4294967295: unset it, or give such a number"
        )
    test = PairedTest(
        [("against", against), ("system", hypotheses)],
        {"BLEU": BLEU(), "chrF": CHRF()},
        [references],
        test_type="bs",
        n_samples=resamples,
    )
    signatures, results = test()
    return [
        _comparison(name, cast(list[Result], results[name]), str(signature), len(references))
        for name, signature in signatures.items()
    ]


def _comparison(name: str, results: list[Result], signature: str, lines: int) -> Comparison:
    theirs, ours = results
    # sacreBLEU counts samples beyond the observed difference. With equal scores there are none,
    # and it would call a system significantly different from itself; neither are there any with
    # a single line, of which all samples are the same.
    alike = ours.score == theirs.score or lines == 1
    p_value = 1.0 if alike else float(ours.p_value or 0)
    return Comparison(
        "BLEU" if name == "BLEU" else "chrF",  # sacreBLEU says chrF2
        ours.score,
        float(ours.ci or 0),
        theirs.score,
        float(theirs.ci or 0),
        p_value,
        signature,
    )


@dataclass(frozen=True)
class Count:
    """The number of correct sentences."""

    right: int
    total: int

    @property
    def percent(self) -> float:
        """From 0 to 100; 100 if there are no sentences."""
        return 100 * self.right / self.total if self.total else 100.0


@dataclass(frozen=True)
class ExactMatch:
    """Counts of all sentences, and of those with each phenomenon or construction.

    The grammar has exactly one French sentence for each English one, so a translation is either
    right or wrong; and each sentence is labelled with its phenomena (negation, agreement, …), so
    that errors can be located.
    """

    overall: Count
    by_phenomenon: dict[str, Count]
    by_construction: dict[str, Count]


def exact_match(hypotheses: Sequence[str], pairs: Sequence[GrammarPair]) -> ExactMatch:
    """A hypothesis is right if it equals the reference, character by character.

    A sentence counts for each of its phenomena; phenomena without sentences are left out.

    Raises:
        UserError: the numbers of hypotheses and pairs differ.
    """
    hypotheses, _ = check_lines(hypotheses, [pair.target for pair in pairs])
    right = [h == pair.target for h, pair in zip(hypotheses, pairs, strict=True)]
    constructions = sorted({pair.construction for pair in pairs})
    return ExactMatch(
        _count(right),
        _counts((*PHENOMENA, *PRODUCTIONS), right, [pair.phenomena for pair in pairs]),
        _counts(constructions, right, [{pair.construction} for pair in pairs]),
    )


def _counts(
    names: Iterable[str], right: Sequence[bool], labels: Sequence[frozenset[str] | set[str]]
) -> dict[str, Count]:
    by_name = {
        name: [r for r, own in zip(right, labels, strict=True) if name in own] for name in names
    }
    return {name: _count(found) for name, found in by_name.items() if found}


def _count(right: Sequence[bool]) -> Count:
    return Count(sum(right), len(right))


@dataclass(frozen=True)
class MosesBleu:
    """BLEU as in papers on Multi30k: lower-cased, Moses-normalized, Moses-tokenized.

    Papers before sacreBLEU scored tokenized and lower-cased text. Such scores are comparable only
    with each other, so they are reported in addition to sacreBLEU's own. The preprocessing is that
    of Multi30k's `lc.norm.tok` files: Moses's normalize-punctuation, lower-casing, Moses's
    tokenizer with escapes (an apostrophe becomes `&apos;`), all by sacremoses. (The files were
    lower-cased first, which makes no difference to the normalizer.) After that, tokens are
    separated by spaces, and sacreBLEU only counts.

    `tokenized` are references that are already preprocessed.
    """

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
        hypotheses, references = check_lines(hypotheses, references)
        # force: no warning that the text looks tokenized, since it is.
        bleu = BLEU(lowercase=True, tokenize="none", force=True)
        bleu.tokenizer_signature = self.tokenizer
        found = bleu.corpus_score([self.preprocess(line) for line in hypotheses], [references])
        return Score("BLEU", found.score, str(bleu.get_signature()))


def moses_bleu(language: str = "fr", tokenized: Sequence[str] | None = None) -> MosesBleu:
    """The metric for one language.

    Raises:
        UserError: sacremoses is not installed or does not support the language.
    """
    try:
        sacremoses = importlib.import_module("sacremoses")
    except ImportError as error:
        raise UserError(
            "scoring as papers do needs sacremoses, which is not installed; "
            "install it with: pip install 'clearhead[compare]'"
        ) from error
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
