"""What a Transformer must beat: classical models on one-hot letters or k-mer counts.

Every model is tuned like the Transformer: two or three settings, the best on the same held-out
share of the training fold.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearhead.data.h5ad import read_cell
from clearhead.data.sequences import Record
from clearhead.errors import UserError

Floats = NDArray[np.float64]
Features = Callable[[Sequence[Record]], Any]
LONGEST_WORD = 3  # letters of the counted words
WINDOW = 15  # letters around a position
STRENGTHS = 0.03, 0.3, 3.0  # inverse regularization of logistic regression


class Baseline(NamedTuple):
    """A name, what the model reads, and an unfitted model for each setting to choose from."""

    name: str
    features: str  # a key of `features_for`
    settings: list[Any]


def is_cell(record: Record) -> bool:
    """Whether the record is a list of genes with values."""
    return ":" in record.sequence


def features_for(
    train: Sequence[Record], answer: str = "classes", aligned: bool = True
) -> dict[str, Features]:
    """How records become numbers, fitted on training records.

    `expression`: the logarithm of counts per 10,000, for cells, of which it is also `positions`.
    `positions`: one-hot letters of aligned sequences; of others, counts as in `words`.
    `pairs`: one-hot letters and pairs of neighbours. `words`: shares of words of 1 to 3 letters
    and the length. `windows`: one-hot letters around each position that counts.
    """
    if is_cell(train[0]):
        expression = _expression(train)
        return {"expression": expression, "positions": expression}
    letters = sorted({letter for record in train for letter in record.sequence})
    if answer == "positions":
        return {"windows": lambda records: _windows(records, letters)}
    words = _shares_of_words(train)
    if not aligned:
        return {"positions": words, "pairs": words, "words": words}
    return {
        "positions": lambda records: _one_hot(records, letters, 1),
        "pairs": lambda records: np.hstack([_one_hot(records, letters, n) for n in (1, 2)]),
        "words": words,
    }


def _expression(train: Sequence[Record]) -> Features:
    """(records, genes): the logarithm of counts per 10,000, as single-cell analysis uses it."""
    from sklearn.feature_extraction import DictVectorizer

    def read(records: Sequence[Record]) -> list[dict[str, float]]:
        cells = [read_cell(record.sequence) for record in records]
        return [dict(zip(names, np.log1p(values), strict=True)) for names, values in cells]

    genes = DictVectorizer(sparse=False).fit(read(train))
    return lambda records: genes.transform(read(records))


def _shares_of_words(train: Sequence[Record]) -> Features:
    """(records, words + 1): the share of each word of the training records, and the length."""
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(analyzer="char", ngram_range=(1, LONGEST_WORD), lowercase=False)
    words.fit([record.sequence for record in train])

    def read(records: Sequence[Record]) -> Floats:
        counts = words.transform([record.sequence for record in records]).toarray()
        lengths = np.array([[len(record.sequence)] for record in records])
        return np.hstack([counts / np.maximum(lengths, 1), lengths / 100])

    return read


def _one_hot(records: Sequence[Record], letters: Sequence[str], width: int) -> Any:
    """(records, positions * letters ** width); an unknown letter has only zeros."""
    from sklearn.preprocessing import OneHotEncoder

    words = ["".join(word) for word in product(letters, repeat=width)]
    starts = range(len(records[0].sequence) - width + 1)
    found = np.array([[r.sequence[start : start + width] for start in starts] for r in records])
    known = [words] * len(starts)
    encoder = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
    return encoder.fit_transform(found)


def _windows(records: Sequence[Record], letters: Sequence[str]) -> Any:
    """Sparse one-hot letters around each counted position, (positions, WINDOW * letters)."""
    from sklearn.preprocessing import OneHotEncoder

    numbers = {letter: number for number, letter in enumerate(letters, start=1)}
    rows = []
    for record in records:
        # 0 is padding or an unknown letter, and has only zeros.
        ids = np.pad([numbers.get(letter, 0) for letter in record.sequence], WINDOW // 2)
        rows.append(np.lib.stride_tricks.sliding_window_view(ids, WINDOW)[record.counted])
    known = [list(numbers.values())] * WINDOW
    encoder = OneHotEncoder(categories=known, handle_unknown="ignore", dtype=np.float32)
    return encoder.fit_transform(np.concatenate(rows))


def baselines(answer: str, records: Sequence[Record]) -> list[Baseline]:
    """For `answer`: "classes", "number", or "positions"; the simplest first."""
    require_scikit_learn()
    if answer == "classes":
        return _for_cells() if is_cell(records[0]) else _for_classes()
    return _for_numbers() if answer == "number" else _for_positions()


def _majority(features: str) -> Baseline:
    from sklearn.dummy import DummyClassifier

    return Baseline("majority", features, [DummyClassifier(strategy="prior")])


def _boosting(features: str) -> Baseline:
    from sklearn.ensemble import HistGradientBoostingClassifier as Boosting

    models = [Boosting(learning_rate=rate, random_state=0) for rate in (0.05, 0.1)]
    return Baseline("gradient boosting", features, models)


def _for_cells() -> list[Baseline]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB

    regression = [
        LogisticRegression(C=c, max_iter=2000, class_weight="balanced") for c in STRENGTHS
    ]
    return [
        _majority("expression"),
        Baseline("naive Bayes", "expression", [BernoulliNB(), GaussianNB()]),
        Baseline("logistic regression", "expression", regression),
        _boosting("expression"),
    ]


def _for_classes() -> list[Baseline]:
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    plain = [LogisticRegression(C=c, max_iter=2000) for c in STRENGTHS]
    scaled = [make_pipeline(StandardScaler(), clone(model)) for model in plain]
    return [
        _majority("words"),
        Baseline("naive Bayes", "positions", [BernoulliNB(), GaussianNB()]),
        Baseline("logistic regression, k-mer counts", "words", scaled),
        Baseline("logistic regression, one-hot", "positions", plain),
        Baseline("logistic regression, one-hot pairs", "pairs", plain),
        _boosting("positions"),
    ]


def _for_numbers() -> list[Baseline]:
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    ridge = [Ridge(alpha=strength) for strength in (0.1, 1.0, 10.0)]
    return [
        Baseline("mean", "positions", [DummyRegressor()]),
        Baseline("ridge regression, one-hot", "positions", ridge),
        Baseline("gradient boosting", "positions", [HistGradientBoostingRegressor(random_state=0)]),
    ]


def _for_positions() -> list[Baseline]:
    from sklearn.linear_model import SGDClassifier
    from sklearn.naive_bayes import BernoulliNB

    regression = [
        SGDClassifier("log_loss", alpha=decay, max_iter=5, tol=None, random_state=0)
        for decay in (1e-5, 1e-4)
    ]
    return [
        _majority("windows"),
        Baseline("naive Bayes, window", "windows", [BernoulliNB()]),
        Baseline("logistic regression, window", "windows", regression),
    ]


def require_scikit_learn() -> None:
    """Say in one line what is missing.

    Raises:
        UserError: scikit-learn is not installed.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise UserError("the baselines need scikit-learn: pip install 'clearhead[bio]'") from error
