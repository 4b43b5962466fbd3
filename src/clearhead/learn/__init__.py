"""The course: exercises cut from the library's source, and a grader that names the mistake.

In a notebook: ``from clearhead.learn import check``, then ``check(MultiHeadAttentionBlock)``.
"""

__all__ = ["check"]


def __getattr__(name: str) -> object:
    """Load the grader when it is first used (PEP 562): the command line starts without torch."""
    if name != "check":
        raise AttributeError(f"module 'clearhead.learn' has no attribute {name!r}")
    from clearhead.learn.notebook import check

    return check
