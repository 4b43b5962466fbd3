import gzip
import logging
import sys
from itertools import pairwise
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
def test_every_format_has_the_same_pairs_plain_and_compressed(spec: str) -> None:
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


@pytest.mark.parametrize(
    ("spec", "contents", "location"),
    [
        ("m.tsv", {"m.tsv": "a\tb\n\n\tz\n\u00a0\tb\na\t \n\nc\td\n"}, "m.tsv, line 3"),
        (
            "m.en,m.fr",
            {"m.en": "a\n\n\u00a0\na\nc\n", "m.fr": "b\nz\nb\n \nd"},
            "m.en,m.fr, line 2",
        ),
        (
            "m.jsonl",
            {
                "m.jsonl": "\n".join(
                    f'{{"en": "{en}", "fr": "{fr}"}}'
                    for en, fr in (("a", "b"), ("", "z"), (" ", "b"), ("a", ""), ("c", "d"))
                )
            },
            "m.jsonl, line 2",
        ),
        ("p.tsv + m.tsv", {"p.tsv": "a\tb\n", "m.tsv": "\tz\nz\t\n \tq\nc\td"}, "m.tsv, line 1"),
    ],
)
def test_pairs_with_a_missing_side_are_left_out_and_the_first_is_named(
    spec: str, contents: dict[str, str], location: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name, content in contents.items():
        Path(name).write_text(content, encoding="utf-8")
    corpus = open_pairs(spec)
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "clearhead.data"):
            assert list(corpus) == [Pair("a", "b"), Pair("c", "d")]
        assert corpus.dropped == 3
        assert caplog.messages == [f"{location}: one side is empty; 3 such pairs left out"]


@pytest.mark.parametrize("content", ["", "\n", "\ufeff", " \n\u00a0\n"])
@pytest.mark.parametrize("name", ["m.tsv", "m.jsonl", "m.tsv.gz"])
def test_an_empty_corpus_file_is_named(name: str, content: str) -> None:
    raw = content.encode()
    Path(name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    for spec in (name, f"p.tsv + {name}"):
        with pytest.raises(UserError, match=rf"^{name} holds no pair of sentences; expected"):
            list(open_pairs(spec))


def test_two_empty_files_and_a_corpus_of_empty_sides_are_named() -> None:
    for name, content in (("m.en", ""), ("m.fr", ""), ("m.tsv", "\n\tz\na\t\n")):
        Path(name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"^m\.en,m\.fr holds no pair of sentences; expected"):
        list(open_pairs("m.en,m.fr"))
    with pytest.raises(UserError, match=r"with both sides \(m\.tsv, line 2: one is empty\);"):
        list(open_pairs("m.tsv"))
    with pytest.raises(UserError, match=r"^grammar:train:0:0 holds no pair"):
        list(open_pairs("grammar:train:0"))


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
        ("", "the name of the corpus is empty; expected a file"),
        ("data/tatoeba/fra.txt", "get it with `clearhead data get tatoeba`"),
        ("q.tsv", r"q\.tsv does not exist \(near names: .*p\.tsv"),
        ("p.en,p.frr", r"p\.frr does not exist \(near names: .*p\.fr"),
        ("none/p.tsv", "none/p.tsv does not exist, nor does the directory none"),
        ("p.en", r"p\.en: unknown file extension.* or two files as SOURCE,TARGET"),
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
def test_a_corpus_that_cannot_be_opened_is_refused_at_once(spec: str, message: str) -> None:
    Path("p.json").touch()
    with pytest.raises(UserError, match=message) as caught:
        open_pairs(spec)
    assert "\n" not in str(caught.value)


def test_opening_a_corpus_imports_no_torch() -> None:
    import subprocess

    program = "import sys, clearhead.data; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_grammar_corpus_has_its_count_and_seed_and_can_be_read_again() -> None:
    corpus = open_pairs("grammar:train:50:3")
    pairs = list(corpus)
    assert len(pairs) == 50
    assert all(source and target for source, target in pairs)
    assert list(corpus) == pairs
    assert list(open_pairs("grammar:train:20:3")) == pairs[:20]


def test_seeds_and_splits_are_different_streams() -> None:
    specs = ("grammar:train:30", "grammar:train:30:1", "grammar:dev:30")
    streams = [list(open_pairs(spec)) for spec in specs]
    assert all(a != b for a, b in pairwise(streams))


def test_the_wide_grammar_is_named_before_the_split() -> None:
    corpus = open_pairs("grammar:wide:train:30:3")
    pairs = list(corpus)
    assert len(pairs) == 30
    assert list(corpus) == pairs
    assert list(open_pairs("grammar:wide:train:30")) != pairs
    assert list(open_pairs("grammar:train:30:3")) != pairs
    assert len(list(open_pairs("grammar:wide:held_out_values:5"))) == 5


@pytest.mark.parametrize("spec", ["grammar:wide", "grammar:wide:train", "grammar:", "grammar:a:b"])
def test_an_incomplete_specification_is_refused_with_an_example(spec: str) -> None:
    with pytest.raises(UserError, match=f"^{spec}: expected grammar:SPLIT:COUNT"):
        open_pairs(spec)


def test_an_unknown_split_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"split 'trian' is unknown; choose one of train"):
        next(iter(open_pairs("grammar:trian:5")))
