"""The table of docs/engines.md, from traces: which block files each engine executes.

`python -m tests.laws.engines_table` writes it.
"""

import re
from collections.abc import Callable
from pathlib import Path

import torch

from clearhead.decoding.causal import CausalEngine, native_causal_engine
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.pipelines.engines import NativeEncoder, Text, encode
from clearhead.training.device_settings import EngineChoice
from clearhead.translation import Translator
from tests.laws.test_training_runs_the_blocks import step_of
from tests.laws.tracing import executed
from tests.laws.tree import ROOT

PAGE = ROOT / "docs" / "engines.md"
TABLE = re.compile(r"(?<=<!-- traced -->\n).*?(?=<!-- end -->)", re.DOTALL)
STACK = {"d_model": 12, "layers": 2, "h": 3, "d_ff": 20}


def table() -> str:
    """One row for each use of an engine."""
    rows = [
        "| Call | Engine | Block files whose code runs |",
        "|---|---|---|",
        *(f"| {call} | {engine} | {_files(run)} |" for call, engine, run in _runs()),
    ]
    return "\n".join(rows) + "\n"


def page() -> str:
    """The page with the table as it is now."""
    return TABLE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8"))


def _files(run: Callable[[], object]) -> str:
    names = {Path(name.partition(" ")[0]) for name in executed(run) if _is_computation(name)}
    paths = [path.relative_to("blocks") for path in names if path.is_relative_to("blocks")]
    files = sorted(path.with_suffix("").as_posix() for path in paths)
    return ", ".join(files) or "none"


def _is_computation(name: str) -> bool:
    """A `forward`, a mask or the attention formula, not a constructor."""
    _, function = name.split(" ", 1)
    checks = function.startswith("check_")  # of arguments
    return function.endswith((".forward", ".attention", "_mask")) and not checks


def _runs() -> list[tuple[str, str, Callable[[], object]]]:
    texts = ["A man reads a book."]
    gpt = Gpt.from_config(GptConfig(vocab_size=31, seq_len=17, **STACK)).eval()
    bert = Bert.from_config(BertConfig(vocab_size=31, seq_len=17, **STACK)).eval()
    options = SamplingOptions(max_new_tokens=3)
    runs: list[tuple[str, str, Callable[[], object]]] = []
    for engine in ("native", "readable"):
        translator = Translator.from_pretrained(device="cpu", engine=engine)  # type: ignore[arg-type]
        runs.append(("translate", engine, lambda t=translator: t.translate(texts, max_length=4)))
    for name, causal in (("native", native_causal_engine(gpt)), ("readable", CausalEngine.of(gpt))):
        runs.append(("generate (GPT-2)", name, lambda e=causal: generate(e, [[3, 4]], options)))
    native = NativeEncoder(bert)
    for name, read in (("native", native), ("readable", lambda batch: encode(bert, batch))):
        runs.append(("embed (BERT)", name, lambda r=read: _read(r)))
    choices: tuple[EngineChoice, ...] = ("fast", "readable")
    runs.extend(("train, one step", choice, step_of(choice)) for choice in choices)
    return runs


@torch.inference_mode()
def _read(read: Callable[[list[Text]], object]) -> None:
    list(read([Text([3, 4, 5])]))  # type: ignore[call-overload]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
