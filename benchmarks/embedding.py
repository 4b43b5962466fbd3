"""Embedding 1,000 sentences of mixed length with a BERT base: ours against transformers.

    python benchmarks/embedding.py [--threads 2] [--sentences 1000] [--rounds 5] [--layers 12]

The weights are random, the same on both sides. Transformers reads 32 at a time, padded to the
longest of them, attention by sdpa, the mean under the mask: in the given order, as its own
pipelines do, and by the rule of sentence-transformers, which sorts by length first. Lengths are
log-normal, 5 to 128 tokens, a median of 24. Each note says how far a contestant's vectors are
from those of sorted transformers in float32.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers
from torch import Tensor

from clearhead.compare.hardware import describe_machine
from clearhead.compare.race import Contestant, fastest, race
from clearhead.compare.results import Duel, Heat, Results, distinct, write_json
from clearhead.compare.table import as_markdown
from clearhead.decoding.precision import multiplies_bfloat16, multiplies_int8
from clearhead.pipelines.encoding import Text
from clearhead.pipelines.text_model import TextModel
from clearhead.pretrained import from_pretrained

BAR, BATCH, SEED = 1.5, 32, 20181011
OURS, THEIRS, SORTED = "clearhead", "transformers", "transformers, sorted"


@dataclass
class Embedding:
    """One contestant; keeps its vectors."""

    embed: Callable[[], Tensor]
    found: Tensor | None = None

    def __call__(self) -> float:
        """Returns how many sentences were read."""
        self.found = self.embed()
        return len(self.found)


def draw(sentences: int, vocabulary: int) -> list[list[int]]:
    """Random ids, as many as sentences have."""
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


def muster(folder: Path, texts: list[list[int]]) -> Iterator[tuple[str, Embedding]]:
    """Everybody whose number format this processor multiplies natively."""
    model = from_pretrained(folder)
    short = multiplies_bfloat16(torch.device("cpu"))
    precisions = [
        "float32",
        *["bfloat16"] * short,
        *["int8"] * multiplies_int8(torch.device("cpu")),
    ]
    for name in precisions:
        reader = TextModel(model, None, name)  # type: ignore[arg-type]
        yield f"{OURS}, {name}", Embedding(lambda reader=reader: by_ours(reader, texts))
    for dtype in [torch.float32, *[torch.bfloat16] * short]:
        peer = transformers.BertModel.from_pretrained(
            folder, attn_implementation="sdpa", dtype=dtype
        )
        precision = str(dtype).removeprefix("torch.")
        for name, first in ((THEIRS, False), (SORTED, True)):
            read = partial(by_their_rule, peer, texts, first)
            yield f"{name}, {precision}", Embedding(read)


def notes(everybody: dict[str, Embedding]) -> Iterator[tuple[str, str]]:
    """How far from transformers in float32."""
    exact = everybody[f"{SORTED}, float32"].found
    assert exact is not None
    for name, own in everybody.items():
        assert own.found is not None
        found = own.found.float()
        cosine = torch.cosine_similarity(found, exact).min()
        yield name, f"max Δ {(found - exact).abs().max():.1e}, least cosine {cosine:.6f}"


def main() -> None:
    """Race, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option, value in (("threads", 2), ("sentences", 1000), ("rounds", 5), ("layers", 12)):
        parser.add_argument(f"--{option}", type=int, default=value)
    parser.add_argument("--json", type=Path, help="keep the laps in this file")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(SEED)
    transformers.utils.logging.disable_progress_bar()
    machine = describe_machine()
    config = transformers.BertConfig(num_hidden_layers=chosen.layers)
    texts = draw(chosen.sentences, config.vocab_size)
    with TemporaryDirectory() as folder:
        transformers.BertModel(config).save_pretrained(folder)
        everybody = dict(muster(Path(folder), texts))
        contestants = [Contestant(name, own) for name, own in everybody.items()]
        laps = race(contestants, chosen.rounds, warmup=1, say=lambda line: print(line, flush=True))
    best = fastest(laps, OURS), fastest(laps, THEIRS)
    duels = [
        *(Duel(f"{OURS}, {p}", f"{peer}, {p}", BAR) for peer in (THEIRS, SORTED)
          for p in ("float32", "bfloat16") if f"{peer}, {p}" in laps),
        Duel(str(best[0]), str(best[1]), BAR),
    ]  # fmt: skip
    tokens = sum(map(len, texts))
    heat = Heat(
        f"Embedding, {len(texts):,} sentences, {tokens:,} tokens", "sentences/s", laps,
        distinct(duels), dict(notes(everybody)),
    )  # fmt: skip
    setting = f"BERT base with {chosen.layers} layers, random weights, the mean of all tokens"
    results = Results("python benchmarks/embedding.py", setting, machine, [heat])
    if chosen.json:
        write_json(results, chosen.json)
    print(as_markdown(results))


if __name__ == "__main__":
    main()
