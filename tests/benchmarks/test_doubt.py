import re
import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import doubt
from benchmarks.doubt import Marks, best_threshold, save_threshold
from benchmarks.first_sentences import DATA
from clearhead.models.weight_files import SHIPPED
from clearhead.translation import Translator
from clearhead.translation.loading import load_threshold


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["doubt.py", *arguments])
    doubt.main()


def test_the_threshold_of_the_shipped_model_was_measured_with_it() -> None:
    """After new weights, `python -m benchmarks.doubt --write` measures it again."""
    translator = Translator.from_pretrained()
    judged, _ = doubt.judge(translator, DATA, beam_size=4)
    stored = Marks.at(load_threshold(SHIPPED), judged)
    best = Marks.at(best_threshold(judged), judged)
    assert stored.f1 >= best.f1 - 0.03, "run python -m benchmarks.doubt --write"
    # A check of copies is hardly ever wrong: no threshold is needed for it.
    copies = Marks.at(doubt.NEVER, judged)
    assert copies.precision >= 0.9


def test_the_threshold_is_written_into_the_model_directory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(SHIPPED, model)
    save_threshold(model, -9.0, "nothing")
    lines = DATA.read_text(encoding="utf-8").splitlines()[1::9]
    data = tmp_path / "some.jsonl"
    data.write_text("\n".join(lines), encoding="utf-8")
    run_main(monkeypatch, "--model", str(model), "--data", str(data), "--beam-size", "1", "--show")
    assert load_threshold(model) == -9.0
    run_main(monkeypatch, "--model", str(model), "--data", str(data), "--beam-size", "1", "--write")
    shown = capsys.readouterr().out
    assert (best := re.search(r"below (-\d\.\d+) +\d.*highest F1", shown))
    assert load_threshold(model) == float(best[1])


def test_a_missing_model_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_main(monkeypatch, "--model", str(tmp_path / "absent"))
    assert "\n" not in str(stopped.value)
