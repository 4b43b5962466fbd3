"""The supported families, by the `model_type` of their config.json."""

from clearhead.errors import UserError
from clearhead.models import Bert, Esm, Gpt, Marian
from clearhead.pretrained import bert, esm, gpt, marian
from clearhead.pretrained.family import Family, Raw

Pretrained = Bert | Gpt | Esm | Marian
FAMILIES: dict[str, Family] = {
    module.FAMILY.model_type: module.FAMILY for module in (bert, gpt, esm, marian)
}


def family_of(raw: Raw, origin: str) -> Family:
    """The family of a config.json.

    Raises:
        UserError: it is not supported.
    """
    kind = str(raw.get("model_type"))
    if kind not in FAMILIES:
        classes = raw.get("architectures") or []
        named = f" ({', '.join(map(str, classes))})" if classes else ""
        raise UserError(
            f"{origin} describes a {kind!r} model{named}; supported are "
            f"{', '.join(FAMILIES)}: give one of these (Translator.from_pretrained loads models "
            "that clearhead trained)"
        )
    return FAMILIES[kind]


def family_of_config(config: object) -> Family:
    """The family of one of our configurations.

    Raises:
        UserError: it has no Hugging Face layout.
    """
    for family in FAMILIES.values():
        if type(config) is family.config:
            return family
    raise UserError(
        f"a model with a {type(config).__name__} has no Hugging Face layout here; those that "
        f"have are {', '.join(FAMILIES)}"
    )
