"""Which words a model would put in place of a mask, and how sure it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, overload

import torch
from torch import Tensor

from clearhead.errors import UserError
from clearhead.pipelines.encoding import Ids, Text
from clearhead.pipelines.positions import Positions
from clearhead.pipelines.text_model import TextModel

Candidate = dict[str, Any]


class FillMaskPipeline:
    """Called with a text or texts; answers as the pipeline of `transformers` does.

        fill = pipeline("fill-mask", model=DIRECTORY)
        fill("Paris is the [MASK] of France.")  # the five likeliest, best first

    A candidate has ``score`` (its probability), ``token``, ``token_str`` and ``sequence`` (the text
    with it). A text of several masks gets a list of candidates for each; each list is made as if
    the other masks stayed.
    """

    def __init__(self, reader: TextModel) -> None:
        self.reader = reader
        self.head = reader.head("masked_lm", "fill-mask")
        if "mask" not in reader.tokenizer.signs:
            raise UserError(
                "this model's tokenizer has no mask sign, so nothing can be filled in; give a "
                "model with all files of its tokenizer"
            )
        self.mask_id = reader.tokenizer.signs["mask"]

    @classmethod
    def from_pretrained(
        cls, model: str | Path, device: str = "auto", threads: int | None = None
    ) -> Self:
        """From a directory or a name.

        Raises:
            UserError: as `TextModel.from_pretrained`, or the model never learned to fill in.
        """
        return cls(TextModel.from_pretrained(model, device, threads))

    @property
    def mask_token(self) -> str:
        """How a mask is written in a text."""
        return self.reader.tokenizer.piece(self.mask_id)

    @overload
    def __call__(
        self, inputs: str, top_k: int = ..., targets: Sequence[str] | None = ...
    ) -> list[Any]: ...
    @overload
    def __call__(
        self, inputs: str | Sequence[str], top_k: int = ..., targets: Sequence[str] | None = ...
    ) -> list[Any]: ...
    def __call__(
        self, inputs: str | Sequence[str], top_k: int = 5, targets: Sequence[str] | None = None
    ) -> list[Any]:
        """The `top_k` likeliest of all tokens, or of `targets`, for every mask.

        Raises:
            UserError: a text without a mask or over the positions, a target that is no single
                token, a number of candidates below 1.
        """
        if top_k < 1:
            raise UserError(f"top_k={top_k} is no number of candidates; give 1 or more")
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        rows = self._rows(texts)
        chosen = self._token_ids(targets) if targets is not None else None
        scores = self.reader.read([Text(ids) for ids in rows], self._probabilities)
        answers = [
            self._answer(ids, found, top_k, chosen) for ids, found in zip(rows, scores, strict=True)
        ]
        return answers[0] if isinstance(inputs, str) else answers

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        positions = Positions(self.reader.model.config.seq_len)
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
        places = [place for place, number in enumerate(ids) if number == self.mask_id]
        allowed = torch.arange(scores.shape[1]) if chosen is None else torch.tensor(chosen)
        best = scores[:, allowed].topk(min(top_k, len(allowed)))
        answers = [
            [
                self._candidate(ids, place, score, int(allowed[index]), len(places) == 1)
                for score, index in zip(values, indices, strict=True)
            ]
            for place, values, indices in zip(
                places, best.values.tolist(), best.indices.tolist(), strict=True
            )
        ]
        return answers[0] if len(answers) == 1 else answers

    def _candidate(self, ids: Ids, place: int, score: float, token: int, alone: bool) -> Candidate:
        filled = [*ids[:place], token, *ids[place + 1 :]]
        return {
            "score": score,
            "token": token,
            "token_str": self._written(token),
            "sequence": self.reader.tokenizer.decode(filled) if alone else self._around(filled),
        }

    def _written(self, token: int) -> str:
        """A sign is written as it is called; decoding would leave it out."""
        tokenizer = self.reader.tokenizer
        return tokenizer.decode([token]) or tokenizer.piece(token)

    def _around(self, ids: Ids) -> str:
        """A text in which masks are left, each as it is written."""
        parts: list[list[int]] = [[]]
        for number in ids:
            if number == self.mask_id:
                parts.append([])
            else:
                parts[-1].append(number)
        return f" {self.mask_token} ".join(map(self.reader.tokenizer.decode, parts)).strip()

    def _token_ids(self, targets: Sequence[str]) -> list[int]:
        """Each target must be one token, for one mask is one token."""
        if isinstance(targets, str):
            targets = [targets]
        signs = set(self.reader.tokenizer.signs.values())
        found = []
        for target, row in zip(targets, self.reader.tokenizer.encode_batch(targets), strict=True):
            inner = [number for number in row if number not in signs]
            if len(inner) != 1:
                raise UserError(
                    f"the target {target!r} is {len(inner)} of this model's tokens, and a mask "
                    "stands for one; give another word"
                )
            found.append(inner[0])
        return found
