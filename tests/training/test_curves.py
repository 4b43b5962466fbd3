"""The picture: a PNG whatever the records hold, written whole."""

from pathlib import Path

import pytest

from clearhead.training.curves import draw_curves
from clearhead.training.tasks.translation import BLEU

TRAIN = [
    {"kind": "train", "step": s, "loss": 9 / s, "ppl": 2 + 9 / s, "lr": 1e-3} for s in range(1, 9)
]
DEV = [{"kind": "dev", "step": s, "loss": 5 / s, "ppl": 3.0, "bleu": 4.0 * s} for s in (4, 8)]
AVERAGE = [{"kind": "average", "step": 8, "loss": 0.5, "ppl": 2.5, "bleu": 33.0}]


@pytest.mark.parametrize(
    "records",
    [[], TRAIN[:1], DEV, TRAIN + DEV + AVERAGE, [{"kind": "train", "step": 1, "loss": None}]],
    ids=["nothing", "one step", "dev only", "all", "a step that was skipped"],
)
def test_any_records_make_a_picture(records: list[dict[str, object]], tmp_path: Path) -> None:
    draw_curves(records, tmp_path / "curves.png", BLEU)
    content = (tmp_path / "curves.png").read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) > 5000
    assert [p.name for p in tmp_path.iterdir()] == ["curves.png"]
