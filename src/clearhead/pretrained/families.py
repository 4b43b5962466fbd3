"""The families that we have, by the name that a config.json gives them."""

from clearhead.errors import UserError
from clearhead.models import Bert, Esm, Gpt, Marian
from clearhead.pretrained import bert, esm, gpt, marian
from clearhead.pretrained.family import Family, Raw

Pretrained = Bert | Gpt | Esm | Marian
FAMILIES: dict[str, Family] = {
    module.FAMILY.model_type: module.FAMILY for module in (bert, gpt, esm, marian)
}


def family_of(raw: Raw, origin: str) -> Family:
    """Which family a config.json belongs to.

    Raises:
        UserError: to none of ours.
    """
    kind = str(raw.get("model_type"))
    if kind not in FAMILIES:
        classes = raw.get("architectures") or []
        named = f" ({', '.join(map(str, classes))})" if classes else ""
        raise UserError(
            f"{origin} describes a {kind!r} model{named}; pretrained models here are "
            f"{', '.join(FAMILIES)}: give one of these (Translator.from_pretrained loads what "
            "clearhead trained)"
        )
    return FAMILIES[kind]


def family_of_config(config: object) -> Family:
    """Which family one of our configurations belongs to.

    Raises:
        UserError: to none of ours.
    """
    for family in FAMILIES.values():
        if type(config) is family.config:
            return family
    raise UserError(
        f"a model with a {type(config).__name__} has no Hugging Face layout here; those that "
        f"have are {', '.join(FAMILIES)}"
    )
