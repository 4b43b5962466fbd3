"""Text generation: prompts as ids in, continuations as ids out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from clearhead.decoding.causal import CausalEngine
from clearhead.decoding.engine import SamplingOptions, check_whole, lists_of_ids
from clearhead.decoding.readable import batches_by_tokens, in_eval_mode
from clearhead.decoding.sampling import Points, repetition_penalty, sample
from clearhead.decoding.steps import check_finite
from clearhead.errors import UserError
from clearhead.models import Gpt

ROWS = 16  # texts in a batch

# eos: the EOS token; length: max_new_tokens; positions: the model has no more; stop: `stop`
Ending = Literal["eos", "length", "positions", "stop"]


class Token(NamedTuple):
    """A token that was written, and the text it belongs to, counted from 0."""

    text: int
    id: int


@dataclass(frozen=True)
class Continuation:
    """The tokens that were written after a prompt, without the EOS token, and why it ended."""

    ids: list[int]
    ending: Ending


class Writing:
    """Prompts being continued; call `step` while it `is_busy`.

    The rows of a batch have the same length at every step, so no row needs padding: the first
    step reads as many tokens as the shortest prompt has, and from then on each row reads its
    next token, from its prompt while that lasts, then the token that was chosen for it.

    A text has a seed of its own, and does not depend on the other texts. `written` holds the ids
    so far, `endings` the reason why a text ended. Check the prompts with `check_prompts` first.
    """

    def __init__(
        self,
        engine: CausalEngine,
        prompts: Sequence[Sequence[int]],
        options: SamplingOptions,
        seeds: Sequence[int],
    ) -> None:
        self.engine, self.options = engine, options
        self.prompts = [list(prompt) for prompt in prompts]
        self.written: list[list[int]] = [[] for _ in prompts]
        self.endings: list[Ending | None] = [None] * len(prompts)
        # The last token needs no position: the model does not read it.
        rooms = [engine.config.seq_len - len(prompt) + 1 for prompt in prompts]
        self.limits = [min(options.max_new_tokens, room) for room in rooms]
        self.points = Points(seeds)
        self.rows = list(range(len(prompts)))  # the text of each row
        self.length = 0  # tokens that every row has read
        self.steps = engine.begin()
        self.seen = self._tokens_of_prompts() if options.repetition_penalty != 1 else None

    @property
    def is_busy(self) -> bool:
        """Whether any text goes on."""
        return any(self.endings[text] is None for text in self.rows)

    @torch.inference_mode()
    def step(self) -> list[Token]:
        """One more token of every text whose prompt is read; EOS tokens are not among them.

        Raises:
            UserError: the model's output is not finite.
        """
        self._drop_ended()
        texts = [self.prompts[text] + self.written[text] for text in self.rows]
        end = self.length + 1 if self.length else min(map(len, texts))
        ids = torch.tensor([ids[self.length : end] for ids in texts], device=self.engine.device)
        logits = self.steps.step(ids)
        if not self.length:
            check_finite(logits, "the model's output for the prompt")
        self.length = end
        ready = [row for row, ids in enumerate(texts) if len(ids) == end]
        return list(self._append(ready, self._choose(logits, ready))) if ready else []

    def stop(self, text: int) -> None:
        """End this text."""
        self.endings[text] = "stop"

    def _choose(self, logits: Tensor, ready: list[int]) -> Tensor:
        """(rows, vocab) -> (ready,) the next token of each row that is ready."""
        options, texts = self.options, [self.rows[row] for row in ready]
        logits = logits[ready]
        if self.seen is not None:
            logits = repetition_penalty(logits, self.seen[texts], options.repetition_penalty)
        if options.greedy:
            return logits.argmax(dim=1)
        if logits.device.type == "mps":  # Metal has no float64, in which points are compared
            logits = logits.cpu()
        return sample(logits, options, self.points.next(texts, logits.device))

    def _append(self, ready: list[int], chosen: Tensor) -> Iterator[Token]:
        eos_id = None if self.options.ignore_eos else self.engine.config.eos_id
        for row, token in zip(ready, chosen.tolist(), strict=True):
            text = self.rows[row]
            if token == eos_id:
                self.endings[text] = "eos"
                continue
            self.written[text].append(token)
            if self.seen is not None:
                self.seen[text, token] = True
            if len(self.written[text]) == self.limits[text]:
                full = self.limits[text] < self.options.max_new_tokens
                self.endings[text] = "positions" if full else "length"
            yield Token(text, token)

    def _drop_ended(self) -> None:
        open_rows = [row for row, text in enumerate(self.rows) if self.endings[text] is None]
        if len(open_rows) < len(self.rows):
            self.steps.keep(torch.tensor(open_rows, device=self.engine.device))
            self.rows = [self.rows[row] for row in open_rows]

    def _tokens_of_prompts(self) -> Tensor:
        """(texts, vocab): which tokens a prompt contains."""
        size = len(self.prompts), self.engine.config.vocab_size
        seen = torch.zeros(size, dtype=torch.bool, device=self.engine.device)
        for text, prompt in enumerate(self.prompts):
            seen[text, prompt] = True
        return seen


def check_prompts(prompts: Sequence[Sequence[int]], seq_len: int, vocab_size: int) -> None:
    """Each has a token, not more tokens than the model has positions, and only known ids.

    Raises:
        UserError: a prompt does not; it is named by its number.
    """
    for number, prompt in enumerate(prompts):
        if not len(prompt):
            raise UserError(
                f"prompt {number} is empty; give at least one token, for example the BOS token"
            )
        if len(prompt) > seq_len:
            raise UserError(
                f"prompt {number} has {len(prompt)} tokens, and this model has seq_len={seq_len} "
                "positions; shorten it"
            )
        if not 0 <= min(prompt) <= max(prompt) < vocab_size:
            raise UserError(
                f"prompt {number} has ids from {min(prompt)} to {max(prompt)}, and this model's "
                f"vocabulary has 0 to {vocab_size - 1}; use the tokenizer that belongs to it"
            )


def generate(
    model: Gpt | CausalEngine,
    prompts: Sequence[Sequence[int]],
    options: SamplingOptions | None = None,
    seeds: Sequence[int] | None = None,
    rows: int = ROWS,
) -> list[Continuation]:
    """Continue each prompt, `rows` in a batch; the results are in the order of the prompts.

    A continuation depends on its prompt, the options and its seed (0, 1, 2 … unless given), not
    on the other prompts. Prompts of like length are in one batch.

    Raises:
        UserError: a prompt, a seed or the model does not fit, or the weights are damaged.
    """
    engine = CausalEngine.of(model) if isinstance(model, Gpt) else model
    if not isinstance(engine, CausalEngine):
        raise UserError(f"a {type(model).__name__} does not continue texts; give a Gpt")
    options, prompts = options or SamplingOptions(), lists_of_ids(prompts)
    check_prompts(prompts, engine.config.seq_len, engine.config.vocab_size)
    check_whole("rows", rows, 1)
    own_seeds = one_seed_each(range(len(prompts)) if seeds is None else seeds, len(prompts))
    lengths = [len(prompt) for prompt in prompts]
    found: dict[int, Continuation] = {}
    with in_eval_mode(*engine.models):
        for group in batches_by_tokens(lengths, batch_sentences=rows):
            own = [prompts[i] for i in group], options, [own_seeds[i] for i in group]
            found |= zip(group, _continue(engine, *own), strict=True)
    return [found[i] for i in range(len(prompts))]


def one_seed_each(seeds: Sequence[int], prompts: int) -> list[int]:
    """The seeds as a list, or a UserError if there is not one for each prompt."""
    (own,) = lists_of_ids([seeds])
    if len(own) != prompts:
        raise UserError(f"{len(own)} seeds for {prompts} prompts; give one for each")
    return own


def _continue(
    engine: CausalEngine,
    prompts: Sequence[Sequence[int]],
    options: SamplingOptions,
    seeds: Sequence[int],
) -> list[Continuation]:
    writing = Writing(engine, prompts, options, seeds)
    while writing.is_busy:
        writing.step()
    endings = [ending for ending in writing.endings if ending is not None]
    return [Continuation(*pair) for pair in zip(writing.written, endings, strict=True)]
