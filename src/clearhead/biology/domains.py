"""What differs between DNA, proteins and cells: letters, vocabulary, defaults."""

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clearhead.biology.cells import fit_medians
from clearhead.biology.dna import as_dna, reverse_complement
from clearhead.biology.model import Domain
from clearhead.biology.recipe import Tokens
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.h5ad import ENDING, SUFFIX, expressed, read_cell, read_cells, read_mtx
from clearhead.data.sequences import (
    Columns,
    Record,
    distinct,
    labelled,
    read_records,
    refuse_what_is_no_file,
)
from clearhead.data.table import kind_of
from clearhead.errors import UserError

Defaults = dict[str, dict[str, Any]]


class DomainRules(NamedTuple):
    """How one kind of data is read, and what suits it; `letters` checks a sequence."""

    title: str
    letters: Callable[[str, str], str]
    vocabulary: Callable[[Tokens, Iterable[str]], Vocabulary]
    defaults: dict[str, Defaults]  # of a recipe: classes of aligned and free sequences, and more


def dna_vocabulary(tokens: Tokens, sequences: Iterable[str]) -> Vocabulary:
    """Bases unless the recipe names k-mers or BPE."""
    if tokens.kind == "kmers":
        return Vocabulary.of_kmers(tokens.k, tokens.step)
    if tokens.kind == "bpe":
        return Vocabulary.learned(sequences, tokens.size)
    _only(tokens, "characters", "kmers", "bpe")
    return Vocabulary.of_bases()


def protein_vocabulary(tokens: Tokens, sequences: Iterable[str]) -> Vocabulary:
    """ESM-2's alphabet."""
    _only(tokens, "characters")
    return Vocabulary.of_residues()


def cell_vocabulary(tokens: Tokens, sequences: Iterable[str]) -> Vocabulary:
    """The genes of these cells, with their medians."""
    _only(tokens, "genes")
    return Vocabulary.of_genes(fit_medians(sequences))


def as_cell(sequence: str, place: str) -> str:
    """A cell as `GENE:VALUE` pairs.

    Raises:
        UserError: it is something else, such as the bases of a sequence, or a pair has a fault.
    """
    if ":" not in sequence:
        raise UserError(f"{place}: not a cell; expected GENE:VALUE pairs, such as CD3E:12 MS4A1:3")
    try:
        read_cell(sequence)
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    return sequence


def _only(tokens: Tokens, *kinds: str) -> None:
    if tokens.kind not in ("auto", *kinds):
        raise UserError(
            f"tokens.kind={tokens.kind} is not for these data; give {' or '.join(kinds)}"
        )


def as_protein(sequence: str, place: str) -> str:
    """The sequence in upper case without a final stop.

    Raises:
        UserError: a character is no letter of a residue.
    """
    letters = "".join(sequence.split()).upper().removesuffix("*")
    for position, letter in enumerate(letters, start=1):
        if letter not in "ACDEFGHIKLMNPQRSTVWYXBUZOJ":
            raise UserError(
                f"{place}: letter {position} of the sequence is {letter!r}, not a residue; "
                "expected the 20 amino acids, or X, B, Z, U, O, J"
            )
    return letters


