"""How similar a sequence is to each one of the training data: kernel ridge regression."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

ALPHA = {"aligned": 1.0, "free": 0.2}  # of ridge regression
SHARPNESS = {"aligned": 1.0, "free": 2.0}  # of the kernel
WINDOWS = (2, 3)  # tokens; which of them, the training data decide
APART = (1, 2, 3)  # how far the tokens of a counted pair are from each other
MOST = 8192  # training sequences that are compared with


class SimilarityScores(nn.Module):
    r"""A weight for each training sequence; a similar sequence counts more.

    .. math:: s(x) = b + \sum_i W_i \exp\bigl(2 \gamma\,(\sigma(x, x_i) - 1)\bigr)

    The similarity :math:`\sigma` of aligned sequences is the share of windows of two or three
    tokens that both have at the same position. That of others is the cosine of the logarithms of
    their counts of tokens and of pairs of tokens up to three apart: the turns of a helix have 3.6.

    Why beside the Transformer: peptides and promoters come in families, and a few thousand
    sequences do not suffice to learn the families' motifs from nothing. Kernel ridge regression
    has a closed form: the right window is the one whose leave-one-out errors are smallest.

    Shape:
        ids: (batch, seq_len), mask: (batch, 1, 1, seq_len), True = no padding -> (batch, outputs)
    """

    def __init__(self, records: int, tokens: int, vocab_size: int, outputs: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.known = _frozen(tokens)  # the training sequences, one after the other
        self.lengths = _frozen(records)
        self.window = _frozen(1)  # 0: not aligned
        self.weight = _frozen(records, outputs)
        self.bias = _frozen(outputs)
        self._profiles: tuple[int, Tensor] | None = None

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Compare with every training sequence, add their weights."""
        window = int(self.window)
        with torch.no_grad():
            if window:
                length = int(self.lengths[0])
                known = windows_of(self.known.long().view(-1, length), window, self.vocab_size)
                similar = shared(windows_of(ids, window, self.vocab_size), known)
            else:
                similar = self.profile(ids, mask[:, 0, 0]) @ self._known_profiles().T
        return kernel(similar, window) @ self.weight + self.bias

    def fit(
        self, sequences: Sequence[Sequence[int]], classes: Tensor, windows: Sequence[int]
    ) -> None:
        """Ridge regression of 1 for the own class and -1 for the others.

        The best of `windows` is kept; 0 is for sequences that are not aligned.
        """
        with torch.no_grad():
            self.known.copy_(torch.tensor([token for row in sequences for token in row]))
            self.lengths.copy_(torch.tensor([len(row) for row in sequences]))
            wanted = 2 * torch.eye(len(self.bias))[classes] - 1
            self.bias.copy_(wanted.mean(dim=0))
            found = [
                (*_ridge(kernel(similar, window), wanted - self.bias, ALPHA[_kind(window)]), window)
                for window, similar in self._similarities(windows)
            ]
            _, weight, window = min(found, key=lambda one: one[0])
            self.weight.copy_(weight)
            self.window.fill_(window)

    def _similarities(self, windows: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
        """Of all pairs of training sequences, by window."""
        for width in windows:
            if width == 0:
                profiles = self._known_profiles()
                yield 0, profiles @ profiles.T
                continue
            rows = self.known.long().view(len(self.lengths), -1)
            codes = windows_of(rows, width, self.vocab_size)
            yield width, shared(codes, codes)

    def profile(self, ids: Tensor, real: Tensor) -> Tensor:
        """Logarithms of the counts of tokens and of pairs, of length 1; padding does not count.

        Shape:
            ids, real: (batch, seq_len) -> (batch, vocab_size + 3 · vocab_size ** 2)
        """
        size, counted = self.vocab_size, real.float()
        counts = torch.zeros(len(ids), size + len(APART) * size**2, device=ids.device)
        counts.scatter_add_(1, ids, counted)
        for number, apart in enumerate(APART):
            pairs = ids[:, :-apart] * size + ids[:, apart:]
            counts.scatter_add_(1, size + number * size**2 + pairs, counted[:, apart:])
        return nn.functional.normalize(counts.log1p(), dim=1)

    def _known_profiles(self) -> Tensor:
        """Of the training sequences; computed again where `known` has changed."""
        version = self.known._version
        if self._profiles is None or self._profiles[0] != version:
            rows = self.known.long().split(self.lengths.long().tolist())
            ids = nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
            real = torch.arange(ids.shape[1], device=ids.device) < self.lengths[:, None]
            self._profiles = version, self.profile(ids, real)
        return self._profiles[1]


def kernel(similar: Tensor, window: int) -> Tensor:
    """Of a similarity from 0 to 1: 1 for equal sequences; `window` is 0 if not aligned."""
    return (2 * SHARPNESS[_kind(window)] * (similar - 1)).exp()


def windows_of(ids: Tensor, width: int, vocab_size: int) -> Tensor:
    """A number for each window of `width` tokens: (batch, seq_len) -> (batch, windows)."""
    count = ids.shape[1] - width + 1
    codes = torch.zeros_like(ids[:, :count])
    for shift in range(width):
        codes = codes * vocab_size + ids[:, shift : shift + count]
    return codes


def shared(one: Tensor, other: Tensor) -> Tensor:
    """The share of equal windows: (rows, windows) and (others, windows) -> (rows, others)."""
    found = torch.zeros(len(one), len(other), device=one.device)
    for t in range(one.shape[1]):
        found += one[:, t, None] == other[None, :, t]
    return found / one.shape[1]


def _kind(window: int) -> str:
    return "aligned" if window else "free"


def _ridge(similar: Tensor, wanted: Tensor, alpha: float) -> tuple[float, Tensor]:
    """The leave-one-out error and the weights."""
    lower = torch.linalg.cholesky(similar + alpha * torch.eye(len(similar)))
    inverse = torch.cholesky_inverse(lower)
    weight = inverse @ wanted
    return float((weight / inverse.diagonal()[:, None]).square().mean()), weight


def _frozen(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(*shape), requires_grad=False)
