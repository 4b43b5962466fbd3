"""Prompts in ids, continuations in ids."""

from collections.abc import Sequence

from clearhead.decoding.batching import groups_by_length
from clearhead.decoding.causal_engine import CausalEngine
from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.decoding.search import in_eval_mode
from clearhead.decoding.writing import Continuation, Writing, check_prompts
from clearhead.models import Gpt

ROWS = 16  # texts side by side


def generate(
    model: Gpt | CausalEngine,
    prompts: Sequence[Sequence[int]],
    options: SamplingOptions | None = None,
    seeds: Sequence[int] | None = None,
    rows: int = ROWS,
) -> list[Continuation]:
    """Continue each prompt, so many side by side; they come back in the order given.

    What is written depends on the prompt, the options and the prompt's seed (0, 1, 2 … unless
    given), not on its company. Prompts of like length are written together.

    Raises:
        UserError: as `Writing`.
    """
    options, seeds = options or SamplingOptions(), seeds or range(len(prompts))
    check_prompts(prompts, model.config.seq_len, model.config.vocab_size)
    found: dict[int, Continuation] = {}
    with in_eval_mode(model):
        if isinstance(model, Gpt):
            model = CausalEngine.of(model, rows=min(rows, len(prompts)))
        for group in groups_by_length([len(prompt) for prompt in prompts], rows):
            writing = Writing(
                model, [prompts[i] for i in group], options, [seeds[i] for i in group]
            )
            while writing.is_busy:
                writing.step()
            for i, ids, ending in zip(group, writing.written, writing.endings, strict=True):
                assert ending is not None
                found[i] = Continuation(ids, ending)
    return [found[i] for i in range(len(prompts))]
