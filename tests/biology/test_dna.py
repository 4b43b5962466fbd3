"""The alphabet, both strands, and the vocabularies of DNA."""

from pathlib import Path
from random import Random

import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from clearhead.biology.dna import as_dna, kmer_vocabulary, kmers, reverse_complement
from clearhead.biology.domains import other_strand
from clearhead.biology.examples import both_strands
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.sequences import Record
from clearhead.errors import UserError

dna = st.text("ACGTN", min_size=6, max_size=40)


@given(dna)
def test_the_other_strand_of_the_other_strand_is_the_first(sequence: str) -> None:
    assert reverse_complement(reverse_complement(sequence)) == sequence


@given(dna, st.randoms())
def test_a_position_keeps_its_label_and_its_mask_on_the_other_strand(
    sequence: str, random: Random
) -> None:
    label, mask = ("".join(random.choices(kind, k=len(sequence))) for kind in ("HEC", "01"))
    record = Record("here", "x", sequence, label, None, mask)
    turned = other_strand(record, by_position=True)
    positions = zip(reversed(reverse_complement(sequence)), label, mask, strict=True)
    found = zip(turned.sequence, turned.label or "", turned.mask or "", strict=True)
    assert list(found) == list(positions)[::-1]
    assert other_strand(turned, by_position=True) == record


@pytest.mark.parametrize("label", ["1.56", "aaat", None])
def test_a_label_of_the_whole_sequence_stays_on_the_other_strand(label: str | None) -> None:
    """Also one that has as many characters as the sequence has bases."""
    records = both_strands([Record("here", "x", "ATAG", label)])
    assert [(record.sequence, record.label) for record in records] == [
        ("ATAG", label),
        ("CTAT", label),
    ]


def test_biopython_turns_a_strand_alike() -> None:
    from Bio.Seq import Seq

    assert reverse_complement("GATTACAN") == str(Seq("GATTACAN").reverse_complement())


def test_ambiguous_codes_are_n_and_uracil_is_thymine() -> None:
    assert as_dna("acguRYswkmbdhvN", "x") == "ACGTNNNNNNNNNNN"


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_the_kmer_vocabulary_is_dnaberts(k: int) -> None:
    """Its vocab.txt counts in base 4 with the digits A, T, C, G behind five special tokens."""
    tokens = kmer_vocabulary(k)
    assert len(tokens) == 4**k + 5 == len(set(tokens))
    assert tokens[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokens[5:7] == ["A" * k, "A" * (k - 1) + "T"] and tokens[-1] == "G" * k
    for number, token in enumerate(tokens[5:]):
        assert number == sum("ATCG".index(b) * 4**i for i, b in enumerate(reversed(token)))


@given(dna, st.integers(3, 6))
def test_overlapping_kmers_give_the_sequence_back(sequence: str, k: int) -> None:
    found = kmers(sequence, k)
    assert found[0] + "".join(kmer[-1] for kmer in found[1:]) == sequence


@given(dna, st.integers(3, 6))
def test_non_overlapping_kmers_cut_the_sequence(sequence: str, k: int) -> None:
    assert "".join(kmers(sequence, k, k)) == sequence[: len(sequence) // k * k]


def test_ids_are_those_of_the_tokenizer_of_dnabert(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of_kmers(3)
    vocabulary.save(tmp_path)
    theirs = transformers.BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=False)
    sequence = "ATTGCNNACGGT"
    assert vocabulary.encode(sequence) == theirs(" ".join(kmers(sequence, 3)))["input_ids"]


def test_a_kmer_with_an_unknown_base_is_the_unknown_token() -> None:
    vocabulary = Vocabulary.of_kmers(3)
    assert [vocabulary.tokens[i] for i in vocabulary.encode("AANAAA")[1:-1]] == [
        "[UNK]", "[UNK]", "[UNK]", "AAA",
    ]  # fmt: skip


def test_learned_pieces_give_the_sequence_back() -> None:
    vocabulary = Vocabulary.learned(["GATTACA" * 5, "TTGATTACACC"], 24)
    pieces = vocabulary.pieces("CGATTACAN")
    assert "".join(pieces) == "CGATTACAN" and max(map(len, pieces)) > 2


@pytest.mark.parametrize("make", [Vocabulary.of_bases, lambda: Vocabulary.of_kmers(4, 4),
                                  lambda: Vocabulary.learned(["GATTACA" * 5], 20),
                                  Vocabulary.of_residues])  # fmt: skip
def test_a_saved_vocabulary_encodes_alike(tmp_path: Path, make: object) -> None:
    vocabulary: Vocabulary = make()  # type: ignore[operator]
    vocabulary.save(tmp_path)
    loaded = Vocabulary.load(tmp_path)
    assert loaded.encode("GATTACAGATTACA") == vocabulary.encode("GATTACAGATTACA")
    assert loaded.specials == vocabulary.specials and loaded.cut == vocabulary.cut


def test_a_sequence_shorter_than_k_is_refused() -> None:
    with pytest.raises(UserError, match="2 bases, fewer than k=3"):
        Vocabulary.of_kmers(3).encode("AC")
