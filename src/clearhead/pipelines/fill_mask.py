"""Prediction of masked tokens."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from clearhead.errors import UserError
from clearhead.pipelines.engines import Ids, Positions, Text
from clearhead.pipelines.factory import known_arguments
from clearhead.pipelines.text_model import TextModel, TextPipeline
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.inputs import texts_of

Candidate = dict[str, Any]


class FillMaskPipeline(TextPipeline):
    """Called with a text or texts; returns the results of the pipeline of `transformers`.

        fill = pipeline("fill-mask", model=DIRECTORY)
        fill("Paris is the [MASK] of France.")  # the five most likely tokens

    A candidate has ``score`` (its probability), ``token``, ``token_str`` and ``sequence`` (the text
    with it). A text with several masks gets a list of candidates for each, predicted independently.
    """

    needs = ("masked_lm", "fill-mask")

    def __init__(self, reader: TextModel) -> None:
        super().__init__(reader)
        if "mask" not in reader.tokenizer.special_ids:
            raise UserError(
                "this model's tokenizer has no mask token, so nothing can be predicted; give a "
                "model with all files of its tokenizer"
            )
        self.mask_id = reader.tokenizer.special_ids["mask"]

    @property
    def mask_token(self) -> str:
        """The mask token in a text."""
        return self.reader.tokenizer.piece(self.mask_id)

    @known_arguments
    def __call__(
        self, inputs: str | Sequence[str], top_k: int = 5, targets: Sequence[str] | None = None
    ) -> list[Any]:
        """The `top_k` most likely of all tokens, or of `targets`, for every mask.

        Raises:
            UserError: a text has no mask or too many tokens, there is no target or one that is
                not a single token, or `top_k` is below 1.
        """
        if type(top_k) is not int or top_k < 1:
            raise UserError(f"top_k={top_k!r} is not a number of candidates; give 1 or more")
        rows = self._rows(self._texts(inputs))
        chosen = self._token_ids(targets) if targets is not None else None
        scores = self.reader.read([Text(ids) for ids in rows], self._probabilities)
        answers = [
            self._answer(ids, found, top_k, chosen) for ids, found in zip(rows, scores, strict=True)
        ]
        return answers[0] if isinstance(inputs, str) else answers

    def _texts(self, inputs: str | Sequence[str]) -> list[str]:
        return [self.reader.spelled(text) for text in texts_of(inputs)]

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        positions = Positions(self.reader.model.config.seq_len, truncate=None)
        rows = [
            positions.fit(ids, text[:40])
            for text, ids in zip(texts, self.reader.tokenizer.encode_batch(texts), strict=True)
        ]
        for text, ids in zip(texts, rows, strict=True):
            if self.mask_id not in ids:
                raise UserError(
                    f"{text[:60]!r} has no mask to fill in; write {self.mask_token} where a word "
                    "is missing"
                )
        return rows

    def _probabilities(self, ids: Tensor, hidden: Tensor) -> list[Tensor]:
        """(texts, length), (texts, length, d_model) -> for each text (masks, vocab)."""
        masked = ids == self.mask_id
        found = self.head(hidden[masked.to(hidden.device)]).float().softmax(dim=-1).cpu()
        return list(found.split(masked.sum(dim=1).tolist()))

    def _answer(self, ids: Ids, scores: Tensor, top_k: int, chosen: list[int] | None) -> list[Any]:
        masked = [i for i, token in enumerate(ids) if token == self.mask_id]
        # The model may have more rows than there are tokens.
        every = range(self.reader.tokenizer.vocab_size)
        allowed = torch.tensor(every if chosen is None else chosen)
        best = scores[:, allowed].topk(min(top_k, len(allowed)))
        answers = [
            [
                self._candidate(ids, position, score, int(allowed[index]))
                for score, index in zip(values, indices, strict=True)
            ]
            for position, values, indices in zip(
                masked, best.values.tolist(), best.indices.tolist(), strict=True
            )
        ]
        return answers[0] if len(answers) == 1 else answers

    def _candidate(self, ids: Ids, position: int, score: float, token: int) -> Candidate:
        return {
            "score": score,
            "token": token,
            "token_str": self._token_text(token),
            "sequence": self._text([*ids[:position], token, *ids[position + 1 :]]),
        }

    def _token_text(self, token: int) -> str:
        """The text of a token; special tokens by name, since decoding would omit them."""
        tokenizer = self.reader.tokenizer
        return tokenizer.decode([token]) or tokenizer.piece(token)

    def _text(self, ids: Ids) -> str:
        """A text with its remaining mask tokens, a sequence of letters without spaces."""
        tokenizer = self.reader.tokenizer
        if self.mask_id not in ids:
            return tokenizer.decode(ids).strip()
        ends = {tokenizer.special_ids.get(role) for role in ("cls", "sep", "eos")}
        inner = [number for number in ids if number not in ends]
        if isinstance(tokenizer, FastTokenizer):
            return tokenizer.decode(inner, keep_special=True)
        return "".join(map(tokenizer.piece, inner))

    def _token_ids(self, targets: Sequence[str]) -> list[int]:
        """Each target must be a single token."""
        targets = self._texts(targets)
        if not targets:
            raise UserError("targets is empty; give words, or None for all tokens")
        special = set(self.reader.tokenizer.special_ids.values())
        found = {}  # in order, each once
        for target, row in zip(targets, self.reader.tokenizer.encode_batch(targets), strict=True):
            inner = [number for number in row if number not in special]
            if len(inner) != 1:
                raise UserError(
                    f"the target {target!r} is not one of this model's tokens but {len(inner)}; a "
                    "mask stands for one, so give another word"
                )
            found[inner[0]] = target
        return list(found)
