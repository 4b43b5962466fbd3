"""Which models write, and which verb is for those that do not."""

from pathlib import Path

from clearhead.errors import UserError
from clearhead.pretrained.families import family_of
from clearhead.pretrained.files import CONFIG, read_json

# model_type of a config.json -> what it does, and the verbs for it
OTHERS = {
    "clearhead-transformer": ("translates", "`clearhead translate`"),
    "marian": ("translates", "no verb yet: `clearhead.pretrained.load` gives the model"),
    "bert": ("reads", "`clearhead fill-mask`, `embed` or `classify`"),
    "esm": ("reads", "`clearhead fill-mask`, `embed` or `classify`"),
}


def check_writer(directory: Path) -> None:
    """Whether the model in a directory is one that continues texts.

    Raises:
        UserError: it is not; the line names the verb for it.
    """
    path = directory / CONFIG
    raw = read_json(path)
    kind = str(raw.get("model_type"))
    if kind in OTHERS:
        does, verbs = OTHERS[kind]
        raise UserError(
            f"{directory} holds a {kind} model, which {does} and cannot continue a text; for it "
            f"there is {verbs}; generate needs a GPT-2"
        )
    family_of(raw, str(path))
