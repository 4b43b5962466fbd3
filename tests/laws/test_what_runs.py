"""The files that the README shows are the files that translate."""

import re

from clearhead.translation import Translator
from tests.laws.tracing import executed
from tests.laws.tree import ROOT, SOURCE

ROW = re.compile(r"^\| (?P<part>.+?) \| .+? \| \[.+?\]\(src/clearhead/(?P<file>.+?)\) \|$", re.M)
# What is called of a model that consists of two parts and a projection.
WHOLE = ["Transformer.encode", "Transformer.decode", "Transformer.project"]
MASKS = "blocks/masks.py"


def files() -> dict[str, list[str]]:
    """Each file of the table "Read it", and the classes that its row names."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(r"^## Read it$(.*?)^## ", text, re.M | re.S)
    assert section
    return {
        row["file"]: re.findall(r"`([A-Z]\w+)`", row["part"]) for row in ROW.finditer(section[1])
    }


def forwards(names: list[str]) -> list[str]:
    """The functions that have to run for these classes."""
    return [
        function
        for name in names
        for function in (WHOLE if name == "Transformer" else [f"{name}.forward"])
    ]


def translate() -> None:
    translator = Translator.from_pretrained(device="cpu", engine="readable")
    translator.translate(["A man reads a book."], max_length=4)


def test_the_table_names_every_part_of_the_paper() -> None:
    table = files()
    assert len(table) >= 11 and MASKS in table
    assert all((SOURCE / file).is_file() for file in table)
    assert all(names for file, names in table.items() if file != MASKS)


def test_a_translation_runs_every_file_that_the_readme_shows() -> None:
    ran = executed(translate)
    missing = [
        f"{file} {function}"
        for file, names in files().items()
        for function in forwards(names)
        if f"{file} {function}" not in ran
    ]
    assert not missing
    assert any(name.startswith(MASKS) for name in ran)


def test_a_translation_runs_them_in_the_order_of_the_paper() -> None:
    ran = executed(translate)
    functions = [name.partition(" ")[2] for name in ran]
    order = [
        *("Transformer.encode", "InputEmbeddings.forward", "PositionalEncoding.forward"),
        *("Encoder.forward", "EncoderBlock.forward", "ResidualConnection.forward"),
        *("LayerNormalization.forward", "MultiHeadAttentionBlock.forward"),
        *("FeedForwardBlock.forward", "Transformer.decode", "Decoder.forward"),
        *("DecoderBlock.forward", "Transformer.project", "ProjectionLayer.forward"),
    ]
    assert [name for name in functions if name in order] == order
    masks = next(i for i, name in enumerate(ran) if name.startswith(MASKS))
    assert masks < functions.index("MultiHeadAttentionBlock.forward")


def test_beam_search_and_greedy_search_run_the_same_forwards() -> None:
    translator = Translator.from_pretrained(device="cpu")
    ran = [
        {
            name
            for name in executed(
                lambda beams=beams: translator.translate(["Hello."], beam_size=beams, max_length=4)
            )
            if name.startswith(("blocks/", "models/"))
        }
        for beams in (1, 4)
    ]
    assert ran[0] == ran[1]
