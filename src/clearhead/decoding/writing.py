"""Texts that are written on side by side, one token of each at a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from clearhead.decoding.causal_engine import CausalEngine
from clearhead.decoding.draw import Points, sample
from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.decoding.warpers import repetition_penalty
from clearhead.errors import UserError

# What is left of the cache is copied when rows leave it, so they wait for this share to be done.
LEAVING = 0.25

# eos: the end sign; length: max_new_tokens; positions: the model has no more; stop: told to.
Ending = Literal["eos", "length", "positions", "stop"]


class Token(NamedTuple):
    """A token that was written, and which text it belongs to, counted from 0."""

    text: int
    id: int


@dataclass(frozen=True)
class Continuation:
    """What was written after a prompt, end sign left out, and why no more."""

    ids: list[int]
    ending: Ending


class Writing:
    """Prompts being continued; call `step` while it `is_busy`.

    Row i of the batch is one text; its seed is its own, so what is written there does not depend
    on the other rows. `written` holds the ids so far, `endings` why a text ended.

    `check_prompts` says whether prompts can be continued at all.

    Raises:
        UserError: what the model makes of a prompt is not finite.
    """

    def __init__(
        self,
        engine: CausalEngine,
        prompts: Sequence[Sequence[int]],
        options: SamplingOptions,
        seeds: Sequence[int],
    ) -> None:
        self.engine, self.options = engine, options
        self.texts = list(range(len(prompts)))  # of each row
        self.written: list[list[int]] = [[] for _ in prompts]
        self.endings: list[Ending | None] = [None] * len(prompts)
        # The last token needs no position: nothing is asked of it.
        rooms = [engine.config.seq_len - len(prompt) + 1 for prompt in prompts]
        self.limits = [min(options.max_new_tokens, room) for room in rooms]
        self.points = Points(seeds)
        self.last: Tensor | None = None  # (rows,) the tokens of the step before
        ids, real = self._side_by_side(prompts)
        self.decoder = engine.new_decoder()
        self.hidden = self.decoder.start(ids, real, max(self.limits) - 1)
        if not self.hidden.isfinite().all():
            raise UserError(
                "what the model makes of the prompt is not finite: its weights are damaged or its "
                "training diverged; use another checkpoint"
            )
        self.seen = self._seen(ids, real) if options.repetition_penalty != 1 else None

    @property
    def is_busy(self) -> bool:
        """Whether any text goes on."""
        return any(self.endings[text] is None for text in self.texts)

    @torch.inference_mode()
    def step(self) -> list[Token]:
        """One more token of every text that goes on; end signs are not among them."""
        last = self._choose()
        eos_id = None if self.options.ignore_eos else self.engine.config.eos_id
        new: list[Token] = []
        for text, token in zip(self.texts, last.tolist(), strict=True):
            if self.endings[text] is not None:
                continue
            if token == eos_id:
                self.endings[text] = "eos"
                continue
            self.written[text].append(token)
            new.append(Token(text, token))
            if len(self.written[text]) == self.limits[text]:
                full = self.limits[text] < self.options.max_new_tokens
                self.endings[text] = "positions" if full else "length"
        self.last = last
        return new

    def stop(self, text: int) -> None:
        """Somebody has read enough of this text."""
        self.endings[text] = "stop"

    def _choose(self) -> Tensor:
        """(rows,) the next token of every row."""
        if self.last is not None:
            self._advance(self.last)
        options, likeliest = self.options, self.engine.likeliest
        if options.greedy and self.seen is None and likeliest is not None:
            return likeliest(self.hidden, lambda logits: None)
        logits = self.engine.logits(self.hidden).float()
        if self.seen is not None:
            logits = repetition_penalty(logits, self.seen, options.repetition_penalty)
        if options.greedy:
            return logits.argmax(dim=1)
        if logits.device.type == "mps":  # Metal has no float64, in which points are compared
            logits = logits.cpu()
        return sample(logits, options, self.points.next(logits.device)).to(self.hidden.device)

    def _advance(self, last: Tensor) -> None:
        """The last tokens go in; who is done leaves."""
        going_on = [row for row, text in enumerate(self.texts) if self.endings[text] is None]
        if len(self.texts) - len(going_on) >= LEAVING * len(self.texts):
            rows = torch.tensor(going_on, device=last.device)
            self.decoder.keep(rows)
            self.points.keep(going_on)
            self.texts = [self.texts[row] for row in going_on]
            last = last[rows]
            self.seen = None if self.seen is None else self.seen[rows]
        if self.seen is not None:
            self.seen.scatter_(1, last.unsqueeze(1), True)
        self.hidden = self.decoder.step(last)

    def _side_by_side(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """(rows, width) ids that end together, and where they are real."""
        width = max(len(prompt) for prompt in prompts)
        ids = torch.zeros(len(prompts), width, dtype=torch.long)
        real = torch.zeros(len(prompts), width, dtype=torch.bool)
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = torch.tensor(prompt)
            real[row, width - len(prompt) :] = True
        return ids.to(self.engine.device), real.to(self.engine.device)

    def _seen(self, ids: Tensor, real: Tensor) -> Tensor:
        """(rows, vocab): which tokens a prompt holds; filling is none of them."""
        seen = torch.zeros(ids.shape[0], self.engine.config.vocab_size, device=ids.device)
        return seen.scatter_add_(1, ids, real.float()) > 0


def check_prompts(prompts: Sequence[Sequence[int]], seq_len: int, vocab_size: int) -> None:
    """Each has a token, no more than there are positions, and only tokens that there are.

    Raises:
        UserError: one has not; it is named by its number.
    """
    for number, prompt in enumerate(prompts):
        if not len(prompt):
            raise UserError(
                f"prompt {number} is empty; give at least one token, say the begin sign"
            )
        if len(prompt) > seq_len:
            raise UserError(
                f"prompt {number} has {len(prompt)} tokens, and this model has seq_len={seq_len} "
                "positions; shorten it"
            )
        if not 0 <= min(prompt) <= max(prompt) < vocab_size:
            raise UserError(
                f"prompt {number} has ids from {min(prompt)} to {max(prompt)}, and this model "
                f"knows 0 to {vocab_size - 1}; use the tokenizer that belongs to it"
            )
