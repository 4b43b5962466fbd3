"""Text in, text out: a Gpt, its tokenizer, and the writing between them."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

from clearhead.decoding.batching import groups_by_length
from clearhead.decoding.causal_engine import CausalEngine
from clearhead.decoding.generation import ROWS
from clearhead.decoding.precision import Precision, fastest_precision, say_if_widened
from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.decoding.writing import Ending, Writing
from clearhead.errors import UserError
from clearhead.models import Gpt
from clearhead.pipelines.generated import Generated, Piece, check_seeds, fresh_seed
from clearhead.pipelines.stop_strings import StopStrings
from clearhead.pipelines.text_stream import TextStream
from clearhead.pipelines.writers import check_writer
from clearhead.pretrained import load
from clearhead.pretrained.hub import directory_of
from clearhead.text import PretrainedTokenizer
from clearhead.training.precision import choose_device
from clearhead.translation.location import best_of_run
from clearhead.translation.threads import use_threads

logger = logging.getLogger(__name__)


class TextGenerator:
    """Continues texts. A text depends on its prompt, its seed and the options, not on its company.

        writer = TextGenerator.from_pretrained(DIRECTORY)
        for characters in writer.stream("Once upon a time", seed=7):
            print(characters, end="", flush=True)

    An empty prompt begins with the model's begin sign. A stop string and what would follow are
    left out. Warnings go to the logger `clearhead.pipelines`.
    """

    def __init__(
        self, model: Gpt, tokenizer: PretrainedTokenizer, precision: Precision = "float32"
    ) -> None:
        self.model, self.tokenizer, self.precision = model.eval(), tokenizer, precision

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        device: str = "auto",
        threads: int | None = None,
        precision: Precision | Literal["auto"] = "float32",
    ) -> Self:
        """From a directory, a training run, or a name on the hub.

        Raises:
            UserError: there is no model, it is damaged or does not write, its tokenizer belongs
                to another, or the device or precision is absent.
        """
        use_threads(threads)
        target = choose_device(device)
        directory = directory_of(best_of_run(source))
        check_writer(directory)
        model, tokenizer = load(directory)
        assert isinstance(model, Gpt)
        model = model.to(target)
        if precision == "auto":
            precision, why = fastest_precision(target, few_rows=True)
            logger.info("writing in %s", why)
        say_if_widened(precision, target)
        CausalEngine.check(model, precision)  # what cannot be is said now
        return cls(model, tokenizer, precision)

    def stream(
        self,
        prompt: str,
        options: SamplingOptions | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
    ) -> Iterator[str]:
        """The continuation as it is written, in whole characters."""
        seed = fresh_seed() if seed is None else seed
        for piece in self.write([prompt], options or SamplingOptions(), stop, [seed]):
            if piece.new:
                yield piece.new

    def generate(
        self,
        prompts: Sequence[str],
        options: SamplingOptions | None = None,
        stop: Sequence[str] = (),
        seeds: Sequence[int] | None = None,
        rows: int = ROWS,
    ) -> list[Generated]:
        """The continuation of every prompt, in order; so many are written side by side.

        Raises:
            UserError: a prompt with more tokens than the model has positions, a seed below 0.
        """
        if isinstance(prompts, str):
            raise UserError("generate takes a list of prompts, got one str; write generate([text])")
        options = options or SamplingOptions()
        if seeds is None:
            first = fresh_seed()
            seeds = range(first, first + len(prompts))
        found: dict[int, Generated] = {}
        for group in groups_by_length([len(self.encode(prompt)) for prompt in prompts], rows):
            texts, own = [prompts[i] for i in group], [seeds[i] for i in group]
            for i, generated in zip(group, self._together(texts, options, stop, own), strict=True):
                found[i] = generated
        self.warn_of_positions(generated.ending for generated in found.values())
        return [found[i] for i in range(len(prompts))]

    def write(
        self,
        prompts: Sequence[str],
        options: SamplingOptions,
        stop: Sequence[str],
        seeds: Sequence[int],
    ) -> Iterator[Piece]:
        """All prompts side by side, piece by piece, as the characters come."""
        ids = [self.encode(prompt) for prompt in prompts]
        check_seeds(seeds)
        stops = [StopStrings(stop) for _ in prompts]
        streams = [TextStream(self.tokenizer, prompt) for prompt in ids]
        engine = CausalEngine.of(self.model, self.precision, len(prompts))
        writing = Writing(engine, ids, options, seeds)
        going_on = set(range(len(prompts)))
        while going_on:
            for text, token in writing.step():
                shown = stops[text].push(streams[text].push(token))
                if stops[text].found:
                    writing.stop(text)
                if shown:
                    yield Piece(text, shown, None, len(writing.written[text]))
            for text in sorted(going_on):
                if ending := writing.endings[text]:
                    going_on.remove(text)
                    rest = stops[text].push(streams[text].finish())
                    ending = "stop" if stops[text].found else ending
                    rest += stops[text].finish()
                    yield Piece(text, rest, ending, len(writing.written[text]))

    def encode(self, prompt: str) -> list[int]:
        """The ids of a prompt; none are the begin sign.

        Raises:
            UserError: it is longer than the model's positions, or empty for a model without sign.
        """
        config = self.model.config
        ids = self.tokenizer.encode(prompt)
        if not ids and config.bos_id is None:
            raise UserError(
                "the prompt is empty, and this model has no begin sign; give some words"
            )
        if len(ids) > config.seq_len:
            raise UserError(
                f"the prompt {prompt[:40]!r}… has {len(ids)} tokens, and this model has "
                f"seq_len={config.seq_len} positions for prompt and continuation; shorten it"
            )
        return ids or [config.bos_id or 0]

    def _together(
        self,
        prompts: list[str],
        options: SamplingOptions,
        stop: Sequence[str],
        seeds: list[int],
    ) -> list[Generated]:
        texts = ["" for _ in prompts]
        last: dict[int, Piece] = {}
        for piece in self.write(prompts, options, stop, seeds):
            texts[piece.text] += piece.new
            last[piece.text] = piece
        return [
            Generated(prompt, text, last[i].ending or "length", last[i].tokens, seed)
            for i, (prompt, text, seed) in enumerate(zip(prompts, texts, seeds, strict=True))
        ]

    def warn_of_positions(self, endings: Iterable[Ending | None]) -> None:
        """Say so if texts ended because the model had no more positions."""
        count = Counter(endings)
        if full := count["positions"]:
            logger.warning(
                "%d of %d texts ended where the model's %d positions end, before max_new_tokens",
                full, count.total(), self.model.config.seq_len,
            )  # fmt: skip
