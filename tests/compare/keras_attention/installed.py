"""Keras is an extra. `importorskip` would import it, on whatever backend it finds first."""

from importlib.util import find_spec

import pytest

needs_keras = pytest.mark.skipif(find_spec("keras") is None, reason="keras is not installed")
