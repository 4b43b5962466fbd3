"""Translation with OPUS-MT's sizes: tokens per second, ours against transformers and CTranslate2.

    python benchmarks/marian.py [--rows 1 32] [--beams 1 4] [--tokens 32] [--rounds 5]

Same random weights on both sides, sources of random ids, every translation equally long, every
candidate once per round, rounds in alternating order; ratios are computed round by round, their
median shown. transformers computes in float32; CTranslate2 and our native engine in float32 and
int8; our readable engine in float32. CTranslate2 runs with all cores on one batch and, where there
are several sentences, also with one batch per core; the faster of the two is compared.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2
import torch
import transformers
from ctranslate2.converters.transformers import BartLoader, MarianMTLoader
from writers import OURS, THEIRS, Ids, Writer, benchmark, same_weights

from clearhead.compare.results import Benchmark, Comparison, Results, as_markdown
from clearhead.compare.timing import Measurements, fastest, kept_threads, prepare_machine
from clearhead.decoding import DecodingOptions, Engine, ReadableEngine
from clearhead.decoding.native import NativeEngine
from clearhead.models.marian import Marian
from clearhead.models.native import native_model

CTRANSLATE2, TARGET = "CTranslate2", 2.0  # the target holds for one sentence at a time
PRECISIONS = ("float32", "int8")

SIZES: dict[str, dict[str, int]] = {
    # opus-mt-en-fr: 6 + 6 layers, 512 wide, 59,514 tokens: 75 M parameters
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


class Loader(MarianMTLoader):  # type: ignore[misc]
    """CTranslate2's own converter, except that decoding begins with the embedding of padding.

    In OPUS models that embedding is zero, and the converter removes it. Here it is random.
    """

    def _remove_pad_weights(self, spec: Any) -> None:
        pass

    def set_decoder(self, spec: Any, decoder: Any) -> None:
        BartLoader.set_decoder(self, spec, decoder)


def convert(theirs: Any, directory: Path) -> None:
    """Write the model in CTranslate2's format; the pieces of the vocabulary are its ids."""
    spec, config = Loader().get_model_spec(theirs), theirs.config
    pieces = [str(i) for i in range(config.vocab_size)]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.unk_token = spec.config.decoder_start_token = pieces[config.pad_token_id]
    spec.config.bos_token = spec.config.eos_token = pieces[config.eos_token_id]
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(str(directory))


def ctranslate2_writers(
    theirs: Any, sources: Ids, tokens: int, beams: int
) -> Iterator[tuple[str, Writer]]:
    """In every precision, with every arrangement of threads."""
    threads, pad = torch.get_num_threads(), str(theirs.config.pad_token_id)
    several = len(sources) > 1 and threads > 1
    with TemporaryDirectory() as folder:
        convert(theirs, Path(folder))
        for precision in PRECISIONS:
            for workers in (1, threads) if several else (1,):
                with kept_threads():  # it sets OpenMP's number of threads for the whole process
                    inner = ctranslate2.Translator(
                        folder, compute_type=precision, inter_threads=workers,
                        intra_threads=threads // workers,
                    )  # fmt: skip

                def write(sources: Ids, inner: Any = inner, workers: int = workers) -> Ids:
                    results = inner.translate_batch(
                        [list(map(str, ids)) for ids in sources], beam_size=beams,
                        max_decoding_length=tokens, min_decoding_length=tokens - 1,
                        max_batch_size=-(-len(sources) // workers), suppress_sequences=[[pad]],
                        return_end_token=True,
                    )  # fmt: skip
                    return [list(map(int, result.hypotheses[0])) for result in results]

                parallel = f", {workers} batches in parallel" if workers > 1 else ""
                yield f"{CTRANSLATE2}, {precision}{parallel}", Writer(write, sources)


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
    yield from ctranslate2_writers(theirs, sources, tokens, beams)
    options = DecodingOptions(
        beam_size=beams, max_length=tokens, min_length=tokens - 1, early_stopping=True,
        scores=False,
    )  # fmt: skip
    for precision in PRECISIONS:
        native = NativeEngine(
            ours.config, native_model(ours, precision == "int8"), torch.get_num_threads()
        )
        yield f"{OURS}, native, {precision}", Writer(_ours(native, options), sources)
    readable = ReadableEngine.of(ours)
    yield f"{OURS}, readable, float32", Writer(_ours(readable, options), sources)


def _ours(engine: Engine, options: DecodingOptions) -> Callable[[Ids], Ids]:
    return lambda sources: [best[0].ids for best in engine.decode(sources, options)]


def one_benchmark(
    pair: tuple[Any, Marian], rows: int, beams: int, tokens: int, rounds: int
) -> Benchmark:
    """One batch size, one beam."""
    most = pair[1].config.tgt_vocab_size - 1
    sources = [[*row, 0] for row in torch.randint(1, most, (rows, tokens - 1)).tolist()]
    title = f"Batch {rows}, beam {beams}, {tokens} tokens in, {tokens} out"
    target = TARGET if rows == 1 else None

    def against_ctranslate2(found: Measurements) -> list[Comparison]:
        best = {
            precision: fastest(found, f"{CTRANSLATE2}, {precision}") for precision in PRECISIONS
        }
        return [
            Comparison(f"{OURS}, native, {precision}", name, target)
            for precision, name in best.items()
            if name
        ]

    candidates = dict(writers(pair, sources, tokens, beams))
    return benchmark(title, candidates, rounds, _note, against_ctranslate2)


def _note(found: Ids, expected: Ids) -> str:
    return f"{sum(map(_same, found, expected))} of {len(expected)} begin as theirs"


def _same(one: list[int], other: list[int]) -> bool:
    half = min(len(one), len(other)) // 2
    return one[:half] == other[:half]


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="opus")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--tokens", type=int, default=32, help="of a source and of a translation")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    machine = prepare_machine(arguments.threads)
    pair = models(arguments.size)
    benchmarks = [
        one_benchmark(pair, rows, beams, arguments.tokens, arguments.rounds)
        for beams in arguments.beams
        for rows in arguments.rows
    ]
    c = pair[1].config
    setting = (
        f"Marian of {c.encoder_layers} + {c.decoder_layers} layers, d_model {c.d_model}, "
        f"{c.tgt_vocab_size:,} tokens, random weights; transformers {transformers.__version__}"
    )
    print(as_markdown(Results("python benchmarks/marian.py", setting, machine, benchmarks)))


if __name__ == "__main__":
    main()