# What a recipe begins with for small data of each kind; `--set` changes any of it.
NUMBERS: Defaults = {
    "model": {"motif": 1, "token_width": 32, "linear": "positions"},
    "augment": {"noise": 0.0},
    "optimizer": {"peak_lr": 2e-3},
    "run": {"epochs": 30, "min_steps": 20, "batch_texts": 128, "members": 3},
}
FINE_TUNING: Defaults = {"optimizer": {"peak_lr": 5e-4}}
DNA: dict[str, Defaults] = {
    "aligned": {
        "model": {"motif": 7, "token_width": 8, "head_dropout": 0.3, "h": 2, "pool": 3,
                  "linear": "similarity"},
        "optimizer": {"peak_lr": 3e-3, "weight_decay": 0.05},
        "run": {"epochs": 25, "members": 5},
    },
    "free": {
        "model": {"motif": 9, "token_width": 8},
    },
    "positions": {"model": {"motif": 9, "token_width": 8}, "augment": {"noise": 0.05}},
    "number": NUMBERS,
}  # fmt: skip
PROTEIN: dict[str, Defaults] = {
    "aligned": {
        "model": {"motif": 5, "token_width": 24, "head_dropout": 0.5, "linear": "similarity"},
    },
    "free": {
        "model": {"motif": 5, "token_width": 24, "h": 2, "linear": "similarity"},
        "optimizer": {"peak_lr": 3e-3, "weight_decay": 0.05},
        "run": {"epochs": 20, "members": 5},
    },
    "positions": {
        "model": {"motif": 15, "token_width": 24, "d_model": 128, "d_ff": 256, "dropout": 0.1,
                  "h": 2, "max_length": 512},
        "augment": {"noise": 0.05},
        "optimizer": {"peak_lr": 2e-3},
        "run": {"epochs": 6},
    },
    "number": NUMBERS,
}  # fmt: skip

CELLS: dict[str, Defaults] = {
    "free": {
        "model": {"motif": 1, "token_width": 64, "linear": "ranks", "head_dropout": 0.3,
                  "max_length": 2048},
        "augment": {"noise": 0.15},
        "optimizer": {"peak_lr": 2e-3, "balanced": True},
        "run": {"epochs": 12, "min_steps": 200, "batch_texts": 32, "metric": "macro_f1",
                "members": 3},
    },
}  # fmt: skip

DOMAINS: dict[Domain, DomainRules] = {
    "dna": DomainRules("DNA", as_dna, dna_vocabulary, DNA),
    "cells": DomainRules("Cell", as_cell, cell_vocabulary, CELLS),
    "protein": DomainRules("Protein", as_protein, protein_vocabulary, PROTEIN),
}


def read(
    path: str | Path, columns: Columns, domain: Domain, genes: Collection[str] = ()
) -> Iterator[Record]:
    """The records of a file in the letters of their domain, streamed; `genes` are a model's.

    Raises:
        UserError: what the reader of the form refuses.
    """
    refuse_what_is_no_file(path)
    kind = kind_of(path)
    if kind not in (SUFFIX, ENDING):
        yield from (checked(record, domain) for record in read_records(path, columns))
        return
    # The readers of cells have checked each value, of which there are thousands a cell.
    if domain != "cells":
        raise UserError(f"{path} holds cells, not sequences: use `clearhead bio cells`")
    if columns.sequence:
        raise UserError(f"{path}: cells are rows of a matrix; leave out --sequence-column")
    _, label, split = columns
    cells = read_mtx(path, genes) if kind == ENDING else read_cells(path, label, split)
    yield from distinct(expressed(cells, path), path)


def read_labelled(path: str | Path, columns: Columns, domain: Domain) -> list[Record]:
    """All records of a file; each must have a label.

    Raises:
        UserError: as `read`, or there is no label.
    """
    return labelled(read(path, columns, domain), path)


def length_of(record: Record, domain: Domain) -> int:
    """Letters, or genes of a cell."""
    return len(record.sequence.split()) if domain == "cells" else len(record.sequence)


def checked(record: Record, domain: Domain) -> Record:
    """A record whose sequence has a letter, and only letters of its domain.

    Raises:
        UserError: it has none, or another character.
    """
    if letters := DOMAINS[domain].letters(record.sequence, record.place):
        return record._replace(sequence=letters)
    raise UserError(f"{record.place}: the sequence is empty; remove the record")


def other_strand(record: Record, by_position: bool = False) -> Record:
    """The same record read from the other strand; labels and mask of positions turn with it."""
    turned = record._replace(sequence=reverse_complement(record.sequence))
    if not by_position:
        return turned
    label, mask = (text and text[::-1] for text in (record.label, record.mask))
    return turned._replace(label=label, mask=mask)
