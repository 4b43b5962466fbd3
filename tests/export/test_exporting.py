import importlib
import os
import sys
from pathlib import Path
from shutil import copytree

import pytest

from clearhead.errors import UserError
from clearhead.export.exporting import TARGETS, export, new_directory
from clearhead.models.weight_files import SHIPPED


def fill(path: Path) -> None:
    with new_directory(path) as directory:
        (directory / "weights").write_text("w", encoding="utf-8")
        assert not (path / "weights").exists()


def test_it_is_written_completely_with_its_parents(tmp_path: Path) -> None:
    fill(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "weights").read_text(encoding="utf-8") == "w"
    assert os.listdir(tmp_path / "a") == ["b"]


def test_an_empty_directory_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    fill(tmp_path / "here")
    assert os.listdir(tmp_path / "here") == ["weights"]


def test_existing_files_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("m", encoding="utf-8")
    for path, message in ((tmp_path, "not empty"), (tmp_path / "mine", "is a file")):
        with pytest.raises(UserError, match=message):
            fill(path)
    assert os.listdir(tmp_path) == ["mine"]


def test_files_created_meanwhile_are_not_overwritten(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="not empty"),
        new_directory(tmp_path / "here"),
    ):
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "mine").touch()
    assert os.listdir(tmp_path / "here") == ["mine"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_directory(tmp_path / "here") as directory:
        (directory / "half").touch()
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_an_unwritable_location_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write") as caught:
        fill(tmp_path / "file" / "below")
    assert "\n" not in str(caught.value)


def test_a_card_in_another_encoding_is_kept_as_it_is(tmp_path: Path) -> None:
    source, card = copytree(SHIPPED, tmp_path / "model"), "Modèle d'été".encode("latin-1")
    (source / "README.md").write_bytes(card)
    export(source, TARGETS["huggingface"], tmp_path / "exported", "float32")
    assert (tmp_path / "exported" / "README.md").read_bytes().startswith(card + b"\n\n## Use with")


def test_a_directory_without_a_name_of_its_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="give the name of a new directory"):
        fill(Path("."))


def test_an_export_to_onnx_is_written_without_its_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "clearhead.export.onnx", raising=False)
    importlib.import_module("clearhead.export.onnx")
