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
from clearhead.learn.notebooks import text_of
from clearhead.learn.notebooks.lessons import (
    executed,
    is_current,
    lesson_sources,
    with_stored_outputs,
)
from clearhead.learn.notebooks.problem_sets import file_stem, nbgrader_source, problem_set

DEFAULT = {
    "lessons": "book/lessons",
    "sets": "book/problem_sets",
    "solved": "solved",
    "nbgrader": "source",
}


def write_lessons(folder: Path, everything: bool) -> Iterator[Path]:
    """Write the notebooks that are missing or out of date, or all of them.

    A lesson is executed unless only its text has changed.
    """
    for source in lesson_sources():
        target = folder / f"{source.stem}.ipynb"
        if everything or not is_current(source, target):
            kept = None if everything else with_stored_outputs(source, target)
            atomic_write(target, text_of(kept or executed(source)))
            yield target


def write_sets(folder: Path, solved: bool) -> Iterator[Path]:
    """One notebook for each part."""
    for number in range(1, len(course().parts) + 1):
        target = folder / f"{file_stem(number)}.ipynb"
        atomic_write(target, text_of(problem_set(number, solved)))
        yield target


def write_nbgrader(folder: Path) -> Iterator[Path]:
    """One assignment for each part: `part_1_…/part_1_….ipynb`, as nbgrader expects in `source`."""
    for number in range(1, len(course().parts) + 1):
        stem = file_stem(number)
        (folder / stem).mkdir(exist_ok=True)
        atomic_write(folder / stem / f"{stem}.ipynb", text_of(nbgrader_source(number)))
        yield folder / stem / f"{stem}.ipynb"


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
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if options.what == "lessons":
            written = write_lessons(folder, options.all)
        elif options.what == "nbgrader":
            written = write_nbgrader(folder)
        else:
            written = write_sets(folder, solved=options.what == "solved")
        for path in written:
            print(path, flush=True)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
