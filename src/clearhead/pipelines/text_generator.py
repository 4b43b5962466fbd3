"""Text generation with a Gpt and its tokenizer."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from clearhead.decoding.causal import CausalEngine, native_causal_engine
from clearhead.decoding.choice import AnyPrecision, EngineName, Request
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import ROWS, Ending, Writing
from clearhead.decoding.readable import batches_by_tokens
from clearhead.errors import UserError
from clearhead.models import Gpt
from clearhead.pipelines.engines import check_kind, choose_engine, load_model
from clearhead.pipelines.text_stream import (
    Generated,
    Piece,
    StopStrings,
    TextStream,
    check_seeds,
    fresh_seed,
)
from clearhead.pretrained.files import directory_of
from clearhead.text import PretrainedTokenizer

logger = logging.getLogger(__name__)


class TextGenerator:
    """Continues texts. A result depends on prompt, seed and options, not on other prompts.

        writer = TextGenerator.from_pretrained(DIRECTORY)
        for characters in writer.stream("Once upon a time", seed=7):
            print(characters, end="", flush=True)

    An empty prompt becomes the BOS token. A stop string and the text after it are left out.
    Warnings go to the logger `clearhead.pipelines`.
    """

    def __init__(
        self,
        model: Gpt,
        tokenizer: PretrainedTokenizer,
        precision: AnyPrecision = "float32",
        engine: EngineName = "auto",
        threads: int | None = None,
    ) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.engine = causal_engine_for(model, Request(engine, "auto", precision, threads))

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        device: str = "auto",
        threads: int | None = None,
        precision: AnyPrecision = "float32",
        engine: EngineName = "auto",
    ) -> Self:
        """From a directory, a training run, or a name on the hub.

        Raises:
            UserError: there is no model, it is damaged or does not generate text, its tokenizer
                belongs to another, or the device or precision is not available.
        """
        request = Request(engine, device, precision, threads)
        directory = directory_of(source)
        check_kind(directory, ["gpt2"], "cannot continue a text", "generate needs a GPT-2")
        model, tokenizer = load_model(directory, request)
        assert isinstance(model, Gpt)
        return cls(model, tokenizer, precision, engine, threads)

    def stream(
        self,
        prompt: str,
        options: SamplingOptions | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
    ) -> Iterator[str]:
        """The continuation as it is generated, in complete characters."""
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
        """The continuation of every prompt, in order; `rows` are generated in parallel.

        Raises:
            UserError: a prompt is longer than the model's positions, or a seed is negative.
        """
        if isinstance(prompts, str):
            raise UserError("generate takes a list of prompts, got one str; write generate([text])")
        options = options or SamplingOptions()
        if seeds is None:
            first = fresh_seed()
            seeds = range(first, first + len(prompts))
        found: dict[int, Generated] = {}
        lengths = [len(self.encode(prompt)) for prompt in prompts]
        for group in batches_by_tokens(lengths, batch_sentences=rows):
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
        """All prompts in parallel, piece by piece, as characters are generated."""
        ids = [self.encode(prompt) for prompt in prompts]
        check_seeds(seeds)
        stops = [StopStrings(stop) for _ in prompts]
        streams = [TextStream(self.tokenizer, prompt) for prompt in ids]
        writing = Writing(self.engine, ids, options, seeds)
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
        """The ids of a prompt; BOS if it is empty.

        Raises:
            UserError: it is longer than the model's positions, or empty and there is no BOS.
        """
        config = self.model.config
        ids = self.tokenizer.encode(prompt)
        if not ids and config.bos_id is None:
            raise UserError("the prompt is empty, and this model has no BOS token; give some words")
        if len(ids) > config.seq_len:
            raise UserError(
                f"the prompt {prompt[:40]!r}… has {len(ids)} tokens, and this model has "
                f"seq_len={config.seq_len} positions for prompt and continuation; shorten it"
            )
        return ids or [config.bos_id or 0]

    def _together(
        self, prompts: list[str], options: SamplingOptions, stop: Sequence[str], seeds: list[int]
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
        """Log a warning if texts ended because the model has no more positions."""
        count = Counter(endings)
        if full := count["positions"]:
            logger.warning(
                "%d of %d texts ended where the model's %d positions end, before max_new_tokens",
                full, count.total(), self.model.config.seq_len,
            )  # fmt: skip


def causal_engine_for(model: Gpt, request: Request) -> CausalEngine:
    """The native engine if it supports this model, otherwise the readable one.

    Raises:
        UserError: the native engine was requested and does not support the model.
    """
    chosen = choose_engine(model, request)
    if chosen.native:
        return native_causal_engine(model, request.int8, chosen.threads)
    return CausalEngine.of(model, chosen.precision)
