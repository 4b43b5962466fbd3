"""Embedding 1,000 proteins of mixed length with an ESM-2: ours against transformers.

    python benchmarks/protein_embedding.py [--threads 2] [--proteins 1000] [--rounds 5] [--layers 6]

The sizes are those of ESM-2 8M; the weights are random, the same on both sides. Transformers reads
16 at a time, padded to the longest of them, attention by sdpa, the mean over true residues: in the
given order, and sorted by length, its best arrangement. Lengths are log-normal, 30 to 800
residues, a median of 180. Each note gives the distance of a candidate's vectors from those of
sorted transformers.
"""

import argparse
import math
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import transformers
from embedding import OURS, SEED, SORTED, TARGET, THEIRS, Embedding
from numpy.typing import NDArray

from clearhead.biology.model import load_model
from clearhead.biology.predicting import Predictor
from clearhead.biology.vocabulary import ESM_TOKENS, Vocabulary
from clearhead.compare.results import (
    Benchmark,
    Comparison,
    Results,
    as_markdown,
    distinct,
    write_json,
)
from clearhead.compare.timing import Candidate, describe_machine, fastest, measure
from clearhead.data.sequences import Record

BATCH = 16
PAD_ID = ESM_TOKENS.index("<pad>")
Floats = NDArray[np.float64]


def draw(proteins: int) -> list[Record]:
    """Random residues with the lengths of real proteins."""
    rng = random.Random(SEED)
    lengths = [
        min(800, max(30, round(rng.lognormvariate(math.log(180), 0.6)))) for _ in range(proteins)
    ]
    return [
        Record("drawn", str(number), "".join(rng.choices("ACDEFGHIKLMNPQRSTVWY", k=length)))
        for number, length in enumerate(lengths)
    ]


@torch.inference_mode()
def by_transformers(model: Any, rows: list[list[int]], longest_first: bool) -> Floats:
    """The mean over residues, without the first and the last token."""
    order = sorted(range(len(rows)), key=lambda n: -len(rows[n]) if longest_first else n)
    found = np.zeros((len(rows), model.config.hidden_size))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        width = max(len(rows[number]) for number in batch)
        ids = torch.tensor([rows[n] + [PAD_ID] * (width - len(rows[n])) for n in batch])
        hidden = model(ids, attention_mask=(ids != PAD_ID).long()).last_hidden_state
        for number, states in zip(batch, hidden, strict=True):
            found[number] = states[1 : len(rows[number]) - 1].mean(dim=0).numpy()
    return found


def by_ours(predictor: Predictor, records: list[Record]) -> Floats:
    """As `clearhead bio protein embed` does."""
    return np.stack([vector for _, vector in predictor.vectors(records)])


def collect(folder: Path, records: list[Record]) -> Iterator[tuple[str, Embedding[Floats]]]:
    """All candidates."""
    yield OURS, Embedding(partial(by_ours, Predictor(load_model(folder)), records))
    peer = transformers.EsmModel.from_pretrained(
        folder, attn_implementation="sdpa", add_pooling_layer=False
    )
    vocabulary = Vocabulary.of_residues()
    rows = [vocabulary.encode(record.sequence) for record in records]
    for name, longest_first in ((THEIRS, False), (SORTED, True)):
        yield name, Embedding(partial(by_transformers, peer.eval(), rows, longest_first))


def notes(candidates: dict[str, Embedding[Floats]]) -> Iterator[tuple[str, str]]:
    """The distance from transformers."""
    exact = candidates[SORTED].found
    assert exact is not None
    for name, own in candidates.items():
        assert own.found is not None
        yield name, f"max Δ {np.abs(own.found - exact).max():.1e}"


def main() -> None:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option, value in (("threads", 2), ("proteins", 1000), ("rounds", 5), ("layers", 6)):
        parser.add_argument(f"--{option}", type=int, default=value)
    parser.add_argument("--json", type=Path, help="save every measurement in this file")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(SEED)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    config = transformers.EsmConfig(
        vocab_size=len(ESM_TOKENS), hidden_size=320, num_hidden_layers=chosen.layers,
        num_attention_heads=20, intermediate_size=1280, max_position_embeddings=1026,
        position_embedding_type="rotary", token_dropout=True, emb_layer_norm_before=False,
        pad_token_id=PAD_ID, mask_token_id=ESM_TOKENS.index("<mask>"),
    )  # fmt: skip
    records = draw(chosen.proteins)
    with TemporaryDirectory() as folder:
        transformers.EsmForMaskedLM(config).save_pretrained(folder)
        (Path(folder) / "vocab.txt").write_text("\n".join(ESM_TOKENS), encoding="utf-8")
        candidates = dict(collect(Path(folder), records))
        runs = [Candidate(name, own) for name, own in candidates.items()]
        found = measure(runs, chosen.rounds, progress=lambda line: print(line, flush=True))
    comparisons = [Comparison(OURS, peer, TARGET) for peer in (THEIRS, SORTED)]
    comparisons.append(Comparison(OURS, str(fastest(found, THEIRS)), TARGET))
    residues = sum(len(record.sequence) for record in records)
    benchmark = Benchmark(
        f"Embedding, {len(records):,} proteins, {residues:,} residues", "proteins/s", found,
        distinct(comparisons), dict(notes(candidates)),
    )  # fmt: skip
    setting = f"ESM-2 8M with {chosen.layers} layers, random weights, float32, mean of residues"
    results = Results(
        "python benchmarks/protein_embedding.py", setting, describe_machine(), [benchmark]
    )
    if chosen.json:
        write_json(results, chosen.json)
    print(as_markdown(results))


if __name__ == "__main__":
    main()
