"""Keras 3 on torch: its layers are torch modules then, with torch's own gradients."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clearhead.compare.peers import EXTRA, is_installed, library
from clearhead.errors import UserError

BACKEND = "torch"


def load_keras() -> Any:
    """The package `keras`, computing with torch; TensorFlow is never touched.

    Keras chooses its backend once, when it is first imported, by an environment variable.

    Raises:
        UserError: it is not installed, or somebody imported it before us with another backend.
    """
    if not is_installed("keras"):
        raise UserError(f"the comparison with Keras needs the package keras; install it: {EXTRA}")
    os.environ["KERAS_BACKEND"] = BACKEND
    keras = library("keras")
    if (other := keras.backend.backend()) != BACKEND:
        raise UserError(
            f"Keras already runs on {other} in this process; set KERAS_BACKEND={BACKEND} "
            "before the first `import keras`, in a fresh process"
        )
    return keras


@contextmanager
def keras_on(device: str) -> Iterator[Any]:
    """Keras, with everything that it makes or is given on this device.

    Left alone it carries every tensor to a GPU if there is one.
    """
    keras = load_keras()
    with keras.device(device):
        yield keras
