"""A training step of EOLE, the successor of OpenNMT-py, against ours and the didactic baseline.

    python benchmarks/eole_training.py [--rounds 9] [--rows 128] [--length 16] [--device cpu]

EOLE is not in our extra: its package requires some forty others and versions of protobuf and
sentencepiece that contradict our constraints. Install it with `pip install eole`, preferably in an
environment of its own.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.compare import didactic
from clearhead.compare.results import Benchmark, Comparison, Results, as_markdown
from clearhead.compare.timing import (
    Measurements,
    fastest,
    is_installed,
    library,
    measure,
    prepare_machine,
)
from clearhead.compare.training_benchmark import CLEARHEAD, own_candidates, peer_candidates
from clearhead.compare.workloads import RACE, TrainingTask, describe_task, make_task
from clearhead.models import TransformerConfig

NAME = "eole"
PADDING = "<blank>"


class Eole(nn.Module):
    """EOLE's `EncoderDecoderModel`, pre-norm, with our hyperparameters and biases."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        with warnings.catch_warnings():  # about CUDA extensions that are absent
            warnings.simplefilter("ignore")
            build = library("eole.models.model").EncoderDecoderModel
            options = library("eole.config.models").TransformerModelConfig(**_options(config))
        run = SimpleNamespace(
            dropout=[config.dropout],
            attention_dropout=[config.dropout_of("attention")],
            world_size=1,
            parallel_gpu=1,
        )
        vocabularies = {
            "src": _vocabulary(config, config.src_vocab_size),
            "tgt": _vocabulary(config, config.tgt_vocab_size),
            "specials": {"pad_token": PADDING},
        }
        self.inner = build.build_blocks(options, vocabularies, run)
        self.inner.build_generator(options, run, vocabularies)
        for parameter in self.inner.parameters():  # the builder leaves some uninitialized
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            elif not parameter.isfinite().all() or parameter.abs().max() > 1:
                nn.init.zeros_(parameter)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab) logits."""
        # EOLE itself drops the last target token.
        target = torch.cat([tgt, tgt[:, -1:]], dim=1)
        lengths = torch.full((len(src),), src.shape[1], device=src.device)
        return self.inner.generator(self.inner(src, target, lengths).dec_out)


def _options(config: TransformerConfig) -> dict[str, Any]:
    return {
        "architecture": "transformer",
        "hidden_size": config.d_model,
        "encoder": {"encoder_type": "transformer", "layers": config.encoder_layers},
        "decoder": {"decoder_type": "transformer", "layers": config.decoder_layers},
        "heads": config.h,
        "transformer_ff": config.d_ff,
        "mlp_activation_fn": "relu",
        "embeddings": {
            "position_encoding_type": "SinusoidalInterleaved",
            "word_vec_size": config.d_model,
            "n_positions": max(config.src_seq_len, config.tgt_seq_len),
        },
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "generator_bias": True,
    }


def _vocabulary(config: TransformerConfig, size: int) -> dict[str, int]:
    return {PADDING if i == config.pad_id else str(i): i for i in range(size)}


def benchmark(task: TrainingTask, rounds: int) -> Benchmark:
    """Our step, the didactic baseline and EOLE, in the precisions of this device."""
    candidates = [
        *own_candidates(task),
        *didactic.candidates(task),
        *peer_candidates(NAME, Eole, task),
    ]
    found = measure(candidates, rounds, 2, task.synchronize, print, untimed_runs=1)
    return Benchmark("One training step", "target tokens/s", found, list(comparisons(found)))


def comparisons(found: Measurements) -> Iterator[Comparison]:
    """Our fastest candidate against each other's fastest."""
    for other in (NAME, didactic.NAME):
        yield Comparison(str(fastest(found, CLEARHEAD)), str(fastest(found, other)))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rows", type=int, default=128, help="sentences per batch")
    parser.add_argument("--length", type=int, default=16, help="tokens per sentence")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if not is_installed(NAME):
        sys.exit("the package eole is not installed; install it with: pip install eole")
    machine = prepare_machine(arguments.threads)
    shape = arguments.rows, arguments.length
    with TemporaryDirectory() as folder:
        task = make_task(RACE, arguments.vocabulary, shape, Path(folder), arguments.device)
        found = benchmark(task, arguments.rounds)
    setting = describe_task(task, *shape)
    print(as_markdown(Results("python benchmarks/eole_training.py", setting, machine, [found])))


if __name__ == "__main__":
    main()
