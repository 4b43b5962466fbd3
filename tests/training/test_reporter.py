"""Plain lines without a terminal, a bar on a terminal, a record in any case."""

import io
import json
import logging
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console

from clearhead.errors import UserError
from clearhead.training import console, reporter
from clearhead.training.metrics import Meter, StepReport, clock, perplexity, read_metrics
from clearhead.training.recipe import Run
from clearhead.training.reporter import draw_curves
from clearhead.training.session import Session, start
from clearhead.training.task import Metric
from clearhead.training.tasks.finetuning import METRICS
from clearhead.training.tasks.translation import BLEU
from tests.training.tiny import tiny_recipe

KEYS = {"kind", "step", "loss", "ppl", "tokens_per_second", "epoch", "lr", "grad_norm"}
KEYS |= {"seconds", "peak_memory_gb"}


def run(session: Session) -> None:
    with console.shown(), console.kept(session.run.log):
        session.train()


def test_plain_lines_carry_everything(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    run(session)
    out, err = capsys.readouterr()
    lines = err.split("\n")
    first = next(line for line in lines if line.startswith("step 5/12"))
    for word in ("epoch ", "loss ", "ppl ", " tok/s", "lr ", "gnorm ", "ETA "):
        assert word in first
    assert lines[0].startswith("cpu, float32 (set by run.precision), 1 thread")
    assert lines[1].startswith("fast: faster versions of ")
    assert lines[2].startswith("300 pairs, vocabulary 300, ")
    assert [line for line in lines if line.startswith("step 8: dev ppl")]
    assert [line for line in lines if line.startswith("    → ")]  # a sample translation
    assert re.match(r"done: 12 steps in 0:0.*, peak memory \d+\.\d GB", lines[-2])
    assert "\x1b" not in err and out == ""


def test_the_log_file_has_the_same_lines_with_the_time(session: Session) -> None:
    run(session)
    text = session.run.log.read_text(encoding="utf-8")
    assert " step 5/12  epoch 0" in text and " done: 12 steps" in text


def test_records_have_every_measure_once(session: Session) -> None:
    run(session)
    records = read_metrics(session.run.root / "metrics.jsonl")
    train = [r for r in records if r["kind"] == "train"]
    assert [r["step"] for r in train] == [5, 10, 12]
    assert all(r.keys() >= KEYS for r in train)
    assert [r["step"] for r in records if r["kind"] == "dev"] == [4, 8, 12]
    assert [r["step"] for r in records if r["kind"] == "average"] == [12]
    text = (session.run.root / "metrics.jsonl").read_text(encoding="utf-8")
    assert all(json.loads(line) for line in text.splitlines())


@pytest.mark.parametrize(
    ("seconds", "error", "drawn"),
    [(60.0, None, [4]), (0.0, None, [1, 2, 3, 4]), (60.0, KeyboardInterrupt, [2]),
     (60.0, OSError, [])],
)  # fmt: skip
def test_curves_are_drawn_now_and_then_and_when_a_run_ends(
    seconds: float,
    error: type[BaseException] | None,
    drawn: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three validations and the average; after an error, such as a full disk, nothing is drawn."""
    found: list[int] = []
    monkeypatch.setattr(reporter, "DRAW_EVERY", seconds)
    monkeypatch.setattr(
        reporter,
        "draw_curves",
        lambda records, *_: found.append(sum(r["kind"] != "train" for r in records)),
    )
    session = start(tiny_recipe(tmp_path), tmp_path / "run")
    step = session.trainer.step

    def step_until_error() -> StepReport:
        if error and session.progress.step == 9:
            raise error
        return step()

    monkeypatch.setattr(session.trainer, "step", step_until_error)
    with pytest.raises(error) if error else nullcontext():
        run(session)
    assert found == drawn


def test_a_picture_that_cannot_be_written_does_not_end_a_run(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reporter, "draw_curves", draw_curves)
    session.run.curves.mkdir()  # as when another program has locked the picture on Windows
    run(session)
    err = capsys.readouterr().err
    assert "done: 12 steps" in err
    assert re.search(r"curves\.png: .*; training continues without the picture", err)


@pytest.mark.parametrize("no_color", [False, True])
def test_on_a_terminal_a_bar_moves_below_the_log(
    no_color: bool, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    terminal = Console(
        file=screen, force_terminal=True, width=100, highlight=False, no_color=no_color
    )
    monkeypatch.setattr(console, "CONSOLE", terminal)
    for module in (console, reporter):
        monkeypatch.setattr(module, "on_terminal", lambda: True)
    run(session)
    shown = screen.getvalue()
    assert "12/12" in shown and "100%" in shown and "ETA 0:00" in shown
    assert "step 5/12" not in shown  # the bar says it; the log file has it
    assert "step 8: dev ppl" in shown
    assert "step 5/12" in session.run.log.read_text(encoding="utf-8")
    assert ("\x1b[38" in shown or "\x1b[1;3" in shown or "\x1b[3" in shown) is not no_color


def test_a_pipe_is_no_terminal() -> None:
    assert not console.on_terminal()


def test_nothing_stays_attached_to_the_log(session: Session) -> None:
    run(session)
    log = logging.getLogger("clearhead")
    assert not log.handlers and log.level == logging.NOTSET


def test_a_log_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="choose a --run-dir"), console.kept(tmp_path):
        pass


def report(step: int, loss: float, finite: bool = True) -> StepReport:
    return StepReport(step, 0, loss, loss, 1e-3, 0.5, 10 * step, 0.5, finite)


def test_means_are_over_tokens_and_leave_skipped_steps_out() -> None:
    meter = Meter()
    for step in (report(1, 2.0), report(2, float("nan"), finite=False), report(3, 4.0)):
        meter.add(step)
    values = meter.values()
    assert values["loss"] == pytest.approx((10 * 2 + 30 * 4) / 40)
    assert values["tokens_per_second"] == pytest.approx(60 / 1.5)
    only_bad = Meter()
    only_bad.add(report(1, float("inf"), finite=False))
    assert only_bad.values()["ppl"] != only_bad.values()["ppl"]


def test_a_skipped_step_is_visible(
    session: Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = session.trainer.optimizer.step
    bad = iter([False, True])

    def sometimes(lr: float, scale: float, norm: float) -> bool:
        return original(lr, float("nan") if next(bad, False) else scale, norm)

    monkeypatch.setattr(session.trainer.optimizer, "step", sometimes)
    run(session)
    err = capsys.readouterr().err
    assert "step 2 skipped, its gradient is not finite (1 skipped so far)" in err
    assert "ETA 0:00  skipped 1" in err and ", 1 steps skipped," in err


def test_clock_and_perplexity() -> None:
    assert [clock(s) for s in (0, 59.9, 61, 3600, 36_061)] == [
        "0:00", "0:59", "1:01", "1:00:00", "10:01:01",
    ]  # fmt: skip
    assert perplexity(0.0) == 1 and perplexity(1e9) == perplexity(50)


def test_without_tensorboard_the_extra_is_named_and_no_run_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'clearhead\[tensorboard\]'"):
        start(tiny_recipe(tmp_path, tensorboard=True), tmp_path / "run")
    assert not (tmp_path / "run").exists()


class FakeWriter:
    def __init__(self) -> None:
        self.scalars: list[tuple[str, int]] = []
        self.closed = False

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars.append((name, step))

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True


def test_tensorboard_gets_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = FakeWriter()
    monkeypatch.setattr(reporter, "open_tensorboard", lambda path, step: writer)
    start(tiny_recipe(tmp_path, tensorboard=True), tmp_path / "run").train()
    assert {("train/loss", 5), ("train/lr", 12), ("dev/bleu", 8), ("average/ppl", 12)} <= set(
        writer.scalars
    )
    assert writer.closed and not Run().tensorboard


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


def drawn(
    monkeypatch: pytest.MonkeyPatch, path: Path, metric: Metric, *scores: float
) -> dict[str, Axes]:
    """The panels of curves.png by their titles."""
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    dev = [DEV[0] | {"step": k, metric.key: x} for k, x in enumerate(scores or (-0.2,), start=4)]
    records = TRAIN[:3] + dev
    draw_curves(records, path, metric)
    figures[0].draw_without_rendering()
    return {axes.get_title("left"): axes for axes in figures[0].axes}


def test_numbers_have_no_perplexity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    metric = Metric("spearman", "Spearman", "Spearman correlation", 4, numbers=True)
    panels = drawn(monkeypatch, tmp_path / "curves.png", metric)
    assert list(panels) == [
        "Squared error of standardized numbers", "Spearman correlation", "Learning rate",
    ]  # fmt: skip
    assert not any("nats" in axes.get_ylabel() for axes in panels.values())
    assert "Perplexity" in drawn(monkeypatch, tmp_path / "curves.png", BLEU)


def test_a_single_training_record_is_a_visible_point(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    for records in (TRAIN[:1], TRAIN[:2]):
        draw_curves(records, tmp_path / "curves.png", BLEU)
    one, two = (figure.axes[0].lines[0].get_marker() for figure in figures)
    assert (one, two) == ("o", "None")


@pytest.mark.parametrize("numbers", [False, True])
def test_steps_are_labelled_at_whole_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, numbers: bool
) -> None:
    metric = BLEU._replace(numbers=numbers)
    for axes in drawn(monkeypatch, tmp_path / "curves.png", metric).values():
        assert all(tick == int(tick) for tick in axes.get_xticks())


def test_a_negative_score_is_in_the_picture(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    axes = drawn(monkeypatch, tmp_path / "curves.png", BLEU)[BLEU.title]
    assert axes.get_ylim()[0] < -0.2


def test_the_highest_point_is_in_the_picture_with_its_marker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    metric = Metric("bits", "bits", "Bits")
    axes = drawn(monkeypatch, tmp_path / "curves.png", metric, 3.426, 3.25)[metric.title]
    assert axes.get_ylim() == (0, pytest.approx(1.05 * 3.426))


def test_the_unit_of_the_loss_is_that_of_the_task(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    panels = drawn(monkeypatch, tmp_path / "curves.png", METRICS["accuracy"])
    assert "nats per label" in [axes.get_ylabel() for axes in panels.values()]
