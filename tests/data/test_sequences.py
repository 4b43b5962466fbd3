"""Readers: every form gives the same records, and every fault one line."""

import gzip
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from clearhead.biology.domains import checked
from clearhead.data.sequences import Columns, labelled, read_records
from clearhead.errors import UserError

FASTA = ">one first\nACGT\nAC\n>two\nGGNRT\n"
FASTQ = "@one first\nACGTAC\n+\nIIIIII\n@two\nGGNRT\n+\nIIIII\n"
TABLE = "id,sequence,label\none,ACGTAC,a\ntwo,GGNRT,b\n"


@pytest.mark.parametrize(
    ("name", "text"), [("x.fasta", FASTA), ("x.fq", FASTQ), ("x.csv", TABLE), ("x.fna.gz", FASTA)]
)
def test_every_form_gives_the_same_records(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    found = [(record.name, record.sequence) for record in read_records(path)]
    assert found == [("one", "ACGTAC"), ("two", "GGNRT")]


def test_a_file_is_streamed(tmp_path: Path) -> None:
    path = tmp_path / "x.fasta"
    path.write_text(">one\nACGT\n>two\n", encoding="utf-8")  # broken behind the first record
    assert next(read_records(path)).name == "one"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.fasta", ">one\nAC\n>one\nGG\n", "'one' occurs twice"),
        ("x.fasta", ">one\n>two\nGG\n", "'one' has no sequence"),
        ("x.fastq", "@one\nAC\n+\nI\n", "four lines a read"),
        ("x.fastq", "", "holds no record"),
        ("x.csv", "id,label\na,1\n", "no column of sequences among id, label"),
        ("x.csv", "sequence,label\n,1\n", "line 2: 'sequence' is empty"),
        ("x.doc", "", "does not tell the form"),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=says) as caught:
        list(read_records(path))
    assert "\n" not in str(caught.value)


def test_training_needs_labels(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,sequence,other\na,ACGT,1\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"line 2: no label; the columns are id, sequence, other: .*--label-column"
    ):
        labelled(read_records(path), path)
    assert labelled(read_records(path, Columns(label="other")), path)[0].label == "1"


def test_a_protein_among_dna_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("sequence,label\nACGT,1\nACMKLV,0\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"line 3: letter 5 of the sequence is 'L'.*looks like a protein"
    ):
        [checked(record, "dna") for record in read_records(path)]


def test_a_record_of_fasta_is_named_by_the_line_of_its_header(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">one\nACGT\nACGT\n>two\nACGTAC\nGTXA\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 4: letter 9 of the sequence is 'X'"):
        [checked(record, "dna") for record in read_records(path)]


def test_an_unknown_letter_is_named_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("sequence,label\nACGT-A,1\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 2: letter 5 of the sequence is '-'"):
        [checked(record, "dna") for record in read_records(path)]


@pytest.mark.parametrize("form", ["letters", "three columns"])
def test_data_frames_of_r_packages_are_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    pandas = pytest.importorskip("pandas")
    coded = {"A": "100", "C": "010", "G": "001", "T": "000"}
    sequences = ["ACGTA", "TTGCA", "GATTA"]
    rows = [list(s.lower() if form == "letters" else "".join(map(coded.get, s))) for s in sequences]
    frame = pandas.DataFrame(rows).assign(Class=["+", "-", "+"])
    found: dict[str, Any] = {"data": frame}
    reader = types.SimpleNamespace(read_rda=lambda path, default_encoding: found)
    monkeypatch.setitem(sys.modules, "rdata", reader)
    records = list(read_records(tmp_path / "DNA.rda"))
    assert [r.sequence for r in records] == sequences
    assert [r.label for r in records] == ["+", "-", "+"]
    found["data"] = frame.drop(columns="Class")
    with pytest.raises(UserError, match="expected one data frame with a column Class"):
        list(read_records(tmp_path / "DNA.rda"))


def test_r_data_without_its_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(UserError, match=r"needs rdata: pip install 'clearhead\[bio\]'"):
        list(read_records(tmp_path / "DNA.rda"))
