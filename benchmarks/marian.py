"""OPUS-MT's shape writes: tokens a second, ours against `generate` of transformers, in one run.

    python benchmarks/marian.py [--rows 1 32] [--beams 1 4] [--tokens 32] [--rounds 5]

Same random weights on both sides, sources of random ids, every translation so many tokens long,
every contestant once a round, rounds in alternating order; ratios are taken round by round, their
median shown. Both sides multiply float32; what ours does in fewer bits is shown beside it.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers
from writers import OURS, THEIRS, Ids, Writer, heat, same_weights

from clearhead.compare.hardware import describe_machine
from clearhead.compare.results import Heat, Results
from clearhead.compare.table import as_markdown
from clearhead.decoding import DecodingOptions, Engine, decode
from clearhead.models.marian import Marian
from clearhead.translation.threads import use_threads

SIZES: dict[str, dict[str, int]] = {
    # opus-mt-en-fr: 6 + 6 layers, 512 wide, 59,514 words: 75 M weights
    "opus": {
        "vocab_size": 59_514,
        "d_model": 512,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_attention_heads": 8,
        "decoder_attention_heads": 8,
        "encoder_ffn_dim": 2048,
        "decoder_ffn_dim": 2048,
        "max_position_embeddings": 512,
    },
    "tiny": {
        "vocab_size": 500,
        "d_model": 48,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 96,
        "decoder_ffn_dim": 96,
        "max_position_embeddings": 128,
    },
}


def models(size: str) -> tuple[Any, Marian]:
    """Theirs and ours."""
    torch.manual_seed(0)
    sizes = SIZES[size]
    pad = sizes["vocab_size"] - 1
    config = transformers.MarianConfig(
        **sizes, activation_function="swish", scale_embedding=True, pad_token_id=pad,
        decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=None,
    )  # fmt: skip
    theirs, ours = same_weights(transformers.MarianMTModel(config), 0.03)
    assert isinstance(ours, Marian)
    return theirs, ours


def writers(
    pair: tuple[Any, Marian], sources: Ids, tokens: int, beams: int
) -> Iterator[tuple[str, Writer]]:
    """Theirs, then ours in every precision."""
    theirs, ours = pair
    pad = ours.config.pad_id

    def write(sources: Ids) -> Ids:
        ids = torch.tensor(sources)
        written = theirs.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), num_beams=beams, do_sample=False,
            max_length=None, max_new_tokens=tokens, min_new_tokens=tokens, bad_words_ids=[[pad]],
        )  # fmt: skip
        return [row[1:] for row in written.tolist()]

    yield THEIRS, Writer(write, sources)
    options = DecodingOptions(beam_size=beams, max_length=tokens, min_length=tokens - 1)
    for precision in ("float32", "bfloat16", "int8"):
        engine = Engine.of(ours, precision)
        yield f"{OURS}, {precision}", Writer(_ours(engine, options), sources)


def _ours(engine: Engine, options: DecodingOptions) -> Callable[[Ids], Ids]:
    return lambda sources: [best[0].ids for best in decode(engine, sources, options)]


def one_heat(pair: tuple[Any, Marian], rows: int, beams: int, tokens: int, rounds: int) -> Heat:
    """One batch size, one beam."""
    most = pair[1].config.tgt_vocab_size - 1
    sources = [[*row, 0] for row in torch.randint(1, most, (rows, tokens - 1)).tolist()]
    title = f"Batch {rows}, beam {beams}, {tokens} tokens in, {tokens} out"
    return heat(title, dict(writers(pair, sources, tokens, beams)), rounds, _note)


def _note(found: Ids, expected: Ids) -> str:
    return f"{sum(map(_same, found, expected))} of {len(expected)} begin as theirs"


def _same(one: list[int], other: list[int]) -> bool:
    half = min(len(one), len(other)) // 2
    return one[:half] == other[:half]


def main() -> None:
    """Race and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="opus")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--tokens", type=int, default=32, help="of a source and of a translation")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    use_threads(arguments.threads)
    machine = describe_machine()
    pair = models(arguments.size)
    heats = [
        one_heat(pair, rows, beams, arguments.tokens, arguments.rounds)
        for beams in arguments.beams
        for rows in arguments.rows
    ]
    c = pair[1].config
    setting = (
        f"Marian of {c.encoder_layers} + {c.decoder_layers} layers, d_model {c.d_model}, "
        f"{c.tgt_vocab_size:,} words, random weights; transformers {transformers.__version__}"
    )
    print(as_markdown(Results("python benchmarks/marian.py", setting, machine, heats)))


if __name__ == "__main__":
    main()
