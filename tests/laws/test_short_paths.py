"""One sentence, and one training step, run through few files of ours.

Counted are the files of the package in which a function is executed. Readable paths run the twelve
files of the parts of the paper (`blocks`, `models/transformer.py`), which are separate on purpose.
"""

from collections.abc import Callable

import pytest

from clearhead.translation import Translator
from tests.laws.test_training_runs_the_blocks import trainer_with
from tests.laws.test_what_runs import files as files_of_the_readme
from tests.laws.tracing import executed

TARGET = 15
OF_THE_PAPER = set(files_of_the_readme())
# What holds today; lower it when a path gets shorter.
BOUNDS = {
    "translate, readable engine": 27,
    "translate, native engine": 15,
    "training step, readable engine": 17,
    "training step, fast engine": 19,
}


def translation(engine: str) -> Callable[[], object]:
    translator = Translator.from_pretrained(device="cpu", engine=engine)  # type: ignore[arg-type]
    return lambda: translator.translate(["A man reads a book."])


def call_of(path: str) -> Callable[[], object]:
    kind, engine = path.removesuffix(" engine").split(", ")
    return translation(engine) if kind == "translate" else trainer_with(engine).step  # type: ignore[arg-type]


def files_of(call: Callable[[], object]) -> list[str]:
    """The files that the call runs, in the order of their first function."""
    call()  # so that nothing is imported while it is traced
    return list(dict.fromkeys(name.split(" ")[0] for name in executed(call)))


@pytest.mark.parametrize("path", BOUNDS)
def test_a_path_touches_few_files(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = files_of(call_of(path))
    with capsys.disabled():
        paper = len([file for file in files if file in OF_THE_PAPER])
        print(f"\n  {path}: {len(files)} files, {paper} of the paper (target {TARGET})")
        print("".join(f"    {file}\n" for file in files), end="")
    assert files and len(files) <= BOUNDS[path]
