"""Text generation with a Gpt and its tokenizer: seeds, stop strings, decoding token by token."""

import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clearhead.decoding.causal import CausalEngine, native_causal_engine
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import ROWS, Ending, Writing, one_seed_each
from clearhead.decoding.precision import Precision
from clearhead.decoding.readable import batches_by_tokens
from clearhead.errors import UserError
from clearhead.models import Gpt
from clearhead.pipelines.engines import PretrainedReader
from clearhead.text import PretrainedTokenizer

logger = logging.getLogger(__name__)
UNFINISHED = "\ufffd"  # decoded from incomplete or invalid bytes
CONTEXT = 4


@dataclass(frozen=True)
class Generated:
    """The continuation of a prompt; the same options and `seed` reproduce it."""

    prompt: str
    text: str
    ending: Ending
    tokens: int
    seed: int


class Piece(NamedTuple):
    """New characters of one of the texts; the last piece of a text has its ending."""

    text: int
    new: str
    ending: Ending | None
    tokens: int


def fresh_seed() -> int:
    """A random seed."""
    return secrets.randbelow(2**31)


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse negative seeds, which Python's generator treats as their absolute value."""
    for seed in seeds:
        if seed < 0:
            raise UserError(f"seed={seed} is below 0; give a whole number of at least 0")


class StopStrings:
    """Ends a text before the first stop string; `push` returns the characters before it.

    Characters that may be the beginning of a stop string are held back until that is decided. Of
    several stop strings the one that is complete first counts, and among those the one that began
    first. The result does not depend on how the text is divided into pieces.

    Raises:
        UserError: a stop string is empty.
    """

    def __init__(self, strings: Sequence[str]) -> None:
        if isinstance(strings, str):
            strings = [strings]
        if "" in strings:
            raise UserError("a stop string is empty; give at least one character, or leave it out")
        self.strings = tuple(strings)
        self.waiting = ""
        self.found = False

    def push(self, text: str) -> str:
        """The characters that are certain; none after a stop string."""
        if self.found:
            return ""
        self.waiting += text
        hits = [
            (start + len(s), start) for s in self.strings if (start := self.waiting.find(s)) >= 0
        ]
        if hits:
            self.found = True
            shown, self.waiting = self.waiting[: min(hits)[1]], ""
            return shown
        keep = max((_beginning(self.waiting, s) for s in self.strings), default=0)
        cut = len(self.waiting) - keep
        shown, self.waiting = self.waiting[:cut], self.waiting[cut:]
        return shown

    def finish(self) -> str:
        """The characters held back, when the text is complete."""
        shown, self.waiting = self.waiting, ""
        return shown


def _beginning(text: str, string: str) -> int:
    """The number of characters at the end of a text that begin a string."""
    longest = min(len(text), len(string) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(string[:n])), 0)


class TextStream:
    """Decodes ids one by one; `push` returns the characters that are certain.

    A character may consist of several tokens (byte-level vocabularies split UTF-8 anywhere), so an
    incomplete last one is held back; `finish` returns it. All results together are the decoding of
    all ids. The last ids before them, `context`, are decoded too, since some tokenizers omit the
    space before the first token.
    """

    def __init__(self, tokenizer: PretrainedTokenizer, context: Sequence[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.before, self.new = list(context[-CONTEXT:]), list[int]()
        self.given = 0  # characters of `new`

    def push(self, token_id: int) -> str:
        """The characters that are certain, possibly none."""
        self.new.append(token_id)
        text = self._text()
        certain = text[:-1] if text.endswith(UNFINISHED) else text
        fresh, self.given = certain[self.given :], len(certain)
        if certain and certain == text:  # complete: earlier ids are not needed
            self.before, self.new, self.given = self.new[-CONTEXT:], [], 0
        return fresh

    def finish(self) -> str:
        """The characters held back."""
        fresh = self._text()[self.given :]
        self.before, self.new, self.given = self.new[-CONTEXT:], [], 0
        return fresh

    def _text(self) -> str:
        """The text of `new` alone."""
        known = self.tokenizer.decode(self.before)
        return self.tokenizer.decode([*self.before, *self.new])[len(known) :]


class TextGenerator(PretrainedReader):
    """Continues texts. A result depends on prompt, seed and options, not on other prompts.

        writer = TextGenerator.from_pretrained(DIRECTORY)
        for characters in writer.stream("Once upon a time", seed=7):
            print(characters, end="", flush=True)

    An empty prompt becomes the BOS token. A stop string and the text after it are left out.
    Warnings go to the logger `clearhead.pipelines`.
    """

    kinds, fails, needed = ("gpt2",), "cannot continue a text", "generate needs a GPT-2"

    model: Gpt

    def use_readable(self, precision: Precision) -> None:
        """As `PretrainedReader.use_readable`."""
        self.engine = CausalEngine.of(self.model, precision)

    def use_native(self, int8: bool, threads: int) -> None:
        """As `PretrainedReader.use_native`."""
        self.engine = native_causal_engine(self.model, int8, threads)

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
            UserError: a prompt is longer than the model's positions, a seed is negative, or there
                is not one for each prompt.
        """
        if isinstance(prompts, str):
            raise UserError("generate takes a list of prompts, got one str; write generate([text])")
        options = options or SamplingOptions()
        if seeds is None:
            first = fresh_seed()
            seeds = range(first, first + len(prompts))
        seeds = one_seed_each(seeds, len(prompts))
        found: dict[int, Generated] = {}
        lengths = [len(self.encode(prompt)) for prompt in prompts]
        for group in batches_by_tokens(lengths, batch_sentences=rows):
            texts, own = [prompts[i] for i in group], [seeds[i] for i in group]
            found |= zip(group, self._together(texts, options, stop, own), strict=True)
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
        ends = self._special_stops([stop] if isinstance(stop, str) else stop)
        streams = [TextStream(self.tokenizer, prompt) for prompt in ids]
        writing = Writing(self.engine, ids, options, seeds)
        going_on = set(range(len(prompts)))
        while going_on:
            for text, token in writing.step():
                shown = stops[text].push(streams[text].push(token))
                if stops[text].found or token in ends:
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
        """The ids of a prompt; BOS if it is empty and the vocabulary has one.

        Raises:
            UserError: it is longer than the model's positions, or empty and there is no BOS.
        """
        config = self.model.config
        ids = self.tokenizer.encode(prompt)
        # GPT-2's 50256 stays in the config of a model with a smaller vocabulary.
        if not ids and (config.bos_id is None or config.bos_id >= config.vocab_size):
            raise UserError("the prompt is empty, and this model has no BOS token; give some words")
        if len(ids) > config.seq_len:
            raise UserError(
                f"the prompt {prompt[:40]!r}… has {len(ids)} tokens, and this model has "
                f"seq_len={config.seq_len} positions for prompt and continuation; shorten it"
            )
        return ids or [config.bos_id or 0]

    def _special_stops(self, stop: Sequence[str]) -> set[int]:
        """The stop strings that are special tokens, which a decoded text does not show."""
        rows = [self.tokenizer.encode(string) for string in stop]
        return {row[0] for row in rows if len(row) == 1 and not self.tokenizer.decode(row)}

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
