"""A directory of sentence-transformers is read as they read it, or refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from clearhead.errors import UserError
from clearhead.pipelines.sentence_settings import SentenceSettings


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def directory(path: Path, pooling: dict[str, Any], *more: str) -> Path:
    kinds = ["Transformer", "Pooling", *more]
    modules = [
        {
            "idx": n,
            "type": f"sentence_transformers.models.{kind}",
            "path": f"{n}_{kind}" if n else "",
        }
        for n, kind in enumerate(kinds)
    ]
    write(path / "modules.json", modules)
    write(path / "1_Pooling" / "config.json", {"word_embedding_dimension": 12} | pooling)
    return path


def refused(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        SentenceSettings.of(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plain_directory_means_a_plain_mean(tmp_path: Path) -> None:
    assert SentenceSettings.of(tmp_path) == SentenceSettings("mean", False, None)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
     ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
     ({"pooling_mode": "mean", "include_prompt": True}, "mean"), ({"pooling_mode": "cls"}, "cls")],
)  # fmt: skip
def test_old_files_and_new_ones_say_how_to_pool(
    tmp_path: Path, pooling: dict[str, Any], expected: str
) -> None:
    found = SentenceSettings.of(directory(tmp_path, pooling))
    assert found == SentenceSettings(expected, False, None)  # type: ignore[arg-type]


def test_length_one_and_the_longest_text_are_theirs(tmp_path: Path) -> None:
    path = directory(tmp_path, {"pooling_mode": "mean"}, "Normalize")
    write(path / "sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False})
    assert SentenceSettings.of(path) == SentenceSettings("mean", True, 256)
    write(path / "sentence_bert_config.json", {"max_seq_length": None})
    assert SentenceSettings.of(path).limit is None


def test_what_we_do_not_have_is_named(tmp_path: Path) -> None:
    assert "asks for a module 'Dense'" in refused(
        directory(tmp_path, {"pooling_mode": "mean"}, "Dense")
    )
    assert "the pooling max, and ours are mean and cls" in refused(
        directory(tmp_path, {"pooling_mode": "max"})
    )
    both = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    assert "cls_token and mean_tokens" in refused(directory(tmp_path, both))
    (tmp_path / "modules.json").write_text("{", encoding="utf-8")
    assert "modules.json is not a JSON file" in refused(tmp_path)
    write(tmp_path / "modules.json", {"a": 1})
    assert "holds no list of modules" in refused(tmp_path)
