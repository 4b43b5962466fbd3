"""Ugly code shows in the tail first: the largest file, the longest function, the most arguments."""

import ast

import pytest

from tests.laws.tree import Function, functions, lines_of_code, name_of, parse, source_files

# A module is a topic that one looks for by its name, not a fragment of one.
LINES_OF_A_FILE, LINES_OF_A_FUNCTION, ARGUMENTS = 200, 40, 8

# The seeds wrote these signatures, and what the seeds call must work as they call it.
SIGNATURES_OF_THE_SEEDS = {"build_transformer"}


def count_arguments(function: Function) -> int:
    everyone = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([a for a in everyone if a.arg not in ("self", "cls")])


def lines_of_body(function: Function, name: str) -> int:
    """Of a verb of the command line, whose signature lists the options, only the body."""
    if "/cli/" not in name:
        return lines_of_code(function)
    return sum(lines_of_code(statement) for statement in function.body[1:])


def all_functions() -> list[tuple[str, Function]]:
    return [
        (f"{name_of(path, function)} {function.name}", function)
        for path in source_files()
        for function in functions(parse(path))
    ]


def test_a_file_is_a_page() -> None:
    sizes = {name_of(path): lines_of_code(parse(path)) for path in source_files()}
    assert not over(sizes, LINES_OF_A_FILE)


def test_a_function_fits_the_eye() -> None:
    assert not over({n: lines_of_body(f, n) for n, f in all_functions()}, LINES_OF_A_FUNCTION)


def test_few_arguments() -> None:
    counts = {
        name: count_arguments(function)
        for name, function in all_functions()
        if "/cli/" not in name and function.name not in SIGNATURES_OF_THE_SEEDS
    }
    assert not over(counts, ARGUMENTS)


def test_no_keyword_bags() -> None:
    bags = [(name, function.args.kwarg) for name, function in all_functions()]
    # A decorator with the signature of what it decorates passes on named arguments, no others.
    same = "P.kwargs"
    assert not [n for n, bag in bags if bag and same != ast.unparse(bag.annotation or ast.Name(""))]


def test_the_tail_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    files = {name_of(path): lines_of_code(parse(path)) for path in source_files()}
    lengths = {name: lines_of_code(function) for name, function in all_functions()}
    counts = {name: count_arguments(function) for name, function in all_functions()}
    with capsys.disabled():
        print("\n  our tail, in lines of code:")
        for title, sizes in (("lines", files), ("lines", lengths), ("arguments", counts)):
            for name, size in sorted(sizes.items(), key=lambda row: -row[1])[:3]:
                print(f"  {size:5d} {title:9s} {name}")


def over(sizes: dict[str, int], limit: int) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if size > limit}
