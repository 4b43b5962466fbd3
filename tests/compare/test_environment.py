"""The machine is described in one line; optional packages are loaded or named in an error."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from clearhead.compare import timing
from clearhead.compare.timing import Machine, describe_machine, load_keras
from clearhead.errors import UserError, counted
from tests.compare.keras_attention.installed import needs_keras


def test_the_machine_is_described_in_one_line() -> None:
    machine = describe_machine()
    line = str(machine)
    assert "\n" not in line
    assert machine.torch in line and f"{counted(machine.threads, 'thread')}, " in line
    assert Machine(**json.loads(json.dumps(machine.__dict__))) == machine


def test_without_keras_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "is_installed", lambda package: False)
    with pytest.raises(UserError, match=r'package keras.*pip install "clearhead\[compare\]"'):
        load_keras()


def test_keras_on_another_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = SimpleNamespace(backend=lambda: "jax")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(timing, "is_installed", lambda package: True)
    monkeypatch.setattr(timing, "library", lambda package: SimpleNamespace(backend=backend))
    with pytest.raises(UserError, match="runs on jax in this process; set KERAS_BACKEND=torch"):
        load_keras()


@needs_keras
def test_keras_computes_with_torch_and_does_not_import_tensorflow() -> None:
    assert load_keras().backend.backend() == "torch" == os.environ["KERAS_BACKEND"]
    assert "tensorflow" not in sys.modules
