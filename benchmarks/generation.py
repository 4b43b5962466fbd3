"""Text generation with GPT-2: tokens per second, ours against `generate` of transformers.

    python benchmarks/generation.py [--rows 1 16] [--tokens 128] [--prompt 32] [--rounds 5]

Same random weights on both sides, prompts of random ids, greedy, every candidate once per round,
rounds in alternating order; ratios are computed round by round, their median shown. Theirs computes
in float32; ours in float32 and int8 with the native engine, in float32 with the readable one.
`--sampling` draws from the 50 most probable tokens instead (with different random numbers on
either side, so the texts differ).
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers
from writers import OURS, THEIRS, Ids, Writer, benchmark, same_weights

from clearhead.compare.results import Benchmark, Results, as_markdown
from clearhead.compare.timing import prepare_machine
from clearhead.decoding.causal import CausalEngine, native_causal_engine
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.models import Gpt

SIZES: dict[str, dict[str, int]] = {
    "gpt2": {},  # 12 layers, 768 wide, 50,257 tokens: 124 M parameters
    "tiny": {
        "n_embd": 48,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 256,
        "vocab_size": 500,
        "bos_token_id": 0,
        "eos_token_id": 0,
    },
}


def models(size: str) -> tuple[Any, Gpt]:
    """Theirs and ours."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(**SIZES[size])
    theirs, ours = same_weights(transformers.GPT2LMHeadModel(config), 0.02)
    assert isinstance(ours, Gpt)
    return theirs, ours


def writers(
    pair: tuple[Any, Gpt], prompts: Ids, tokens: int, sampling: bool
) -> Iterator[tuple[str, Writer]]:
    """Theirs, then ours in every precision."""
    theirs, ours = pair

    def write(prompts: Ids) -> Ids:
        ids = torch.tensor(prompts)
        written = theirs.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens,
            min_new_tokens=tokens, do_sample=sampling, top_k=50, pad_token_id=0, eos_token_id=None,
        )  # fmt: skip
        return [row[len(prompts[0]) :] for row in written.tolist()]

    yield THEIRS, Writer(write, prompts)
    options = SamplingOptions(
        max_new_tokens=tokens, temperature=1.0 if sampling else 0.0, ignore_eos=True
    )
    for precision in ("float32", "int8"):
        native = native_causal_engine(ours, precision == "int8", torch.get_num_threads())
        yield f"{OURS}, native, {precision}", Writer(_ours(native, options), prompts)
    yield f"{OURS}, readable, float32", Writer(_ours(CausalEngine.of(ours), options), prompts)


def _ours(engine: CausalEngine, options: SamplingOptions) -> Callable[[Ids], Ids]:
    return lambda prompts: [one.ids for one in generate(engine, prompts, options, None, 10**6)]


def one_benchmark(
    pair: tuple[Any, Gpt], rows: int, shape: tuple[int, int], rounds: int, sampling: bool
) -> Benchmark:
    """One batch size."""
    length, tokens = shape
    most = pair[1].config.vocab_size
    prompts = torch.randint(0, most, (rows, length)).tolist()
    manner = "sampling from 50" if sampling else "greedy"
    title = f"Batch {rows}, prompts of {length}, {tokens} tokens, {manner}"
    every_writer = dict(writers(pair, prompts, tokens, sampling))
    return benchmark(title, every_writer, rounds, (lambda *_: "") if sampling else _note)


def _note(found: Ids, expected: Ids) -> str:
    alike = sum(map(_agreeing, found, expected)) / len(expected)
    return f"{alike:.0f} of {len(expected[0])} tokens before the first other one"


def _agreeing(one: list[int], other: list[int]) -> int:
    pairs = enumerate(zip(one, other, strict=True))
    return next((i for i, (a, b) in pairs if a != b), len(one))


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="gpt2")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--prompt", type=int, default=32, help="tokens of a prompt")
    parser.add_argument("--tokens", type=int, default=128, help="tokens of a continuation")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--sampling", action="store_true")
    arguments = parser.parse_args()
    machine = prepare_machine(arguments.threads)
    pair = models(arguments.size)
    shape = arguments.prompt, arguments.tokens
    benchmarks = [
        one_benchmark(pair, rows, shape, arguments.rounds, arguments.sampling)
        for rows in arguments.rows
    ]
    c = pair[1].config
    setting = (
        f"GPT-2 of {c.layers} layers, d_model {c.d_model}, {c.vocab_size:,} tokens, random "
        f"weights; transformers {transformers.__version__}"
    )
    print(as_markdown(Results("python benchmarks/generation.py", setting, machine, benchmarks)))


if __name__ == "__main__":
    main()
