"""Ctrl-C ends a run after the step and its checkpoint."""

import os
import signal
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from clearhead.training.session import STOP_SIGNALS, Session, StopRequest, resume, start
from tests.training.tiny import assert_same_state, state_of, tiny_recipe

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows kills where others signal")


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_the_first_signal_is_recorded_and_the_second_stops_at_once(number: signal.Signals) -> None:
    outside = signal.signal(number, signal.default_int_handler)  # the tests may run under nohup
    with StopRequest() as stop:
        os.kill(os.getpid(), number)
        assert stop.requested
        at_once = nullcontext() if number == signal.SIGHUP else pytest.raises(KeyboardInterrupt)
        with at_once:  # a terminal that is closed may send SIGHUP twice
            os.kill(os.getpid(), number)
    assert signal.signal(number, outside) is signal.default_int_handler


def test_in_another_thread_nothing_changes() -> None:
    seen: list[object] = []

    def work() -> None:
        with StopRequest() as stop:
            seen.append(stop.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_step_that_has_begun_is_finished_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(tmp_path)
    whole = start(recipe, tmp_path / "whole")
    whole.train()
    session = start(recipe, tmp_path / "stopped")
    interrupt_within(session, 7, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        session.train()
    again = resume(tmp_path / "stopped")
    assert again.progress.step == 7
    again.train()
    assert_same_state(state_of(again), state_of(whole))


def test_a_signal_during_the_last_step_does_not_stop_a_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "clearhead.train")
    session = start(tiny_recipe(tmp_path), tmp_path / "run")
    interrupt_within(session, session.recipe.run.steps, monkeypatch)
    session.train()
    assert caplog.messages[-1].startswith("done: ")


def test_settings_that_are_rarely_meant_are_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recipe = tiny_recipe(tmp_path)
    same = {"data": recipe.data.model_copy(update={"dev": recipe.data.train})}
    short = {"optimizer": recipe.optimizer.model_copy(update={"warmup": recipe.run.steps + 1})}
    expected = ["data.dev is data.train", f"is less than optimizer.warmup={recipe.run.steps + 1}"]
    for number, change in enumerate([{}, same, short]):
        caplog.clear()
        start(recipe.model_copy(update=change), tmp_path / f"run{number}").train()
        warnings = [r.message for r in caplog.records if r.levelname == "WARNING"]
        assert len(warnings) == (number > 0)
        assert not warnings or expected[number - 1] in warnings[0]


@pytest.mark.parametrize(
    ("steps", "preload", "advised"),
    [(1000, "", True), (999, "", False), (1000, "/tcmalloc.so", False)],
)
def test_a_long_run_without_tcmalloc_is_advised_to_have_it(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
    preload: str,
    advised: bool,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("LD_PRELOAD", preload)
    caplog.set_level("INFO", logger="clearhead.train")
    recipe = tiny_recipe(tmp_path)
    long = {"run": recipe.run.model_copy(update={"steps": steps})}
    session = start(recipe.model_copy(update=long), tmp_path / "run")
    monkeypatch.setattr(session, "_finished", lambda: True)
    session.train()
    assert ("libtcmalloc-minimal4" in caplog.text) is advised
    assert (", tcmalloc" in caplog.text) is bool(preload)


def interrupt_within(session: Session, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C between the gradient and the update of that step."""
    accumulate = session.trainer.optimizer.accumulate

    def pressed() -> None:
        accumulate()
        if session.progress.step == step - 1:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(session.trainer.optimizer, "accumulate", pressed)


def test_a_stop_is_noticed_after_a_broken_pipe_at_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C on `clearhead train … 2>&1 | tee log` ends tee as well."""
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr("clearhead.training.session.STDERR", writing)
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
    os.close(writing)
    assert stop.requested == signal.SIGINT


def test_nohup_still_ignores_the_end_of_the_terminal() -> None:
    outside = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.requested
    signal.signal(signal.SIGHUP, outside)
