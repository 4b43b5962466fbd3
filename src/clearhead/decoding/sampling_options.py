"""How to write on: one frozen record, checked when it is made."""

from dataclasses import dataclass

from clearhead.errors import UserError

# At a temperature below this a token that is behind by 0.01 in its logit has a chance of e^-100.
COLDEST, HOTTEST = 1e-4, 1e4


@dataclass(frozen=True)
class SamplingOptions:
    """The choices of a generation; see `warpers` for what each of them does to the logits.

    A temperature of 0 (or below `COLDEST`) is greedy: always the likeliest token; then top_k,
    top_p and min_p change nothing. top_k=0, top_p=1, min_p=0 and repetition_penalty=1 are off.
    A text ends with its end sign, unless `ignore_eos`, after `max_new_tokens`, or where the
    model's positions end.

    Raises:
        UserError: a number outside its range.
    """

    max_new_tokens: int = 100
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        self._whole("max_new_tokens", 1)
        self._whole("top_k", 0)
        self._number("temperature", 0, HOTTEST, "0 is greedy, 1 the model's own probabilities")
        self._number("top_p", 0, 1, "1 keeps all tokens, 0.9 those that make up nine tenths")
        self._number("min_p", 0, 1, "0 keeps all tokens, 0.1 those at least a tenth of the best's")
        self._number("repetition_penalty", 0.01, 100, "1 is none, 1.2 a usual one")

    @property
    def greedy(self) -> bool:
        """Whether nothing is left to chance."""
        return self.temperature < COLDEST

    def _whole(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UserError(f"{name}={value!r} is not a whole number of at least {least}")

    def _number(self, name: str, low: float, high: float, meaning: str) -> None:
        value = getattr(self, name)
        # `not low <= value` is true of NaN, too.
        if not isinstance(value, int | float) or not low <= value <= high:
            raise UserError(f"{name}={value!r} is not a number from {low:g} to {high:g}; {meaning}")
