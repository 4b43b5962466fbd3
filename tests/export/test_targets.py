import pytest

from clearhead.errors import UserError
from clearhead.export.exporting import (
    TARGETS,
    Target,
    builder_of,
    check_precision,
    engine_of,
    find_target,
)

ABSENT = Target("Abacus", "abacus", ("abacus_builder",), ("abacus_runner",), ("beads",))


def test_an_unknown_target_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="export to ctranslate2, onnx, huggingface"):
        find_target("tflite")


def test_a_missing_package_is_named_with_the_install_command() -> None:
    with pytest.raises(UserError, match=r"abacus_builder.*pip install 'clearhead\[export\]'"):
        builder_of(ABSENT)
    with pytest.raises(UserError, match="running Abacus exports needs abacus_runner"):
        engine_of(ABSENT)


def test_the_default_precision_is_float32() -> None:
    for target in TARGETS.values():
        assert check_precision(target, None) == "float32"


def test_an_unsupported_precision_is_refused() -> None:
    with pytest.raises(UserError, match="ONNX exports do not support precision 'int8'"):
        check_precision(TARGETS["onnx"], "int8")
