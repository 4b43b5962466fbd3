"""Layout is kept whatever a model writes: a row of CSV has the same cells as before."""

import csv

import pytest

from clearhead.translation.layout import quoted_cells
from clearhead.translation.sources import sentence_spans

ROWS = [
    ("7,The cat,Red", 3),
    ("The cat,Red,3.5", 3),
    ("7;The cat. It eats.;Red", 3),
    ('7,"The cat, red",Red', 3),
    ("id,name\n7,The cat,Red\n8,A dog,Blue", 3),
]


@pytest.mark.parametrize(("text", "cells"), ROWS)
@pytest.mark.parametrize("written", ["Oui, je sais", "Oui ; je sais", "Oui"])
def test_a_row_has_as_many_cells_whatever_is_written_in_them(
    text: str, cells: int, written: str
) -> None:
    spans = sentence_spans(text)
    translated, end = "", 0
    for (start, stop), own in zip(
        spans, quoted_cells(text, spans, [written] * len(spans)), strict=True
    ):
        translated, end = translated + text[end:start] + own, stop
    rows = list(
        csv.reader((translated + text[end:]).splitlines(), delimiter=";" if ";" in text else ",")
    )
    assert len(rows[-1]) == cells
    assert any(written in cell for cell in rows[-1])


def test_a_number_in_a_row_is_data() -> None:
    text = "1,The cat,3.5,2026-11-24,5.2 %"
    assert [text[start:end] for start, end in sentence_spans(text)] == ["The cat"]


@pytest.mark.parametrize("text", ["Red, green", "Hello, my friend. Are you well?", "1, 2; three"])
def test_a_sentence_with_commas_gets_no_quotation_marks(text: str) -> None:
    spans = sentence_spans(text)
    written = ["Oui, je sais"] * len(spans)
    assert quoted_cells(text, spans, written) == written
