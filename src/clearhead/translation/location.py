"""Where models are found: the shipped one, a model directory, a run directory."""

from pathlib import Path

from clearhead.errors import UserError
from clearhead.pretrained.hub import directory_of

SHIPPED = Path(__file__).parents[1] / "shipped" / "en_fr"


def find_model(path: str | Path | None) -> Path:
    """The model directory that `path` means; of a run directory, the best checkpoint.

    Text like owner/name, where there is no directory owner, is a name on the hub.

    Raises:
        UserError: there is no such directory, or it holds no model.
    """
    directory = SHIPPED if path is None else Path(path)
    if path is None and not (directory / "config.json").is_file():
        raise UserError(
            "this installation carries no translator; give --model DIR (in Python a path), "
            "or train one: clearhead train first_light"
        )
    if isinstance(path, str) and path.count("/") == 1 and not directory.parent.exists():
        return directory_of(path)
    if not directory.is_dir():
        what = "is a file" if directory.exists() else "does not exist"
        raise UserError(
            f"model {str(directory)!r} {what}; expected a directory with config.json, "
            "model.safetensors and tokenizer.json"
        )
    if found := _model_in(directory):
        return found
    raise UserError(
        f"{directory} holds no config.json; expected a model directory (config.json, "
        "model.safetensors, tokenizer.json) or a run directory of clearhead train"
    )


def best_of_run(source: str | Path) -> str | Path:
    """Of a directory of `clearhead train` the best checkpoint, or the last; else what was given."""
    return _model_in(Path(source)) or source


def _model_in(directory: Path) -> Path | None:
    """The directory itself, or, of a run, the best checkpoint, or the last."""
    for candidate in (directory, directory / "best", directory / "last"):
        if (candidate / "config.json").is_file():
            return candidate
    return None
