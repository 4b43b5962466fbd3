"""A skeleton for authors: the manifest entry of a new exercise."""

from clearhead.errors import UserError
from clearhead.learn.manifest import course, subject
from clearhead.learn.texts import solution

LONGEST_NAME = 31

ENTRY = """[[exercise]]
name = "{name}"
title = ""
chapter = {chapter}
kind = "blank"
subject = "{subject}"
minutes = 5
difficulty = 1
task = ""
hints = ["", "", ""]
blanks = [{{ in = "{inside}", old = "" }}]
key_idea = ""
"""


def new_entry(name: str, chapter: int, subject_name: str) -> str:
    """A manifest entry to fill in, with the source from which a blank can be cut.

    Raises:
        UserError: the name is taken or too long, or there is no such chapter or subject.
    """
    if len(name) > LONGEST_NAME or any(e.name == name for e in course().exercises):
        raise UserError(f"{name} is taken or longer than {LONGEST_NAME} characters")
    if chapter not in course().chapters:
        raise UserError(f"there is no chapter {chapter}; chapters are {list(course().chapters)}")
    inside = subject(subject_name).source[0].rpartition(":")[2].rpartition(".")[2]
    entry = ENTRY.format(name=name, chapter=chapter, subject=subject_name, inside=inside)
    shown = "".join(f"# {line}\n" for line in solution(subject_name).splitlines())
    return f"{entry}\n# The source:\n{shown}"
