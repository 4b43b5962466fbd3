"""Keras comes with torch underneath, or in one line it is said why not."""

import os
import sys
from types import SimpleNamespace

import pytest

from clearhead.compare.keras_attention import loading
from clearhead.compare.keras_attention.loading import load_keras
from clearhead.errors import UserError
from tests.compare.keras_attention.installed import needs_keras


def test_a_missing_keras_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "is_installed", lambda package: False)
    with pytest.raises(UserError, match=r'package keras.*pip install "clearhead\[compare\]"'):
        load_keras()


def test_another_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = SimpleNamespace(backend=lambda: "jax")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(loading, "is_installed", lambda package: True)
    monkeypatch.setattr(loading, "library", lambda package: SimpleNamespace(backend=backend))
    with pytest.raises(UserError, match="runs on jax in this process; set KERAS_BACKEND=torch"):
        load_keras()


@needs_keras
def test_it_computes_with_torch_and_tensorflow_stays_away() -> None:
    assert load_keras().backend.backend() == "torch" == os.environ["KERAS_BACKEND"]
    assert "tensorflow" not in sys.modules
