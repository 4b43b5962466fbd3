"""`python -m clearhead.learn.build`: write the notebooks of the course.

python -m clearhead.learn.build lessons [-o DIR] [--all]  executed, with their outputs
python -m clearhead.learn.build sets [-o DIR]              the problem sets
python -m clearhead.learn.build solved -o DIR              the problem sets, solved
python -m clearhead.learn.build nbgrader -o DIR            the same as sources of nbgrader
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.learn.manifest import course
from clearhead.learn.notebooks import lessons, problem_sets, text_of

DEFAULT = {
    "lessons": "book/lessons", "sets": "book/problem_sets",
    "solved": "solved", "nbgrader": "source",
}  # fmt: skip


def write_lessons(folder: Path, everything: bool) -> Iterator[Path]:
    """Write the notebooks that are missing or out of date, or all of them.

    A lesson is executed unless only its text has changed.
    """
    for source in lessons.lesson_sources():
        target = folder / f"{source.stem}.ipynb"
        if everything or not lessons.is_current(source, target):
            kept = None if everything else lessons.with_stored_outputs(source, target)
            atomic_write(target, text_of(kept or lessons.executed(source)))
            yield target


def write_sets(folder: Path, edition: str) -> Iterator[Path]:
    """One notebook for each part; nbgrader expects each in a folder of its name."""
    for number in range(1, len(course().parts) + 1):
        stem = problem_sets.file_stem(number)
        target = (folder / stem if edition == "nbgrader" else folder) / f"{stem}.ipynb"
        if edition == "nbgrader":
            content = problem_sets.nbgrader_source(number)
        else:
            content = problem_sets.problem_set(number, edition == "solved")
        atomic_write(target, text_of(content))
        yield target


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; the exit status is 1 if a lesson fails."""
    parser = argparse.ArgumentParser(
        prog="python -m clearhead.learn.build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=DEFAULT)
    parser.add_argument("-o", "--output", type=Path, metavar="DIR")
    parser.add_argument("--all", action="store_true", help="execute up-to-date lessons, too")
    options = parser.parse_args(arguments)
    folder = options.output or Path(DEFAULT[options.what])
    try:
        made = write_lessons(folder, options.all)
        for path in made if options.what == "lessons" else write_sets(folder, options.what):
            print(path, flush=True)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
