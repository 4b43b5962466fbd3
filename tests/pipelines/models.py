"""Directories as users have them: a random model of `transformers` beside its tokenizer's files."""

from pathlib import Path
from typing import Any

import transformers

from tests.pretrained.reference import disturbed
from tests.text import test_pretrained as files

SIZES = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
         "intermediate_size": 40, "max_position_embeddings": 48}  # fmt: skip
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def bert(directory: Path, architecture: str, **more: Any) -> Any:
    """The model as they have it in memory; its files lie in the directory."""
    files.wordpiece(directory)
    words = len((directory / "vocab.txt").read_text(encoding="utf-8").splitlines())
    config = transformers.BertConfig(vocab_size=words, **SIZES | more)
    return _saved(getattr(transformers, architecture)(config), directory)


def esm(directory: Path, architecture: str, **more: Any) -> Any:
    """A protein model; see `bert`."""
    files.alphabet(directory)
    config = transformers.EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=1, position_embedding_type="rotary",
        token_dropout=True, emb_layer_norm_before=False, **SIZES | more,
    )  # fmt: skip
    return _saved(getattr(transformers, architecture)(config), directory)


def _saved(model: Any, directory: Path) -> Any:
    transformers.utils.logging.disable_progress_bar()
    # Sharper than at birth, so that the best label or word is one by more than rounding.
    disturbed(model).save_pretrained(directory)
    return model


def theirs(task: str, directory: Path, architecture: str, tokenizer: str = "BertTokenizer") -> Any:
    """The pipeline of `transformers` on the directory."""
    return transformers.pipeline(
        task,
        model=getattr(transformers, architecture).from_pretrained(directory),
        tokenizer=getattr(transformers, tokenizer).from_pretrained(directory),
        device="cpu",
    )


def labelled(names: list[str]) -> dict[str, Any]:
    """The settings that give labels their names."""
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: number for number, name in enumerate(names)},
    }
