"""Typing `clearhead --help` must not cost a learner two seconds of torch."""

import os
import subprocess
import sys
import time

HEAVY = ("torch", "numpy", "tokenizers", "matplotlib", "pydantic", "sacrebleu", "rich", "datasets")


def heavy_modules_after(code: str) -> list[str]:
    program = f"import sys\n{code}\nprint('loaded:', *sorted({set(HEAVY)} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )
    return result.stdout.splitlines()[-1].split()[1:]


def test_import_clearhead_is_cheap() -> None:
    assert heavy_modules_after("import clearhead; dir(clearhead)") == []


def test_errors_and_files_are_cheap() -> None:
    assert heavy_modules_after("import clearhead.errors, clearhead.files") == []


def test_the_configuration_of_a_model_and_of_a_search_is_cheap() -> None:
    """An engine that does not use torch needs them."""
    modules = "clearhead.decoding.engine, clearhead.decoding.engine, clearhead.models.config"
    assert heavy_modules_after(f"import {modules}, clearhead.decoding.engine") == []
    names = "DecodingOptions, Engine, Hypothesis; from clearhead.models import TransformerConfig"
    assert heavy_modules_after(f"from clearhead.decoding import {names}") == []


def test_help_loads_nothing_heavy() -> None:
    assert heavy_modules_after("from clearhead.cli.main import run; run(['--help'])") == []


def test_the_native_engine_translates_without_torch() -> None:
    code = (
        "from clearhead.cli.main import run;"
        "run(['translate', '--engine', 'native', '--alignments', 'Good morning.'])"
    )
    loaded = heavy_modules_after(code)
    assert "numpy" in loaded and "torch" not in loaded


def test_the_course_leaves_torch_to_the_grading_process() -> None:
    """A check would load it twice, two seconds of the processor each time."""
    modules = ("client", "session", "teacher", "watch")
    assert heavy_modules_after(f"from clearhead.learn import {', '.join(modules)}") == []


def test_help_answers_within_four_tenths_of_a_second() -> None:
    """The time of the processor, best of three: a busy machine is not our fault."""
    assert min(seconds_of_help() for _ in range(3)) <= 0.4


def seconds_of_help() -> float:
    before = os.times()
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "clearhead", "--help"], stdout=subprocess.DEVNULL, check=True
    )
    wall, after = time.perf_counter() - start, os.times()
    spent = after.children_user + after.children_system
    return min(wall, spent - before.children_user - before.children_system)
