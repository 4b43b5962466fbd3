import pytest
import torch

from clearhead.models import Transformer, count_parameters
from tests.compare.sizes import CONFIG
from tests.compare.test_training_peers import assert_causal_and_padding_invariant


def test_eole_has_as_many_parameters_as_ours() -> None:
    pytest.importorskip("eole")
    from benchmarks.eole_training import Eole

    assert count_parameters(Eole(CONFIG)) == count_parameters(Transformer.from_config(CONFIG))


def test_eole_is_causal_and_ignores_padding() -> None:
    pytest.importorskip("eole")
    from benchmarks.eole_training import Eole

    torch.manual_seed(2)
    assert_causal_and_padding_invariant(Eole(CONFIG).eval())
