"""Made-up sequences with a rule that a model can learn in seconds."""

import random
from pathlib import Path

from clearhead.biology.dna import reverse_complement

MOTIF = "TATAAT"


def bases(length: int, rng: random.Random) -> str:
    return "".join(rng.choices("ACGT", k=length))


def write_promoters(path: Path, count: int, seed: int = 1, length: int | None = 26) -> Path:
    """Yes: the motif is in the middle; of sequences of several lengths, anywhere."""
    rng = random.Random(seed)
    rows = ["sequence,label\n"]
    for number in range(count):
        size = length or rng.randint(20, 33)
        sequence = bases(size, rng)
        if number % 2:
            start = 9 if length else rng.randrange(size - len(MOTIF))
            sequence = sequence[:start] + MOTIF + sequence[start + len(MOTIF) :]
        rows.append(f"{sequence},{'yes' if number % 2 else 'no'}\n")
    path.write_text("".join(rows), encoding="utf-8")
    return path


def write_states(path: Path, count: int, seed: int = 1) -> Path:
    """A label for each base: S for G and C, W for A and T; the first two do not count."""
    rng = random.Random(seed)
    rows = ["id,sequence,labels,mask\n"]
    for number in range(count):
        sequence = bases(rng.randint(15, 29), rng)
        labels = "".join("S" if base in "GC" else "W" for base in sequence)
        rows.append(f"s{number},{sequence},{labels},00{'1' * (len(sequence) - 2)}\n")
    path.write_text("".join(rows), encoding="utf-8")
    return path


def write_numbers(path: Path, count: int, seed: int = 1, length: int | None = 18) -> Path:
    """The share of G and C, of both strands alike."""
    rng = random.Random(seed)
    rows = ["sequence,fitness\n"]
    for _ in range(count):
        sequence = bases(length or rng.randint(14, 27), rng)
        share = sum(base in "GC" for base in sequence) / len(sequence) + rng.random() / 1000
        rows.append(f"{sequence},{share:.5f}\n")
    path.write_text("".join(rows), encoding="utf-8")
    return path


def write_genome(path: Path, length: int, seed: int = 1) -> Path:
    """Repeats of one word among random bases, on both strands."""
    rng = random.Random(seed)
    text = ""
    while len(text) < length:
        text += rng.choice(["GATTACA", reverse_complement("GATTACA"), bases(3, rng)])
    lines = [text[start : start + 60] for start in range(0, length, 60)]
    path.write_text(">chromosome of nothing\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path
