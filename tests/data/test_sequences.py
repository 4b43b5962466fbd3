"""Readers: every form gives the same records, and every fault one line."""

import gzip
import json
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
        ("x.csv", "id,label\na,1\n", "which of id, label is the column of sequences"),
        ("x.csv", "sequence,label\n,1\n", "line 2: 'sequence' is empty"),
        ("x.csv", "ACGT,1\nACGA,0\n", "which of ACGT, 1 is the column of sequences"),
        ("x.doc", "", "unknown file extension; expected .fasta"),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=says) as caught:
        list(read_records(path))
    assert "\n" not in str(caught.value)


def test_a_directory_and_a_missing_file_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it is a directory; give a file in it"):
        list(read_records(tmp_path))
    for name in ("x.csv", "x"):
        with pytest.raises(UserError, match=f"cannot read .*{name}: no such file"):
            list(read_records(tmp_path / name))


@pytest.mark.parametrize("text", [FASTQ.replace("first", "première"), "\ufeff" + FASTQ])
def test_names_of_reads_may_be_any_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.fastq"
    path.write_text(text, encoding="utf-8")
    assert [record.name for record in read_records(path)] == ["one", "two"]


def test_a_fastq_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.fastq").write_bytes(b"@one\nAC\n+\nII\n@\xff\nAC\n+\nII\n")
    with pytest.raises(UserError, match="not a text in UTF-8; expected four lines a read"):
        list(read_records(tmp_path / "x.fastq"))
    (tmp_path / "x.fq.gz").write_bytes(gzip.compress(FASTQ.encode())[:-9])
    with pytest.raises(UserError, match="is not a complete gzip file") as caught:
        list(read_records(tmp_path / "x.fq.gz"))
    assert "four lines" not in str(caught.value)


def test_usual_columns_are_found_in_upper_and_lower_case(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("ID,Sequence,LABEL\na,ACGT,1\n", encoding="utf-8")
    assert next(read_records(path))[1:4] == ("a", "ACGT", "1")


@pytest.mark.parametrize("blank", ["", " ", "nan", "NaN"])
def test_a_record_without_a_label_is_read_and_only_training_refuses_it(
    tmp_path: Path, blank: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"sequence,label\nACGT,a\nACGA,{blank}\n", encoding="utf-8")
    assert [record.label for record in read_records(path)] == ["a", None]
    with pytest.raises(UserError, match="line 3: no label; fill it in or remove the record"):
        labelled(read_records(path), path)


@pytest.mark.parametrize("column", ["split", "fold", "set", "mask"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl"])
def test_an_empty_cell_of_a_column_that_only_training_reads_blocks_training_alone(
    tmp_path: Path, column: str, name: str
) -> None:
    path, comma = tmp_path / name, "," if name == "x.csv" else "\t"
    rows = [["sequence", "label", column], ["ACGT", "a", "0110"], ["ACGA", "b", ""]]
    lines = [comma.join(row) for row in rows]
    if name == "x.jsonl":
        lines = ["", *(json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:])]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [record.sequence for record in read_records(path)] == ["ACGT", "ACGA"]
    what = "mask" if column == "mask" else "split"
    with pytest.raises(UserError, match=f"line 3: no {what}; fill it in or remove the record"):
        labelled(read_records(path), path)


def test_names_and_labels_stay_in_their_cell_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('name,sequence,label\n"a\tb\nc",ACGT,"yes\tno"\n', encoding="utf-8")
    record = next(read_records(path))
    assert (record.name, record.label) == ("a b c", "yes no")


def test_numbers_of_json_are_labels(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = '{"sequence": "ACGT", "label": %s}\n'
    path.write_text("".join(rows % value for value in ("0.25", "3", "null")), encoding="utf-8")
    assert [record.label for record in read_records(path)] == ["0.25", "3", None]


def test_training_needs_labels(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,sequence,other\na,ACGT,1\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"line 2: no label; the columns are id, sequence, other: .*--label-column"
    ):
        labelled(read_records(path), path)
    assert labelled(read_records(path, Columns(label="other")), path)[0].label == "1"


def test_a_protein_among_dna_is_recognized(tmp_path: Path) -> None:
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
    (tmp_path / "DNA.rda").touch()
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
    (tmp_path / "DNA.rda").touch()
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(UserError, match=r"needs rdata: pip install 'clearhead\[bio\]'"):
        list(read_records(tmp_path / "DNA.rda"))


def test_a_column_that_is_learned_divides_no_data(tmp_path: Path) -> None:
    """A protein's fold as the label; names of records are no label either."""
    (tmp_path / "x.csv").write_text("sequence,fold\nMKT,barrel\n", encoding="utf-8")
    named, bare = Columns(label="fold"), Columns(label="fold", split="fold")
    (found,) = read_records(tmp_path / "x.csv", named)
    assert (found.label, found.split) == ("barrel", None)
    assert [r.split for r in read_records(tmp_path / "x.csv", bare)] == ["barrel"]
    (tmp_path / "y.csv").write_text("id,sequence\n1234,MKT\n", encoding="utf-8")
    assert [r.label for r in read_records(tmp_path / "y.csv")] == [None]
