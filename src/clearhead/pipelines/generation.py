"""Text generation behind the interface of `transformers`, and for the command line."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import Ending
from clearhead.errors import UserError
from clearhead.pipelines.factory import ModelPipeline, known_arguments
from clearhead.pipelines.text_generator import Generated, TextGenerator, check_seeds, fresh_seed
from clearhead.text.inputs import texts_of

Answer = dict[str, str]


@dataclass(frozen=True)
class GenerationConfig:
    """The names of `transformers`, and `seed`; see `SamplingOptions` for what they do.

    With `do_sample=False` the most likely token is always chosen. `stop_strings` end a text and
    are left out of it. Answer j of text i has the seed `seed` + i · `num_return_sequences` + j.
    """

    max_new_tokens: int = 100
    do_sample: bool = True
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    num_return_sequences: int = 1
    stop_strings: Sequence[str] = ()
    return_full_text: bool = True
    seed: int | None = None

    def __post_init__(self) -> None:
        count, stops = self.num_return_sequences, self.stop_strings
        if not isinstance(count, int) or count < 1:
            raise UserError(
                f"num_return_sequences={count!r} is not a number of texts; give 1 or more"
            )
        if not isinstance(stops, Collection) or not all(isinstance(stop, str) for stop in stops):
            raise UserError(f"stop_strings={stops!r}; give a list of texts, or () for none")
        if self.seed is not None and not hasattr(self.seed, "__index__"):
            raise UserError(f"seed={self.seed!r} is not a whole number; give one, or None")

    @property
    def options(self) -> SamplingOptions:
        """As our own options."""
        temperature = self.temperature if self.do_sample else 0.0
        return SamplingOptions(
            self.max_new_tokens, temperature, self.top_k, self.top_p, self.min_p,
            self.repetition_penalty,
        )  # fmt: skip


def _own_config(given: Any) -> GenerationConfig:
    """The settings given, or the defaults; those of `transformers` are refused."""
    if given is not None and not isinstance(given, GenerationConfig):
        kind = type(given)
        raise UserError(
            f"generation_config is a {kind.__module__}.{kind.__name__}; give a GenerationConfig of "
            "clearhead.pipelines.generation"
        )
    return given or GenerationConfig()


class TextGenerationPipeline(ModelPipeline):
    """Called with a text or a list of texts; returns dictionaries with `generated_text`.

        write = pipeline("text-generation", model=DIRECTORY)
        write("Once upon a time", max_new_tokens=40)[0]["generated_text"]

    Arguments that are not given come from `generation_config`.
    """

    loader = TextGenerator.from_pretrained

    def __init__(self, generator: TextGenerator) -> None:
        self.generator = generator

    @known_arguments
    def __call__(  # noqa: PLR0913 - the interface of transformers
        self,
        text_inputs: str | Sequence[str],
        *,
        max_new_tokens: int | None = None,
        do_sample: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        num_return_sequences: int | None = None,
        generation_config: GenerationConfig | None = None,
    ) -> list[Any]:
        """A list of results for one text, a list of such lists for several.

        Raises:
            UserError: a number outside its range, or a text over the model's positions.
        """
        given = {
            "max_new_tokens": max_new_tokens,
            "do_sample": do_sample,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "num_return_sequences": num_return_sequences,
        }
        changes: Any = {name: value for name, value in given.items() if value is not None}
        config = replace(_own_config(generation_config), **changes)
        texts = texts_of(text_inputs)
        answers = self._answers(texts, config)
        return answers[0] if isinstance(text_inputs, str) else answers

    def stream(
        self, text_input: str, generation_config: GenerationConfig | None = None
    ) -> Iterator[str]:
        """The continuation of one text as it is generated, in complete characters."""
        config = _own_config(generation_config)
        return self.generator.stream(text_input, config.options, config.stop_strings, config.seed)

    def _answers(self, texts: list[str], config: GenerationConfig) -> list[list[Answer]]:
        count = config.num_return_sequences
        first = fresh_seed() if config.seed is None else config.seed
        prompts = [text for text in texts for _ in range(count)]
        seeds = range(first, first + len(prompts))
        found = self.generator.generate(prompts, config.options, config.stop_strings, seeds)
        answers = [
            {"generated_text": (one.prompt if config.return_full_text else "") + one.text}
            for one in found
        ]
        return [answers[i * count : (i + 1) * count] for i in range(len(texts))]


class ContinuationWriter:
    """Continuations as bytes for a terminal or a file, in the order of their prompts.

    It is called with one list of prompts after another and numbers them consecutively. A single
    prompt is streamed as it is generated; several are generated in parallel and returned together.
    Both give the same text: text i has the seed `seed` + i.
    """

    def __init__(
        self,
        generator: TextGenerator,
        options: SamplingOptions,
        stop: Sequence[str] = (),
        seed: int | None = None,
        format: Literal["text", "jsonl"] = "text",
        echo: bool = True,
    ) -> None:
        self.generator, self.options, self.stop = generator, options, stop
        self.seed = fresh_seed() if seed is None else seed
        check_seeds([self.seed])
        self.format, self.echo = format, echo
        self.number = 0

    def __call__(self, prompts: list[str]) -> Iterator[bytes]:
        """UTF-8, in pieces; every text ends with a line feed."""
        first, self.number = self.number, self.number + len(prompts)
        seeds = [self.seed + number for number in range(first, self.number)]
        if len(prompts) == 1 and self.format == "text":
            parts = self._streamed(prompts[0], seeds[0])
        else:
            found = self.generator.generate(prompts, self.options, self.stop, seeds, len(prompts))
            parts = (self._complete(first + i, one) for i, one in enumerate(found))
        # A lone surrogate in a prompt has no UTF-8; in JSON it is escaped.
        yield from (part.encode("utf-8", "backslashreplace") for part in parts)

    def _streamed(self, prompt: str, seed: int) -> Iterator[str]:
        pieces = self.generator.write([prompt], self.options, self.stop, [seed])
        endings: list[Ending | None] = []
        self.generator.encode(prompt)  # raises errors before anything is printed
        if self.echo:
            yield prompt
        for piece in pieces:
            yield piece.new
            endings.append(piece.ending)
        yield "\n"
        self.generator.warn_of_positions(endings[-1:])

    def _complete(self, number: int, one: Generated) -> str:
        if self.format == "text":
            return f"{one.prompt if self.echo else ''}{one.text}\n"
        return json.dumps({"id": number, **asdict(one)}, ensure_ascii=False) + "\n"
