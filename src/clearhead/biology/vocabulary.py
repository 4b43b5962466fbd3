"""From a sequence to token ids: bases, k-mers, learned pieces, residues or genes.

One class serves all of them: a list of tokens, the roles of its special tokens, and a rule that
cuts a sequence into tokens. Saved as vocabulary.json; k-mers also as DNABERT's vocab.txt.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from clearhead.biology.cells import ranked
from clearhead.biology.dna import BASES, SPECIALS, UNKNOWN, kmer_vocabulary, kmers
from clearhead.errors import UserError
from clearhead.files import atomic_write, verify_checksum

FILE = "vocabulary.json"
Kind = Literal["characters", "kmers", "bpe", "genes"]
BERT_ROLES = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIALS, strict=True))
ESM_ROLES = {"pad": "<pad>", "unk": "<unk>", "cls": "<cls>", "sep": "<eos>", "mask": "<mask>"}
GENE_ROLES = {"pad": "<pad>", "mask": "<mask>", "cls": "<cls>", "sep": "<eos>"}
# ESM-2's alphabet (Lin et al. 2022), in the order of its embedding matrix.
ESM_TOKENS = (
    *("<cls>", "<pad>", "<eos>", "<unk>"),
    *"LAGVSERTIDPKQNFYMHWCXBUZO.-",
    *("<null_1>", "<mask>"),
)


class Cut(NamedTuple):
    """How a sequence becomes tokens; `k` and `step` are of k-mers, `medians` of genes."""

    kind: Kind
    k: int = 1
    step: int = 1
    merges: tuple[tuple[str, str], ...] = ()  # of BPE
    medians: dict[str, float] | None = None


class Vocabulary:
    """Tokens and their ids.

    `specials` holds the id of each special token by its role: pad, unk, cls, sep, mask. A
    sequence is encoded between cls and sep where the vocabulary has them.
    """

    def __init__(self, tokens: Sequence[str], roles: dict[str, str], cut: Cut) -> None:
        self.tokens, self.roles, self.cut = list(tokens), dict(roles), cut
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        self.specials = {role: self.ids[token] for role, token in roles.items()}
        self._bpe = _bpe_engine(self.ids, cut.merges) if cut.kind == "bpe" else None

    @classmethod
    def of_bases(cls) -> Self:
        """A token for each base, and N."""
        return cls([*SPECIALS, *BASES, UNKNOWN], BERT_ROLES, Cut("characters"))

    @classmethod
    def of_kmers(cls, k: int, step: int = 1) -> Self:
        """DNABERT's; a k-mer with an N in it is the unknown token."""
        return cls(kmer_vocabulary(k), BERT_ROLES, Cut("kmers", k, step))

    @classmethod
    def of_residues(cls) -> Self:
        """ESM-2's alphabet; a letter outside it is the unknown token."""
        return cls(ESM_TOKENS, ESM_ROLES, Cut("characters"))

    @classmethod
    def learned(cls, sequences: Iterable[str], size: int) -> Self:
        """Byte-pair encoding learned from these sequences (DNABERT-2's choice)."""
        tokens, merges = _learn_bpe(sequences, size)
        return cls(tokens, BERT_ROLES, Cut("bpe", merges=merges))

    @classmethod
    def of_genes(cls, medians: dict[str, float], version: int = 2) -> Self:
        """Geneformer's: genes with their medians; version 1 has no tokens around a cell."""
        roles = GENE_ROLES if version == 2 else {r: GENE_ROLES[r] for r in ("pad", "mask")}
        return cls([*roles.values(), *medians], roles, Cut("genes", medians=dict(medians)))

    @property
    def overlap(self) -> int:
        """How many tokens a letter belongs to: k for overlapping k-mers, else 1."""
        return self.cut.k if self.cut.step < self.cut.k else 1

    def pieces(self, sequence: str) -> list[str]:
        """The tokens of a sequence, as they are written."""
        if self.cut.kind == "kmers":
            return kmers(sequence, self.cut.k, self.cut.step)
        if self.cut.kind == "genes":
            return self._genes(sequence)
        return self._bpe.encode(sequence).tokens if self._bpe else list(sequence)

    def _genes(self, cell: str) -> list[str]:
        medians = self.cut.medians or {}
        found = ranked(cell, medians)
        if found:
            return found
        theirs, ours = cell.split()[0].rpartition(":")[0], next(iter(medians), "")
        hint = "give the genes the names that the model has"
        if theirs.split(".")[0] in medians:
            hint = "remove the version numbers after the dot"
        elif ours.startswith("ENSG") and not theirs.startswith("ENSG"):
            hint = "put Ensembl ids into var['ensembl_id']"
        raise UserError(
            f"no gene is known to the model: the data has {theirs}, it has {ours}; {hint}"
        )

    def encode(self, sequence: str) -> list[int]:
        """Ids of a sequence, special tokens included.

        Raises:
            UserError: a letter is unknown and the vocabulary has no token for unknown ones.
        """
        unknown = self.specials.get("unk")
        pieces = self.pieces(sequence)
        ids = [self.ids.get(piece, unknown) for piece in pieces]
        if None in ids:
            raise UserError(f"{pieces[ids.index(None)]!r} is not in the vocabulary; correct it")
        found = [number for number in ids if number is not None]
        return [*self._edge("cls"), *found, *self._edge("sep")]

    def _edge(self, role: str) -> list[int]:
        return [self.specials[role]] if role in self.specials else []

    def fitted(self, ids: list[int], longest: int) -> list[int]:
        """At most `longest` ids: the end is cut, before the last special token if there is one."""
        if len(ids) <= longest:
            return ids
        last = self._edge("sep")
        return [*ids[: longest - len(last)], *last]

    def masked(self, ids: list[int], position: int) -> list[int]:
        """The ids with the mask at one position."""
        return [*ids[:position], self.specials["mask"], *ids[position + 1 :]]

    @property
    def edges(self) -> tuple[int, int]:
        """How many special tokens come before and after a sequence."""
        return len(self._edge("cls")), len(self._edge("sep"))

    def save(self, directory: Path) -> None:
        """Write vocabulary.json."""
        values = {"tokens": self.tokens, "roles": self.roles, "cut": self.cut._asdict()}
        atomic_write(directory / FILE, json.dumps(values, ensure_ascii=False) + "\n")
        if self.cut.kind == "kmers":
            atomic_write(directory / "vocab.txt", "\n".join(self.tokens))

    @classmethod
    def load(cls, directory: Path, pretrained: bool = False) -> Self:
        """Read vocabulary.json, or without one the vocab.txt of a pretrained DNABERT or ESM-2.

        Raises:
            UserError: it is missing or damaged.
        """
        path = directory / FILE
        verify_checksum(path)
        try:
            if pretrained and not path.exists():
                return cls._of_pretrained(directory / "vocab.txt")
            values = json.loads(path.read_text(encoding="utf-8"))
            cut = values["cut"] | {"merges": tuple(map(tuple, values["cut"]["merges"]))}
            return cls(values["tokens"], values["roles"], Cut(**cut))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"cannot read the vocabulary in {directory} ({error}); copy the model again"
            ) from error

    @classmethod
    def _of_pretrained(cls, path: Path) -> Self:
        tokens = path.read_text(encoding="utf-8").split()
        if tokens[: len(SPECIALS)] == list(SPECIALS):
            return cls(tokens, BERT_ROLES, Cut("kmers", len(tokens[-1])))
        return cls(tokens, ESM_ROLES, Cut("characters"))


def _learn_bpe(sequences: Iterable[str], size: int) -> tuple[list[str], Any]:
    from tokenizers import Tokenizer, models, trainers

    engine = Tokenizer(models.BPE(unk_token="[UNK]"))
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(SPECIALS), initial_alphabet=[*BASES, UNKNOWN],
        show_progress=False,
    )  # fmt: skip
    engine.train_from_iterator(sequences, trainer)
    model = json.loads(engine.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    merges = tuple(tuple(m.split(" ") if isinstance(m, str) else m) for m in model["merges"])
    return tokens, merges


def _bpe_engine(ids: dict[str, int], merges: Sequence[tuple[str, str]]) -> Any:
    from tokenizers import Tokenizer, models

    return Tokenizer(models.BPE(ids, list(merges), unk_token="[UNK]"))
