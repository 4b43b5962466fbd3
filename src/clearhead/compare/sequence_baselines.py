"""What a Transformer must beat: classical models on one-hot letters or k-mer counts.

Every model is tuned like the Transformer: two or three settings, the best on the same held-out
share of the training fold.
"""

from collections.abc import Callable, Sequence
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


class Baseline(NamedTuple):
    """A name, what the model reads, and the settings to choose from."""

    name: str
    features: str  # a key of `features_for`
    settings: tuple[Callable[[], Any], ...]


def is_cell(record: Record) -> bool:
    """Whether the record is a list of genes with values."""
    return ":" in record.sequence


def features_for(train: Sequence[Record]) -> dict[str, Features]:
    """How records become numbers, fitted on training records.

    `expression`: the logarithm of counts per 10,000, for cells, of which it is also `positions`.
    `positions`: one-hot letters of aligned sequences; of others, counts as in `words`.
    `pairs`: one-hot letters and pairs of neighbours. `words`: shares of words of 1 to 3 letters
    and the length. `windows`: one-hot letters around each position that counts.
    """
    if is_cell(train[0]):
        genes = sorted({name for record in train for name in read_cell(record.sequence)[0]})
        expression: Features = lambda records: _expression(records, genes)  # noqa: E731
        return {"expression": expression, "positions": expression}
    lengths = {len(record.sequence) for record in train}
    letters = sorted({letter for record in train for letter in record.sequence})
    if train[0].label is not None and len(train[0].label) == len(train[0].sequence) > 1:
        return {"windows": lambda records: _windows(records, letters)}
    vocabulary = _words(train)
    if len(lengths) > 1:
        words: Features = lambda records: _shares(records, vocabulary)  # noqa: E731
        return {"positions": words, "pairs": words, "words": words}
    return {
        "positions": lambda records: _one_hot(records, letters, 1),
        "pairs": lambda records: np.hstack([_one_hot(records, letters, n) for n in (1, 2)]),
        "words": lambda records: _shares(records, vocabulary),
    }


def _one_hot(records: Sequence[Record], letters: Sequence[str], width: int) -> Floats:
    """(records, positions * letters ** width); an unknown letter has only zeros."""
    numbers = {letter: number for number, letter in enumerate(letters)}
    unknown = len(letters) ** width
    ids = np.array([[numbers.get(c, -1) for c in r.sequence] for r in records])
    windows = ids[:, : ids.shape[1] - width + 1] * 0
    known = windows == 0
    for shift in range(width):
        part = ids[:, shift : ids.shape[1] - width + 1 + shift]
        windows, known = windows * len(letters) + part, known & (part >= 0)
    windows = np.where(known, windows, unknown)
    return np.eye(unknown + 1)[windows][..., :-1].reshape(len(records), -1)


def _expression(records: Sequence[Record], genes: Sequence[str]) -> Floats:
    """(records, genes): the logarithm of counts per 10,000, as single-cell analysis uses it."""
    columns = {gene: number for number, gene in enumerate(genes)}
    table = np.zeros((len(records), len(genes)))
    for row, record in enumerate(records):
        for name, value in zip(*read_cell(record.sequence), strict=True):
            if name in columns:
                table[row, columns[name]] = np.log1p(value)
    return table


def counted(record: Record) -> list[int]:
    """The positions whose labels count."""
    mask = record.mask or "1" * len(record.sequence)
    return [position for position, one in enumerate(mask) if one == "1"]


