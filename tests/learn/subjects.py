"""The subjects of the course."""

from clearhead.learn.manifest import course


def subject_names() -> list[str]:
    """Every subject that an exercise uses, in the order of the course."""
    return list(dict.fromkeys(e.subject for e in course().exercises if e.subject))
