import re
from importlib import import_module

import pytest

from clearhead import pipeline
from clearhead.errors import UserError
from clearhead.pipelines.factory import TASKS
from tests.translation.tiny import translator


def test_an_unknown_task_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(UserError, match=f"'summarize'; clearhead has {', '.join(TASKS)}"):
        pipeline("summarize", model=translator())


def test_a_task_almost_right_is_told_the_right_one() -> None:
    with pytest.raises(UserError, match=re.escape("'translaton' (did you mean 'translation'?)")):
        pipeline("translaton", model=translator())


@pytest.mark.parametrize("home", sorted(set(TASKS.values())))
def test_every_row_names_a_class_that_loads_a_model(home: str) -> None:
    module, _, name = home.partition(":")
    assert callable(getattr(import_module(module), name).from_pretrained)
