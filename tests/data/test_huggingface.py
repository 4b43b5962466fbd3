import builtins
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clearhead.data.corpus import open_pairs
from clearhead.data.huggingface import HuggingFacePairs, parse_name
from clearhead.errors import UserError

needs_datasets = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the extra 'datasets' is not installed"
)
ROWS = [{"translation": {"en": f"dog {i}", "fr": f"chien {i}"}} for i in range(3)]
PAIRS = [(f"dog {i}", f"chien {i}") for i in range(3)]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    import datasets

    parts = {
        "train": datasets.Dataset.from_list(ROWS),
        "test": datasets.Dataset.from_list(ROWS[:1]),
    }
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "saved"))
    return tmp_path / "saved"


@needs_datasets
def test_a_saved_data_set_is_read_by_split_and_again(saved: Path) -> None:
    pairs = HuggingFacePairs(str(saved))
    assert list(pairs) == list(pairs) == PAIRS
    assert list(HuggingFacePairs(str(saved), split="test")) == PAIRS[:1]
    assert list(HuggingFacePairs(str(saved / "train"))) == PAIRS


@needs_datasets
def test_a_directory_of_data_files_is_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "files").mkdir()
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "files" / "train.jsonl").write_text(text, encoding="utf-8")
    assert list(HuggingFacePairs(str(tmp_path / "files"))) == PAIRS


@needs_datasets
def test_a_split_that_does_not_exist_is_named_with_those_that_do(saved: Path) -> None:
    with pytest.raises(UserError, match=r"split dev\).* its splits are train, test"):
        list(HuggingFacePairs(str(saved), split="dev"))


@needs_datasets
def test_a_split_of_any_name_is_read_from_a_saved_data_set(saved: Path) -> None:
    import datasets

    both = datasets.load_from_disk(str(saved))
    both["heldout"] = both.pop("test")
    both.save_to_disk(str(saved.parent / "other"))
    other = f"hf:{saved.parent / 'other'}"
    assert list(open_pairs(f"{other}:heldout")) == PAIRS[:1]
    for spec in (f"{other}:held", f"{other}:held:train"):
        with pytest.raises(UserError, match=r"split held\): .*its splits are train, heldout"):
            list(open_pairs(spec))
    with pytest.raises(UserError, match="a single split; leave the split out"):
        list(open_pairs(f"{other}/heldout:held"))


@needs_datasets
def test_rows_without_the_languages_are_named(saved: Path) -> None:
    with pytest.raises(UserError, match=r"\(train\), row 1: the keys translation, expected"):
        list(HuggingFacePairs(str(saved), target_lang="de"))


@needs_datasets
def test_a_name_that_cannot_be_reached_is_one_line() -> None:
    with pytest.raises(UserError, match=r"cannot load nobody/nothing .* check the name") as caught:
        list(HuggingFacePairs("nobody/nothing"))
    assert "\n" not in str(caught.value)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_datasets(name: str, *rest: Any) -> Any:
        if name == "datasets":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.delitem(sys.modules, "datasets", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_datasets)
    with pytest.raises(UserError, match=r"pip install 'clearhead\[datasets\]'"):
        list(HuggingFacePairs("wmt14"))


@pytest.mark.parametrize(
    ("spec", "meaning"),
    [
        ("opus_books", ("opus_books", None, "train")),
        ("opus_books:en-fr", ("opus_books", "en-fr", "train")),
        ("opus_books:test", ("opus_books", None, "test")),
        ("wmt14:fr-en:validation", ("wmt14", "fr-en", "validation")),
        ("wmt14:fr-en:train[:10%]", ("wmt14", "fr-en", "train[:10%]")),
    ],
)
def test_a_name_carries_configuration_and_split(
    spec: str, meaning: tuple[str, str | None, str]
) -> None:
    assert parse_name(spec) == meaning


def test_the_drive_of_a_directory_is_no_name() -> None:
    assert parse_name(r"C:\sets\mine:dev") == (r"C:\sets\mine", None, "dev")
    assert parse_name("C:/sets/mine") == ("C:/sets/mine", None, "train")
