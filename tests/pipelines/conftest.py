"""The same random weights in every run, and no progress bars of others."""

from collections.abc import Iterator

import pytest
import torch
from transformers.utils import logging


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(20181011)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable_progress_bar()
    yield
    logging.enable_progress_bar()
