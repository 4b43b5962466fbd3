import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.errors import UserError
from clearhead.files import CHECKSUMS

Ids = list[int]
IDS = st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=8)


def as_pairs(ids: list[tuple[Ids, Ids]]) -> Iterator[Pair]:
    return (Pair(*(" ".join(map(str, side)) for side in pair)) for pair in ids)


def numbers(texts: list[str]) -> list[Ids]:
    return [[int(word) for word in text.split()] for text in texts]


def build(ids: list[tuple[Ids, Ids]], directory: Path, max_length: int = 100) -> EncodedCorpus:
    return EncodedCorpus.build(as_pairs(ids), numbers, directory, max_length)


def everything(corpus: EncodedCorpus) -> list[tuple[Ids, Ids]]:
    found = corpus.get(np.arange(len(corpus)))
    return [(source.tolist(), target.tolist()) for source, target in found]


@given(ids=st.lists(st.tuples(IDS, IDS), min_size=1, max_size=30))
def test_what_is_read_is_what_was_written(
    ids: list[tuple[Ids, Ids]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    corpus = build(ids, tmp_path_factory.mktemp("corpus"))
    assert everything(corpus) == ids
    assert everything(EncodedCorpus.open(corpus.directory)) == ids
    assert corpus.token_count == sum(len(side) for pair in ids for side in pair)


@pytest.mark.parametrize("where", [0, 2_500, 6_999])
def test_ids_beyond_two_bytes_lose_nothing_wherever_the_first_one_stands(
    where: int, tmp_path: Path
) -> None:
    ids = [([i % 60_000, 2], [3, i % 777]) for i in range(7_000)]
    ids[where] = ([2**16], [2**32 - 1])
    assert everything(build(ids, tmp_path)) == ids


def test_any_order_and_repetition_can_be_asked_for(tmp_path: Path) -> None:
    ids = [([i], [i, i]) for i in range(5_000)]
    corpus = build(ids, tmp_path)
    wanted = np.random.default_rng(0).integers(0, len(ids), size=4_000)
    found = [(source.tolist(), target.tolist()) for source, target in corpus.get(wanted)]
    assert found == [ids[i] for i in wanted]
    assert corpus.get(np.array([], dtype=np.int64)) == []


def test_distant_pairs_are_fetched_one_by_one(tmp_path: Path) -> None:
    ids = [([i] * 90, [i] * 90) for i in range(300)]
    corpus = build(ids, tmp_path)
    rows = corpus.read(np.array([250, 0, 251]))
    assert len(rows.tokens) == 3 * 180
    assert rows.tokens[rows.starts].tolist() == [250, 0, 251]


def test_lengths_can_be_read_for_a_part(tmp_path: Path) -> None:
    corpus = build([([1], [1, 2]), ([1, 2, 3], [1]), ([1, 2], [1, 2])], tmp_path)
    sources, targets = corpus.lengths(1, 99)
    assert (sources.tolist(), targets.tolist()) == ([3, 2], [1, 2])
    assert corpus.lengths(2, 1)[0].tolist() == []


def test_pairs_that_are_too_long_or_empty_are_skipped_and_counted(tmp_path: Path) -> None:
    ids: list[tuple[Ids, Ids]] = [([1] * 5, [1]), ([1], [1] * 5), ([], [1]), ([2] * 4, [3] * 4)]
    corpus = build(ids, tmp_path, max_length=4)
    assert (everything(corpus), corpus.skipped) == ([([2] * 4, [3] * 4)], 3)


def test_a_corpus_without_pairs_is_refused_and_not_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no pair is left to train on \(2 were too long or empty"):
        build([([], [1]), ([1] * 5, [1])], tmp_path, max_length=4)
    assert not (tmp_path / "meta.json").exists()


@pytest.mark.parametrize("number", [-1, 1])
def test_a_pair_that_does_not_exist_is_refused(number: int, tmp_path: Path) -> None:
    with pytest.raises(IndexError):
        build([([1], [1])], tmp_path).get(np.array([number]))


def test_the_digest_tells_corpora_apart(tmp_path: Path) -> None:
    first = build([([1], [2, 3])], tmp_path / "a")
    again = build([([1], [2, 3])], tmp_path / "b")
    other = build([([1, 2], [3])], tmp_path / "c")
    assert first.digest == again.digest != other.digest


def test_an_interrupted_build_leaves_no_corpus(tmp_path: Path) -> None:
    build([([1], [1])], tmp_path)

    def broken() -> Iterator[Pair]:
        yield Pair("1", "1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EncodedCorpus.build(broken(), numbers, tmp_path, 10)
    with pytest.raises(UserError, match="no complete encoded corpus"):
        EncodedCorpus.open(tmp_path)


@pytest.mark.parametrize("name", ["tokens.bin", "index.bin"])
def test_a_shortened_file_is_refused_by_name(name: str, tmp_path: Path) -> None:
    build([([1], [1])], tmp_path)
    (tmp_path / name).write_bytes(b"\0")
    with pytest.raises(UserError, match=f"{name} is damaged: its checksum differs"):
        EncodedCorpus.open(tmp_path)
    (tmp_path / CHECKSUMS).unlink()
    message = f"{name} has 1 bytes, expected .*restore it from a copy, or start a new run"
    with pytest.raises(UserError, match=message):
        EncodedCorpus.open(tmp_path)


@pytest.mark.parametrize("meta", ["", "[]", "{}", '{"pairs": 1}'])
def test_a_foreign_meta_file_is_refused(meta: str, tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text(meta, encoding="utf-8")
    with pytest.raises(UserError, match="no complete encoded corpus"):
        EncodedCorpus.open(tmp_path)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match=r"cannot write the encoded corpus to .*file"):
        build([([1], [1])], tmp_path / "file" / "corpus")


def test_a_pickled_corpus_is_read_by_the_process_that_gets_it(tmp_path: Path) -> None:
    """DataLoader starts its workers so on macOS and Windows."""
    ids = [([5, 6, 7], [8, 9]), ([10], [11, 12, 13])]
    corpus = build(ids, tmp_path / "corpus")
    assert everything(pickle.loads(pickle.dumps(corpus))) == everything(corpus)


def test_rows_of_texts_have_no_targets_and_a_long_text_has_several(tmp_path: Path) -> None:
    def halves(texts: list[str]) -> list[list[int]]:
        return [[int(i) for i in part] for text in texts for part in text.split("|")]

    corpus = EncodedCorpus.build_rows(["12|3", "456"], halves, tmp_path)
    assert everything(corpus) == [([1, 2], []), ([3], []), ([4, 5, 6], [])]
    assert (corpus.token_count, corpus.skipped) == (6, 0)
