"""Exercises are cut from the source that runs; an edit that no longer fits fails loudly."""

import ast

import pytest

from clearhead.errors import UserError
from clearhead.learn.manifest import course, subject
from clearhead.learn.observe import load_text
from clearhead.learn.source import Edit, apply_edits, body_removed, excerpt, replace
from clearhead.learn.texts import solution, starting_text, variant_text
from tests.learn.subjects import subject_names

BLOCK = ("clearhead.blocks.attention:MultiHeadAttentionBlock",)


@pytest.mark.parametrize("name", subject_names())
def test_a_solution_runs_by_itself_and_defines_what_its_source_names(name: str) -> None:
    names = vars(load_text(solution(name), f"<{name}>"))
    for address in subject(name).source:
        wanted = address.partition(":")[2].partition("(")[0].rpartition(".")[2]
        assert not wanted or callable(names[wanted])


def test_an_excerpt_leaves_out_checks_of_arguments_and_keeps_comments() -> None:
    text = excerpt(BLOCK)
    assert "UserError" not in text and "extra_repr" not in text
    assert "# (batch, seq, d_model) -> (batch, seq, h, d_k)" in text


def test_a_static_method_becomes_a_function() -> None:
    text = excerpt((BLOCK[0] + ".attention",))
    assert "\ndef attention(" in text and "@staticmethod" not in text


def test_of_a_class_only_the_named_methods_are_kept() -> None:
    text = excerpt((BLOCK[0] + "(__init__, split_heads)",))
    kept = [n.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    assert kept == ["__init__", "split_heads"]
    assert "tree" not in solution("transformer")  # __repr__ = tree


def test_an_edit_ignores_spaces_and_quotes() -> None:
    text = 'def f(x):\n    return g( x,"a" )  # kept\n'
    assert replace(text, Edit("f", "g(x, 'a')", "x + 1")) == "def f(x):\n    return x + 1  # kept\n"


def test_an_edit_finds_what_follows_letters_beyond_ascii() -> None:
    text = 'def f(x):\n    return "é" + x\n'
    assert replace(text, Edit("f", "x", "y")) == 'def f(x):\n    return "é" + y\n'


@pytest.mark.parametrize("old", ["y", "x"])
def test_an_edit_that_fits_nowhere_or_twice_fails(old: str) -> None:
    with pytest.raises(UserError, match="must occur once"):
        replace("def f(x):\n    return x + x\n", Edit("f", old, "z"))


def test_two_edits_of_one_expression_fail() -> None:
    edits = [Edit("f", "x + 1", "x"), Edit("f", "x + 1", "y")]
    with pytest.raises(UserError, match="occurs 0 times"):
        apply_edits("def f(x):\n    return x + 1\n", edits)


def test_a_removed_body_keeps_signature_and_docstring() -> None:
    text = body_removed('def f(x):\n    """Say."""\n    # how\n    y = x\n    return y\n', "f")
    assert text == 'def f(x):\n    """Say."""\n    raise NotImplementedError\n'


def test_an_address_that_is_gone_fails() -> None:
    with pytest.raises(UserError, match="not in the source any more"):
        excerpt(("clearhead.blocks.attention:NoSuchBlock",))


def test_every_exercise_can_be_written_and_every_variant_differs_from_the_solution() -> None:
    for exercise in course().exercises:
        assert starting_text(exercise)
    for name in subject_names():
        for variant in subject(name).variants:
            assert variant_text(name, variant.name) != solution(name)
