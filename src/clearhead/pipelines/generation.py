"""The call that users of `transformers` know: `pipeline("text-generation", model=DIRECTORY)`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.errors import UserError
from clearhead.pipelines.generated import fresh_seed
from clearhead.pipelines.text_generator import TextGenerator

Answer = dict[str, str]


@dataclass(frozen=True)
class GenerationConfig:
    """The names of `transformers`, and `seed`; see `SamplingOptions` for what they do.

    With `do_sample=False` the likeliest token is always taken. `stop_strings` end a text and
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
        if self.num_return_sequences < 1:
            raise UserError(
                f"num_return_sequences={self.num_return_sequences} is no number of texts; "
                "give 1 or more"
            )

    @property
    def options(self) -> SamplingOptions:
        """In our words."""
        return SamplingOptions(
            max_new_tokens=self.max_new_tokens,
            temperature=self.temperature if self.do_sample else 0.0,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
        )


class TextGenerationPipeline:
    """Called with a text or a list of texts; answers dictionaries with `generated_text`.

        write = pipeline("text-generation", model=DIRECTORY)
        write("Once upon a time", max_new_tokens=40)[0]["generated_text"]

    What is not given in a call comes from its `generation_config`.
    """

    def __init__(self, generator: TextGenerator) -> None:
        self.generator = generator

    @classmethod
    def from_pretrained(
        cls, model: str | Path, device: str = "auto", threads: int | None = None
    ) -> Self:
        """From a directory or a name.

        Raises:
            UserError: as `TextGenerator.from_pretrained`.
        """
        return cls(TextGenerator.from_pretrained(model, device, threads))

    def __call__(
        self,
        text_inputs: str | Sequence[str],
        *,
        max_new_tokens: int | None = None,
        do_sample: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        generation_config: GenerationConfig | None = None,
    ) -> list[Any]:
        """One text gives the list of its answers, several texts a list of such lists.

        Raises:
            UserError: a number outside its range, or a text over the model's positions.
        """
        given = {
            "max_new_tokens": max_new_tokens,
            "do_sample": do_sample,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
        }
        changes: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        config = replace(generation_config or GenerationConfig(), **changes)
        texts = [text_inputs] if isinstance(text_inputs, str) else list(text_inputs)
        answers = self._answers(texts, config)
        return answers[0] if isinstance(text_inputs, str) else answers

    def stream(
        self, text_input: str, generation_config: GenerationConfig | None = None
    ) -> Iterator[str]:
        """The continuation of one text as it is written, in whole characters."""
        config = generation_config or GenerationConfig()
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
