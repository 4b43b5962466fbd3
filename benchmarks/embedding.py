"""Embedding 1,000 sentences of mixed length with a BERT base: ours against transformers.

    python benchmarks/embedding.py [--threads 2] [--sentences 1000] [--rounds 5] [--layers 12]

The weights are random, the same on both sides. Transformers reads 32 at a time, padded to the
longest of them, attention by sdpa, the mean under the mask: in the given order, as its own
pipelines do, and by the rule of sentence-transformers, which sorts by length first. Lengths are
log-normal, 5 to 128 tokens, a median of 24. Each note gives the distance of a candidate's
vectors from those of sorted transformers in float32.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

import torch
import transformers
from torch import Tensor

from clearhead.compare.results import (
    Benchmark,
    Comparison,
    Results,
    as_markdown,
    distinct,
    write_json,
)
from clearhead.compare.timing import Candidate, describe_machine, fastest, measure
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.pipelines.engines import Text
from clearhead.pipelines.text_model import TextModel
from clearhead.pretrained import from_pretrained

TARGET, BATCH, SEED = 1.5, 32, 20181011
OURS, THEIRS, SORTED = "clearhead", "transformers", "transformers, sorted"
Vectors = TypeVar("Vectors", bound=Sized)  # a row for each text


@dataclass
class Embedding(Generic[Vectors]):
    """One candidate; keeps its vectors."""

    embed: Callable[[], Vectors]
    found: Vectors | None = None

    def __call__(self) -> float:
        """Returns the number of texts."""
        self.found = self.embed()
        return len(self.found)


def draw(sentences: int, vocabulary: int) -> list[list[int]]:
    """Random ids with the lengths of real sentences."""
    rng = random.Random(SEED)
    lengths = [
        min(128, max(5, round(rng.lognormvariate(math.log(24), 0.6)))) for _ in range(sentences)
    ]
    return [[rng.randrange(1000, vocabulary) for _ in range(length)] for length in lengths]


@torch.inference_mode()
def by_their_rule(model: Any, texts: list[list[int]], longest_first: bool) -> Tensor:
    """As sentence-transformers encodes, or in the given order."""
    order = list(range(len(texts)))
    if longest_first:
        order.sort(key=lambda number: -len(texts[number]))
    rows: list[Tensor] = [torch.empty(0)] * len(texts)
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        width = max(len(texts[number]) for number in batch)
        ids = torch.tensor([texts[n] + [0] * (width - len(texts[n])) for n in batch])
        mask = torch.tensor([[1] * len(texts[n]) + [0] * (width - len(texts[n])) for n in batch])
        hidden = model(ids, attention_mask=mask).last_hidden_state
        kept = mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * kept).sum(1) / kept.sum(1)
        for number, vector in zip(batch, mean, strict=True):
            rows[number] = vector
    return torch.stack(rows)


def by_ours(reader: TextModel, texts: list[list[int]]) -> Tensor:
    """As `Embedder` encodes."""
    rows = [Text(ids) for ids in texts]
    return torch.stack(reader.read(rows, lambda ids, hidden: list(hidden.mean(dim=1))))


def collect(folder: Path, texts: list[list[int]]) -> Iterator[tuple[str, Embedding[Tensor]]]:
    """All candidates in the precisions that this processor supports natively."""
    model = from_pretrained(folder)
    has_bfloat16 = multiplies_bfloat16(torch.device("cpu"))
    kinds = [("float32", "native"), ("int8", "native"), ("float32", "readable")]
    for precision, engine in kinds:
        reader = TextModel(model, None, precision, engine, torch.get_num_threads())  # type: ignore[arg-type]
        run = partial(by_ours, reader, texts)
        yield f"{OURS}, {engine}, {precision}", Embedding(run)
    for dtype in [torch.float32, *[torch.bfloat16] * has_bfloat16]:
        peer = transformers.BertModel.from_pretrained(
            folder, attn_implementation="sdpa", dtype=dtype
        )
        precision = str(dtype).removeprefix("torch.")
        for name, first in ((THEIRS, False), (SORTED, True)):
            read = partial(by_their_rule, peer, texts, first)
            yield f"{name}, {precision}", Embedding(read)


def notes(candidates: dict[str, Embedding[Tensor]]) -> Iterator[tuple[str, str]]:
    """The distance from transformers in float32."""
    exact = candidates[f"{SORTED}, float32"].found
    assert exact is not None
    for name, own in candidates.items():
        assert own.found is not None
        found = own.found.float()
        cosine = torch.cosine_similarity(found, exact).min()
        yield name, f"max Δ {(found - exact).abs().max():.1e}, least cosine {cosine:.6f}"


def main() -> None:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option, value in (("threads", 2), ("sentences", 1000), ("rounds", 5), ("layers", 12)):
        parser.add_argument(f"--{option}", type=int, default=value)
    parser.add_argument("--json", type=Path, help="save every measurement in this file")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(SEED)
    transformers.utils.logging.disable_progress_bar()
    machine = describe_machine()
    config = transformers.BertConfig(num_hidden_layers=chosen.layers)
    texts = draw(chosen.sentences, config.vocab_size)
    with TemporaryDirectory() as folder:
        transformers.BertModel(config).save_pretrained(folder)
        candidates = dict(collect(Path(folder), texts))
        runs = [Candidate(name, own) for name, own in candidates.items()]
        found = measure(runs, chosen.rounds, progress=lambda line: print(line, flush=True))
    best = fastest(found, OURS), fastest(found, THEIRS)
    ours = f"{OURS}, native, float32"
    comparisons = [
        *(Comparison(ours, f"{peer}, float32", TARGET) for peer in (THEIRS, SORTED)),
        Comparison(ours, f"{OURS}, readable, float32"),
        Comparison(str(best[0]), str(best[1]), TARGET),
    ]  # fmt: skip
    tokens = sum(map(len, texts))
    benchmark = Benchmark(
        f"Embedding, {len(texts):,} sentences, {tokens:,} tokens", "sentences/s", found,
        distinct(comparisons), dict(notes(candidates)),
    )  # fmt: skip
    setting = f"BERT base with {chosen.layers} layers, random weights, the mean of all tokens"
    results = Results("python benchmarks/embedding.py", setting, machine, [benchmark])
    if chosen.json:
        write_json(results, chosen.json)
    print(as_markdown(results))


if __name__ == "__main__":
    main()
