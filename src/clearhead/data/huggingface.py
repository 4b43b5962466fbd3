"""Translation data sets of the Hugging Face hub, by name or from a local directory."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from clearhead.data.pairs import Pair, Pairs, pair_from_record
from clearhead.errors import UserError

SPLITS = ("train", "validation", "valid", "dev", "test")


class HuggingFacePairs(Pairs):
    """The rows of one split, in one of the forms of `pairs.pair_from_record`.

    A directory written by `save_to_disk` and a directory of data files are read
    from disk; any other name is streamed from the hub. What `save_to_disk` wrote has splits
    and no configurations, so there `config` names a split.

    Raises:
        UserError: while iterating: `datasets` is not installed, the name or split
            is not found, or the rows have another form.
    """

    unit = "row"

    def __init__(
        self,
        data_set: str,
        config: str | None = None,
        split: str = "train",
        source_lang: str = "en",
        target_lang: str = "fr",
    ) -> None:
        if config and _is_saved_data_set(Path(data_set)):
            split = config
        self.data_set, self.config, self.split = data_set, config, split
        self.source_lang, self.target_lang = source_lang, target_lang
        self.name = f"{data_set} ({split})"

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (described by Pairs)
        for record in self.numbered(self._records()):
            yield pair_from_record(record, self.location, self.source_lang, self.target_lang)

    def _records(self) -> Iterator[Any]:
        try:
            yield from self._load()
        except (UserError, MemoryError):
            raise
        except Exception as error:  # the package raises many kinds
            raise UserError(
                f"cannot load {self.data_set} (split {self.split}): {_first_line(error)}; "
                "check the name, the split and the network, or give a local directory"
            ) from error

    def _load(self) -> Iterable[Any]:
        datasets = _import_datasets()
        if _is_saved_data_set(Path(self.data_set)):
            return self._pick_split(datasets.load_from_disk(self.data_set))
        streaming = not Path(self.data_set).is_dir()
        loaded: Iterable[Any] = datasets.load_dataset(
            self.data_set, self.config, split=self.split, streaming=streaming
        )
        return loaded

    def _pick_split(self, loaded: Any) -> Iterable[Any]:
        if not isinstance(loaded, dict):  # one split was saved by itself
            if self.config:
                raise ValueError("it is a single split; leave the split out")
            return loaded
        if self.split not in loaded:
            raise ValueError(f"its splits are {', '.join(loaded)}")
        return loaded[self.split]


def parse_name(spec: str) -> tuple[str, str | None, str]:
    """Split `NAME[:CONFIG][:SPLIT]`; a single extra part that looks like a split is one."""
    name, *rest = re.split(r":(?![\\/])", spec, maxsplit=2)  # C:\sets\mine is a directory
    if not name or any(not part for part in rest):
        raise UserError(f"hf:{spec}: expected hf:NAME, hf:NAME:CONFIG or hf:NAME:CONFIG:SPLIT")
    if len(rest) == 2:
        return name, rest[0], rest[1]
    if not rest:
        return name, None, "train"
    return (name, None, rest[0]) if rest[0].startswith(SPLITS) else (name, rest[0], "train")


def _import_datasets() -> Any:
    try:
        import datasets
    except ImportError:
        raise UserError(
            "Hugging Face data sets need the package datasets, which is not installed; "
            "run: pip install 'clearhead[datasets]'"
        ) from None
    return datasets


def _is_saved_data_set(path: Path) -> bool:
    return (path / "state.json").is_file() or (path / "dataset_dict.json").is_file()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
