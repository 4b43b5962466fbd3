"""Answers as learners write them: right ones in other words, wrong ones with known mistakes.

A right answer is (exercise, text); a wrong one is (exercise, text, name of the mistake), or, if it
has no known mistake, (exercise, text, a part of the report).
"""

from tests.learn.answers import (
    attention,
    blocks,
    consistent,
    examined,
    functions,
    layers,
    stacks,
    unseen,
    varied,
)

Right = tuple[str, str]
Wrong = tuple[str, str, str]

MODULES = (blocks, attention, layers, stacks, functions, examined, unseen, varied, consistent)
RIGHT: list[Right] = [one for module in MODULES for one in module.RIGHT]
WRONG: list[Wrong] = [one for module in MODULES for one in module.WRONG]
UNNAMED: list[Wrong] = varied.UNNAMED