def _windows(records: Sequence[Record], letters: Sequence[str]) -> Any:
    """Sparse one-hot letters around each counted position, (positions, WINDOW * letters)."""
    from scipy.sparse import csr_matrix

    numbers = {letter: number for number, letter in enumerate(letters, start=1)}
    rows = []
    for record in records:
        ids = np.pad([numbers.get(letter, 0) for letter in record.sequence], WINDOW // 2)
        rows.append(np.lib.stride_tricks.sliding_window_view(ids, WINDOW)[counted(record)])
    windows = np.concatenate(rows)
    columns = windows - 1 + np.arange(WINDOW) * len(letters)
    known = windows > 0  # neither padding nor an unknown letter
    ends = np.concatenate([[0], known.sum(axis=1).cumsum()])
    ones = np.ones(int(known.sum()), dtype=np.float32)
    return csr_matrix((ones, columns[known], ends), shape=(len(windows), WINDOW * len(letters)))


def _words(train: Sequence[Record]) -> dict[str, int]:
    found = {w for record in train for w in _occurring(record.sequence)}
    return {word: number for number, word in enumerate(sorted(found))}


def _occurring(sequence: str) -> list[str]:
    return [
        sequence[start : start + width]
        for width in range(1, LONGEST_WORD + 1)
        for start in range(len(sequence) - width + 1)
    ]


def _shares(records: Sequence[Record], vocabulary: dict[str, int]) -> Floats:
    table = np.zeros((len(records), len(vocabulary) + 1))
    for row, record in enumerate(records):
        for word in _occurring(record.sequence):
            if word in vocabulary:
                table[row, vocabulary[word]] += 1
        table[row] /= max(1, len(record.sequence))
        table[row, -1] = len(record.sequence) / 100
    return table


def baselines(answer: str, records: Sequence[Record]) -> list[Baseline]:
    """For `answer`: "classes", "number", or "positions"; the simplest first."""
    require_scikit_learn()
    if answer == "classes":
        return _for_cells() if is_cell(records[0]) else _for_classes()
    return _for_numbers() if answer == "number" else _for_positions()


def _for_cells() -> list[Baseline]:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB

    def regression(strength: float) -> Callable[[], Any]:
        return lambda: LogisticRegression(C=strength, max_iter=2000, class_weight="balanced")

    strengths = 0.03, 0.3, 3.0
    return [
        Baseline("majority", "expression", (lambda: DummyClassifier(strategy="prior"),)),
        Baseline("naive Bayes", "expression", (BernoulliNB, GaussianNB)),
        Baseline("logistic regression", "expression", tuple(map(regression, strengths))),
        Baseline("gradient boosting", "expression", tuple(map(_boosting, (0.05, 0.1)))),
    ]


def _boosting(rate: float) -> Callable[[], Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return lambda: HistGradientBoostingClassifier(learning_rate=rate, random_state=0)


def _for_classes() -> list[Baseline]:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def regression(strength: float) -> Callable[[], Any]:
        return lambda: LogisticRegression(C=strength, max_iter=2000)

    def scaled(strength: float) -> Callable[[], Any]:
        return lambda: make_pipeline(StandardScaler(), regression(strength)())

    strengths = 0.03, 0.3, 3.0
    plain, counted = tuple(map(regression, strengths)), tuple(map(scaled, strengths))
    return [
        Baseline("majority", "words", (lambda: DummyClassifier(strategy="prior"),)),
        Baseline("naive Bayes", "positions", (BernoulliNB, GaussianNB)),
        Baseline("logistic regression, k-mer counts", "words", counted),
        Baseline("logistic regression, one-hot", "positions", plain),
        Baseline("logistic regression, one-hot pairs", "pairs", plain),
        Baseline("gradient boosting", "positions", tuple(map(_boosting, (0.05, 0.1)))),
    ]


def _for_numbers() -> list[Baseline]:
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    def ridge(strength: float) -> Callable[[], Any]:
        return lambda: Ridge(alpha=strength)

    return [
        Baseline("mean", "positions", (DummyRegressor,)),
        Baseline("ridge regression, one-hot", "positions", tuple(map(ridge, (0.1, 1.0, 10.0)))),
        Baseline(
            "gradient boosting", "positions",
            (lambda: HistGradientBoostingRegressor(random_state=0),),
        ),
    ]  # fmt: skip


def _for_positions() -> list[Baseline]:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import SGDClassifier
    from sklearn.naive_bayes import BernoulliNB

    def regression(decay: float) -> Callable[[], Any]:
        return lambda: SGDClassifier("log_loss", alpha=decay, max_iter=5, tol=None, random_state=0)

    return [
        Baseline("majority", "windows", (lambda: DummyClassifier(strategy="prior"),)),
        Baseline("naive Bayes, window", "windows", (BernoulliNB,)),
        Baseline("logistic regression, window", "windows", tuple(map(regression, (1e-5, 1e-4)))),
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
