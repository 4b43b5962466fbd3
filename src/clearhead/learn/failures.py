"""What an exception of an answer says to the learner: one line, in the answer's own words."""

import ast
import contextlib
import inspect
import io
import re
import tokenize
import traceback
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import reduce
from typing import Any

from clearhead.learn.adopt import Misfit
from clearhead.learn.manifest import texts
from clearhead.learn.records import Record, TooLarge
from clearhead.learn.run import Missing, Run
from clearhead.learn.sandbox import Refused
from clearhead.learn.source import BLANK

BINDING = re.compile(r"^([\w.]+)\(\) (?:takes|missing|got an unexpected|got multiple)")
CELL = re.compile(r"ipykernel|^<ipython")  # of a notebook
Names = Mapping[str, Any]


def open_blanks(text: str) -> str:
    """A message about the first blank that is not filled in, or nothing."""
    found: list[int] = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # the grader reports it
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string.strip("\"'") == BLANK and token.start[0] not in found:
                found.append(token.start[0])
    if not found:
        return ""
    more = f" ({len(found)} lines have one)" if len(found) > 1 else ""
    return f"line {found[0]}: the blank ____ is not filled in yet{more}"


def without_return(text: str, solution: str) -> Record:
    """The failure of a function that returns nothing although the solution's does, or nothing."""
    wanted = {function.name for function in _functions(solution, True)}
    for function in _functions(text, False):
        if function.name in wanted:
            message = f"{function.name} returns nothing"
            return {"error": message, "line": function.lineno, "effect": "nothing-returned"}
    return {}


def _functions(text: str, has_result: bool) -> Iterator[ast.FunctionDef]:
    """The functions that return something, or say that they are not written yet; or the others."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            ends = [n for n in ast.walk(node) if isinstance(n, ast.Return | ast.Raise)]
            if any(ast.unparse(end) != "return" for end in ends) == has_result:
                yield node


def _syntax_error(error: SyntaxError) -> Record:
    """The line and a caret, as Python itself shows them."""
    text = (error.text or "").rstrip("\n")
    caret = " " * (max(1, error.offset or 1) - 1) + "^"
    message = f"{error.msg}\n    {text}\n    {caret}"
    return {"error": message, "type": "SyntaxError", "line": error.lineno or 0}


def failure(error: BaseException, filename: str, run: Run | None = None) -> Record:
    """The record of an exception: message, type, line of the answer."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return _syntax_error(error)
    line = _frame(error, filename).lineno or 0
    kind = "RuntimeError" if _of_torch(error) else type(error).__name__
    record = {"type": kind, "line": line, "raw": str(error)[:300]}
    return {**record, "error": _message(error, filename, run)}


def _message(error: BaseException, filename: str, run: Run | None) -> str:
    words = " ".join(str(error).split())[:300]
    if message := texts()["message"].get(type(error).__name__):
        return str(message)
    if type(error) in (LookupError, Missing, Misfit, Refused):  # the grader's own words
        return words
    if isinstance(error, NameError | AttributeError) and error.name == BLANK:
        return "the blank ____ is not filled in yet"
    if isinstance(error, NotImplementedError) and not _of_torch(error):
        return "not written yet (raise NotImplementedError)"
    if "bitwise_" in words and _of_torch(error):
        return "a mask holds numbers; masks are boolean here: leave out .float() or .double()"
    if isinstance(error, TooLarge):
        return f"{words} is larger than any correct result"
    if run is not None and isinstance(error, TypeError) and (text := _signature(words, run)):
        return text
    return f"{_explained(error, run)}{type(error).__name__}: {words}{_hint(error, filename)}"


def _hint(error: BaseException, filename: str) -> str:
    """What is missing or misspelt, where the message of Python alone does not say it."""
    if isinstance(error, AttributeError):
        written = _frame(error, filename).line or ""
        close = get_close_matches(error.name or "", dir(error.obj), 1)
        return f"; did you mean {close[0]}?" if close and str(error.name) in written else ""
    if not isinstance(error, NameError | EOFError | OSError):
        return ""
    key = getattr(error, "name", None) or getattr(error, "strerror", None) or "EOFError"
    return f"; {hint}" if (hint := texts()["hint"].get(key)) else ""


def _of_torch(error: BaseException) -> bool:
    """Whether an operation does not exist for a dtype, or a module has no forward.

    PyTorch raises NotImplementedError for both.
    """
    words = ("not implemented for", 'missing the required "forward"')
    return isinstance(error, NotImplementedError) and any(w in str(error) for w in words)


def _frame(error: BaseException, filename: str) -> traceback.FrameSummary:
    """The last frame of the answer, in its file or in a notebook's cell; else an empty one."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    own = (f for f in frames if f.filename == filename or CELL.search(f.filename))
    return next(own, traceback.FrameSummary("", 0, ""))


def _signature(words: str, run: Run) -> str:
    """Expected and found signature, if the call itself did not fit."""
    match = BINDING.match(words)
    if match is None:
        return ""
    path = match.group(1)
    expected, found = _find(run.reference, path), _find(run.answer, path)
    if expected is None or found is None:
        return ""
    ours, theirs = (_arguments(inspect.signature(one)) for one in (expected, found))
    if ours == theirs:
        return f"this call does not fit {path}({ours}): {words}"
    return f"expected {path}({ours}), found {path}({theirs})"


def _find(names: Names, path: str) -> Any:
    first, *rest = path.split(".")
    return reduce(lambda value, part: getattr(value, part, None), rest, names.get(first))


def _arguments(signature: inspect.Signature) -> str:
    return ", ".join(name for name in signature.parameters if name != "self")


def _explained(error: BaseException, run: Run | None) -> str:
    """The tracer's explanation of a shape error: what met what, and the likely slip."""
    if run is None or run.last_call is None or not isinstance(error, RuntimeError | ValueError):
        return ""
    from clearhead.explain.tracer import trace

    function, inputs = run.last_call
    try:
        mistake = trace(function, *inputs).mistake
    except Exception:  # noqa: BLE001 - the answer's own error, which is reported anyway
        return ""
    # Where the exercise gives the code around a blank, the sizes of its layers are right.
    slip = mistake and f"; {mistake.slip}" * (not run.given or "nn.Linear(" not in mistake.slip)
    return f"{mistake.headline}{slip}\n" if mistake else ""
