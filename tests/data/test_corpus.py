import gzip
import sys
from pathlib import Path

import pytest

from clearhead.data import Pair, open_pairs
from clearhead.errors import UserError

PAIRS = [Pair("Go on!", "Continue\u202f!"), Pair("Is it?", "Vraiment\u00a0?")]
SEG = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
UNITS = [
    SEG.format("en-GB", "Go on!") + SEG.format("FR", "Continue\u202f!"),
    SEG.format("fr", "Vraiment\u00a0?") + SEG.format("en", "Is it?"),
]
TMX = f'<tmx version="1.4"><body>{"".join(f"<tu>{unit}</tu>" for unit in UNITS)}</body></tmx>'
CONTENTS = {
    "p.tsv": "".join(f"{a}\t{b}\n" for a, b in PAIRS),
    "p.txt": "".join(f"{a}\t{b}\tCC-BY 2.0 (France) #1\r\n" for a, b in PAIRS),
    "p.tmx": TMX,
    "p.jsonl": '{"source": "Go on!", "target": "Continue\u202f!"}\n\n'
    '{"translation": {"fr": "Vraiment\u00a0?", "en": "Is it?"}, "id": 7}',
    "p.en": "".join(f"{a}\n" for a, _ in PAIRS),
    "p.fr": "".join(f"{b}\n" for _, b in PAIRS),
}
FORMS = ["p.tsv", "p.txt", "p.tmx", "p.jsonl", "p.en,p.fr"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in CONTENTS.items():
        Path(name).write_bytes(content.encode())
        Path(name + ".gz").write_bytes(gzip.compress(content.encode()))


@pytest.mark.parametrize("spec", FORMS)
def test_every_form_holds_the_same_pairs_plain_and_compressed(spec: str) -> None:
    assert list(open_pairs(spec)) == PAIRS
    assert list(open_pairs(",".join(f"{part}.gz" for part in spec.split(",")))) == PAIRS


@pytest.mark.parametrize("spec", FORMS)
def test_a_corpus_can_be_read_again_and_left_early(spec: str) -> None:
    corpus = open_pairs(spec)
    assert next(iter(corpus)) == PAIRS[0]
    assert list(corpus) == list(corpus) == PAIRS


def test_a_path_object_is_a_spec_and_a_comma_may_be_in_a_name() -> None:
    Path("a,b.tsv").write_text("x\ty\n", encoding="utf-8")
    assert list(open_pairs(Path("a,b.tsv"))) == [Pair("x", "y")]


def test_pairs_with_an_empty_side_are_dropped_and_counted() -> None:
    Path("p.tsv").write_text("a\tb\n\tz\n\u00a0\tb\na\t \n\nc\td\n", encoding="utf-8")
    corpus = open_pairs("p.tsv")
    for _ in range(2):
        assert list(corpus) == [Pair("a", "b"), Pair("c", "d")]
        assert corpus.dropped == 3


def test_joined_corpora_are_read_one_after_the_other() -> None:
    Path("q.tsv").write_text("a\tb\n\tz\n", encoding="utf-8")
    corpus = open_pairs("p.tsv + p.en,p.fr.gz + grammar:train:3 + q.tsv")
    assert list(corpus) == list(corpus)
    grammar = list(open_pairs("grammar:train:3"))
    assert list(corpus) == [*PAIRS, *PAIRS, *grammar, Pair("a", "b")]
    assert corpus.dropped == 1


def test_a_plus_may_be_in_a_name() -> None:
    for name in ("a + b.tsv", "c+d.tsv"):
        Path(name).write_text("x\ty\n", encoding="utf-8")
        assert list(open_pairs(name)) == [Pair("x", "y")]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("p.tsv + q.tsv", r"q\.tsv does not exist \(near names: .*p\.tsv"),
        ("p.tsv + ", "expected a corpus on both sides of"),
        ("q.tsv", r"q\.tsv does not exist \(near names: .*p\.tsv"),
        ("p.en,p.frr", r"p\.frr does not exist \(near names: .*p\.fr"),
        ("none/p.tsv", "none/p.tsv does not exist, nor does the directory none"),
        ("p.en", r"p\.en: cannot tell the form .* or two files as SOURCE,TARGET"),
        ("p.json", r"did you mean \.jsonl\?"),
        (".", "is a directory, expected a file"),
        ("p.en,p.fr,p.de", "expected two files as SOURCE,TARGET, found 3 names"),
        ("p.en,", "expected two files"),
        ("hf:", "expected hf:NAME"),
        ("hf:a::b", "expected hf:NAME"),
        ("grammar:train", "expected grammar:SPLIT:COUNT"),
        ("grammar:train:many", "for example grammar:train:20000"),
        ("grammar:train:1:2:3", "expected grammar:SPLIT:COUNT"),
    ],
)
def test_what_cannot_be_opened_is_said_at_once(spec: str, message: str) -> None:
    Path("p.json").touch()
    with pytest.raises(UserError, match=message) as caught:
        open_pairs(spec)
    assert "\n" not in str(caught.value)


def test_opening_a_corpus_imports_no_torch() -> None:
    import subprocess

    program = "import sys, clearhead.data; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
