"""`clearhead learn`: the exercises, their grader, and the tools of teachers and authors."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.streams import keyboard, only_file, warnings_on_stderr
from clearhead.errors import UserError, counted

if TYPE_CHECKING:
    from clearhead.learn.manifest import Exercise
    from clearhead.learn.session import Session

app = typer.Typer(
    help="Exercises and a grader; without a command: check a file whenever it is saved.",
    rich_markup_mode=None,
)
dev = typer.Typer(help="For authors of exercises.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(dev, name="dev")

Name = Annotated[str, typer.Argument(help="An exercise; `clearhead learn list` shows them.")]
Page = typer.Option("--output", "-o", help="The page to write.", callback=only_file)
Json = Annotated[bool, typer.Option("--json", help="Print JSON in Exercism's format.")]
FAILED = 1  # the exit code of a check that did not pass


@app.callback(invoke_without_command=True)
def watch(context: typer.Context) -> None:
    """Without a command, check an exercise whenever its file is saved."""
    if context.invoked_subcommand is not None:
        return
    from clearhead.learn.client import Grader
    from clearhead.learn.folder import find_folder
    from clearhead.learn.session import Session
    from clearhead.learn.watch import Watch

    folder = find_folder(Path.cwd())
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError(
            "watch mode needs a terminal; run `clearhead learn check` after each change instead"
        )
    with Grader() as one, keyboard() as keys:
        Watch(Session(folder, one)).run(keys)


@app.command()
def start(
    directory: Annotated[
        Path, typer.Argument(help="A new folder, or one to bring up to date.")
    ] = Path("clearhead-course"),
) -> None:
    """Write or update the exercises; answers are kept."""
    from clearhead.learn.client import Grader
    from clearhead.learn.folder import start as start_folder
    from clearhead.learn.session import Session
    from clearhead.learn.texts import file_name

    done = start_folder(directory)
    updated = f", {done.refreshed} brought up to date" if done.refreshed else ""
    print(f"{directory}: {counted(done.new, 'new exercise')}{updated}")
    for name in done.outdated:
        print(f"{name} has a new version; your answer is kept (clearhead learn reset {name})")
    if not directory.samefile("."):
        print(f"Next: cd {directory}")
    if following := Session(directory, Grader()).next():
        print(f"Edit {file_name(following)} and run: clearhead learn check")
    print("Or run `clearhead learn`: it checks a file whenever you save it.")


@app.command()
def check(
    name: Annotated[
        str | None, typer.Argument(help="An exercise.", show_default="the next one")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Check this file; no folder of exercises is needed.")
    ] = None,
    json: Json = False,
) -> None:
    """Check one exercise and name the mistake."""
    from clearhead.learn.client import Grader
    from clearhead.learn.folder import find_folder, read_file
    from clearhead.learn.manifest import course
    from clearhead.learn.report import exercism
    from clearhead.learn.session import Session, assess_yourself, check_text, describe, what_next

    with Grader() as one:
        one.start()  # loads while the rest is read
        if file is not None:
            if name is None:
                raise UserError("--file is graded as one exercise; give its NAME as well")
            exercise = course().exercise(name)
            report = check_text(exercise, read_file(file), one)
            lines = [f"{name}: {line}" for line in report.lines()[:1]] + report.lines()[1:]
        else:
            session = Session(find_folder(Path.cwd()), one)
            wanted = course().exercise(name) if name else session.next()
            exercise = wanted or course().exercises[-1]
            report = session.check(exercise)
            lines = describe(session, exercise, report)
    print(exercism(report) if json else "\n".join(lines))
    if not report.passed:
        raise typer.Exit(FAILED)
    if file is None and not json:
        assess_yourself(session, exercise)
        print("\n".join(what_next(session)))


@app.command()
def hint(name: Name) -> None:
    """Show the next hint: idea, formula, shape."""
    print(_session().hint(_exercise(name)))


@app.command("list")
def list_exercises() -> None:
    """List the exercises and your progress."""
    from clearhead.learn.watch import listing

    print("\n".join(listing(_session())))


@app.command()
def reset(name: Name) -> None:
    """Restore an exercise's file; your answer is kept as a backup."""
    from clearhead.learn.folder import reset as reset_file

    print(reset_file(_session().folder, _exercise(name)))


@app.command()
def solution(
    name: Name,
    spoil: Annotated[bool, typer.Option("--spoil", help="Also before it is passed.")] = False,
) -> None:
    """Print the solution: the library's own source."""
    print(_session().solution(_exercise(name), spoil), end="")


