from pathlib import Path

import pytest
import torch

from clearhead.export.exporting import export
from clearhead.models.weight_files import SHIPPED


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped model, exported once for the test module's own TARGET."""
    path = tmp_path_factory.mktemp("export") / "shipped"
    export(SHIPPED, request.module.TARGET, path, "float32")
    return path
