"""Running a subject's probe on an answer, on every case, and recording what is seen."""

import linecache
import sys
from functools import cache
from importlib.abc import InspectLoader
from types import CodeType, ModuleType
from typing import Any

import torch

from clearhead.errors import UserError
from clearhead.learn.content import probes
from clearhead.learn.failures import failure
from clearhead.learn.judge import resembles
from clearhead.learn.manifest import subject
from clearhead.learn.records import Record, TooLarge, decode, encode
from clearhead.learn.run import PROBES, Adapted, Probe, Run
from clearhead.learn.texts import solution, variant_text

Names = dict[str, Any]
NONE: Adapted = frozenset()


class _TextLoader(InspectLoader):
    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename = text, filename

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.text, self.filename)


def load_text(text: str, filename: str) -> ModuleType:
    """Run a text as a module, so that tracebacks and `inspect` show its lines."""
    module = ModuleType("answer")
    module.__file__ = filename
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    before = sys.modules.get("answer")
    sys.modules["answer"] = module  # dataclasses and inspect look it up
    try:
        _TextLoader(text, filename).exec_module(module)
    finally:
        sys.modules.pop("answer")
        if before is not None:
            sys.modules["answer"] = before
    return module


def probe_of(subject_name: str) -> Probe:
    """The probe that runs a subject.

    Raises:
        UserError: there is none of this name.
    """
    assert probes  # importing them registers them
    name = subject(subject_name).probe
    if name not in PROBES:
        raise UserError(f"subject {subject_name}: no probe is called {name}")
    return PROBES[name]


@cache
def names_of(subject_name: str, *variants: str) -> Names:
    """The names that the solution, or a wrong variant of it, defines."""
    text = variant_text(subject_name, *variants) if variants else solution(subject_name)
    return vars(load_text(text, f"<{' + '.join((subject_name, *variants))}>"))


@cache
def known_record(case: int, subject_name: str, *variants: str, adapted: Adapted = NONE) -> Record:
    """What is seen of the solution, or of a wrong variant of it, on one case in float64."""
    run = _exact_run(case, subject_name, names_of(subject_name, *variants), adapted)
    filename = f"<{' + '.join((subject_name, *variants))}>"
    return decode_record(observe(run, subject_name, filename))


def _exact_run(case: int, subject_name: str, answer: Names, adapted: Adapted) -> Run:
    sizes = probe_of(subject_name).cases[case]
    return Run(answer, names_of(subject_name), sizes, torch.float64, 0, adapted)


def explains(
    case: int, subject_name: str, names: tuple[str, ...], target: Record, adapted: Adapted
) -> bool:
    """Whether a variant, or two at once, agrees with a record."""
    right = known_record(case, subject_name, adapted=adapted)
    if len(names) == 1:
        return resembles(target, known_record(case, subject_name, *names, adapted=adapted), right)
    text, filename = variant_text(subject_name, *names), f"<{' + '.join(names)}>"
    run = _exact_run(case, subject_name, vars(load_text(text, filename)), adapted)
    return resembles(target, decode_record(observe(run, subject_name, filename)), right)


def observe(run: Run, subject_name: str, filename: str) -> Record:
    """One case, as JSON; an exception ends it and is recorded.

    The run of an answer explains a shape error; a known variant's needs no explanation.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            probe_of(subject_name).run(run)
        return _encoded(run)
    except Exception as error:  # noqa: BLE001 - whatever an answer raises is reported
        is_answer = run.dtype == torch.float32
        found = failure(error, filename, run if is_answer else None)
    try:
        return {**_encoded(run), **found}
    except TooLarge:
        return found


def _encoded(run: Run) -> Record:
    return {key: encode(value) for key, value in run.seen.items()}


def decode_record(record: Record) -> Record:
    """A record that came as JSON, with tensors again."""
    return {key: decode(value) for key, value in record.items()}