@app.command("test-out")
def test_out(chapter: Annotated[int, typer.Argument(help="The chapter's number.")]) -> None:
    """Skip a chapter by passing its hardest exercises."""
    session = _session()
    with session.grader:
        reports = session.test_out(chapter)
    for report in reports:
        print(f"{report.exercise}: {report.lines()[0]}")
    if failed := [report.exercise for report in reports if not report.passed]:
        print(f"To skip chapter {chapter}, solve: {', '.join(failed)}")
        raise typer.Exit(FAILED)
    print(f"Chapter {chapter} is done.")


@app.command()
def export(output: Annotated[Path, Page] = Path("portfolio.html")) -> None:
    """Write your portfolio: every answer on one page."""
    from clearhead.files import atomic_write
    from clearhead.learn.pages import portfolio

    session = _session()
    atomic_write(output, portfolio(session))
    print(f"{output}: {counted(session.done(), 'exercise')} done")


@app.command()
def certificate(
    text: Annotated[str, typer.Argument(help="An English sentence.")] = "A woman reads a book.",
    name: Annotated[str, typer.Option(help="Your name, to appear on the page.")] = "",
    output: Annotated[Path, Page] = Path("certificate.html"),
) -> None:
    """Write a page with a translation by your own blocks, and your progress."""
    from clearhead.files import atomic_write
    from clearhead.learn import pages

    session = _session()
    proof = pages.prove(pages.learners_blocks(session), text)
    atomic_write(output, pages.certificate(session, proof, name))
    print("\n".join([*map(str, proof.blocks), proof.translation]))
    print(f"{output}: {counted(session.done(), 'exercise')} done")


@app.command()
def grade(
    directory: Annotated[
        Path, typer.Argument(help="Submissions: STUDENT/EXERCISE.py, or notebooks.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The table.", callback=only_file)
    ] = Path("grades.csv"),
    json: Annotated[
        Path | None, typer.Option(help="Also write Exercism results: FOLDER/STUDENT/EXERCISE.json.")
    ] = None,
    gradescope: Annotated[Path | None, typer.Option(help="Gradescope's results.json.")] = None,
    classroom: Annotated[Path | None, typer.Option(help="GitHub Classroom's results.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Answers graded at a time.")] = 2,
) -> None:
    """Grade a folder of submissions; count the mistakes."""
    from clearhead.files import atomic_write
    from clearhead.learn import report as formats
    from clearhead.learn.teacher import grade_all, submissions, summary, to_csv

    with warnings_on_stderr(quiet=False):
        every = submissions(directory)
    graded = []
    try:
        for one in grade_all(every, jobs, lambda n: _count(n, len(every))):
            graded.append(one)
            if json is not None:
                target = json / one.submission.student / f"{one.report.exercise}.json"
                atomic_write(target, formats.exercism(one.report) + "\n")
    finally:  # Ctrl-C loses no result
        if graded:
            atomic_write(output, "\ufeff" + to_csv(graded))  # without it, Excel garbles accents
    reports = [one.report for one in graded]
    if gradescope:
        atomic_write(gradescope, formats.gradescope(reports) + "\n")
    if classroom:
        atomic_write(classroom, formats.github_classroom(reports) + "\n")
    print(summary(graded))
    print(f"\n{output}: {counted(len(graded), 'row')}")


@dev.command("check")
def dev_check(
    names: Annotated[list[str] | None, typer.Argument(help="Exercises or subjects.")] = None,
) -> None:
    """Check that unsolved exercises fail, solutions pass, and known mistakes are recognized."""
    from clearhead.learn.dev import check_course

    problems, lines = check_course(names or [])
    print("\n".join(lines))
    if problems:
        print("\n".join(f"problem: {problem}" for problem in problems))
        raise typer.Exit(FAILED)


@dev.command("new")
def dev_new(
    name: Annotated[str, typer.Argument(help="The new exercise's name.")],
    chapter: Annotated[int, typer.Option(help="Its chapter.")],
    subject: Annotated[str, typer.Option(help="What the grader runs.")],
) -> None:
    """Print a manifest entry to fill in."""
    from clearhead.learn.dev import new_entry

    print(new_entry(name, chapter, subject))


def _session() -> "Session":
    from clearhead.learn.client import Grader
    from clearhead.learn.folder import find_folder
    from clearhead.learn.session import Session

    return Session(find_folder(Path.cwd()), Grader())


def _exercise(name: str) -> "Exercise":
    from clearhead.learn.manifest import course

    return course().exercise(name)


def _count(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} graded", end=end, file=sys.stderr, flush=True)
