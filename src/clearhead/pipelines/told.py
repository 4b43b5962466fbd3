"""Continuations as bytes for a terminal or a file, in the order of their prompts."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.decoding.writing import Ending
from clearhead.pipelines.generated import Generated, check_seeds, fresh_seed
from clearhead.pipelines.text_generator import TextGenerator


class Told:
    """Called with one list of prompts after the other; counts them through all the lists.

    A single prompt comes in pieces, as it is written; several are written side by side and come
    one by one when all are done. Which way it went does not change the text: text i has the
    seed `seed` + i.
    """

    def __init__(
        self,
        writer: TextGenerator,
        options: SamplingOptions,
        stop: Sequence[str] = (),
        seed: int | None = None,
        format: Literal["text", "jsonl"] = "text",
        echo: bool = True,
    ) -> None:
        self.writer, self.options, self.stop = writer, options, stop
        self.seed = fresh_seed() if seed is None else seed
        check_seeds([self.seed])
        self.format, self.echo = format, echo
        self.number = 0

    def __call__(self, prompts: list[str]) -> Iterator[bytes]:
        """UTF-8, in pieces; every text ends with a line's end."""
        first, self.number = self.number, self.number + len(prompts)
        seeds = [self.seed + number for number in range(first, self.number)]
        if len(prompts) == 1 and self.format == "text":
            parts = self._as_it_comes(prompts[0], seeds[0])
        else:
            found = self.writer.generate(prompts, self.options, self.stop, seeds, len(prompts))
            parts = (self._whole(first + i, one) for i, one in enumerate(found))
        # Half a surrogate pair in a prompt has no UTF-8; in JSON its escape is what is meant.
        yield from (part.encode("utf-8", "backslashreplace") for part in parts)

    def _as_it_comes(self, prompt: str, seed: int) -> Iterator[str]:
        pieces = self.writer.write([prompt], self.options, self.stop, [seed])
        endings: list[Ending | None] = []
        self.writer.encode(prompt)  # what cannot be is said before anything is shown
        if self.echo:
            yield prompt
        for piece in pieces:
            yield piece.new
            endings.append(piece.ending)
        yield "\n"
        self.writer.warn_of_positions(endings[-1:])

    def _whole(self, number: int, one: Generated) -> str:
        if self.format == "text":
            return f"{one.prompt if self.echo else ''}{one.text}\n"
        record = {
            "id": number,
            "prompt": one.prompt,
            "text": one.text,
            "ending": one.ending,
            "tokens": one.tokens,
            "seed": one.seed,
        }
        return json.dumps(record, ensure_ascii=False) + "\n"
