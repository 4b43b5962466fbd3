"""Watch mode: a save re-runs what changed; single keys for hint, list, next, reset, all, quit."""

from collections.abc import Iterator
from pathlib import Path

from clearhead.errors import UserError
from clearhead.learn.folder import locate, reset
from clearhead.learn.manifest import Exercise, course
from clearhead.learn.session import Session, describe, what_next

BAR = 30
KEYS = "h hint · l list · n next · r reset · a check all · q quit"


class Watch:
    """The exercise at which the learner is, and the times at which its files changed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.current: Exercise | None = session.next()
        self.times = self._now()

    def run(self, keys: Iterator[str]) -> None:
        """Until the learner quits; an empty key says that a moment has passed."""
        self.session.grader.start()
        self._check(self.current)
        for key in keys:
            if key == "q":
                return
            self.press(key)
            for exercise in self.changed():
                self._check(exercise)

    def changed(self) -> list[Exercise]:
        """The exercises whose files were saved since the last call."""
        now, before = self._now(), self.times
        self.times = now
        return [e for e in course().exercises if now[e.name] not in (before[e.name], 0.0)]

    def _now(self) -> dict[str, float]:
        folder = self.session.folder
        return {e.name: _modified(locate(folder, e)) for e in course().exercises}

    def press(self, key: str) -> None:
        """What a key does."""
        if key == "l":
            print("\n".join(listing(self.session)))
        elif key == "a":
            self._check_all()
        elif self.current is not None and key == "h":
            print(self.session.hint(self.current))
        elif self.current is not None and key == "n":
            self._go(self.current)
        elif self.current is not None and key == "r":
            print(reset(self.session.folder, self.current))
            self.times = self._now()

    def _check_all(self) -> None:
        for exercise in course().exercises:
            if exercise.name in self.session.progress.attempts:
                self._check(exercise)

    def _go(self, current: Exercise) -> None:
        """Move on to the next exercise that is not done; after the last one, to the first."""
        every = course().exercises
        index = every.index(current) + 1
        following = [*every[index:], *every[:index]]
        self.current = next((e for e in following if not self.session.is_done(e)), None)
        self._check(self.current)

    def _check(self, exercise: Exercise | None) -> None:
        if exercise is None:
            print("Every exercise is done.")
            return
        path = locate(self.session.folder, exercise)
        print(f"\n{path.relative_to(self.session.folder)} …", flush=True)
        try:
            report = self.session.check(exercise)
        except UserError as error:  # the file is not text, or has just been removed
            print(error)
            return
        print("\n".join(describe(self.session, exercise, report)))
        if report.passed and exercise.kind == "written":
            print(f"  Assess yourself: clearhead learn check {exercise.name}")
        if report.passed and exercise is self.current:
            self.current = self.session.next()
            print("\n".join(what_next(self.session)))
        print(f"{progress_bar(self.session)}\n{KEYS}", flush=True)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # an editor may replace the file at this moment
        return 0.0


def progress_bar(session: Session) -> str:
    """`[#####-----] 12 of 50`."""
    done, total = session.done(), len(course().exercises)
    full = round(BAR * done / total)
    return f"[{'#' * full}{'-' * (BAR - full)}] {done} of {total}"


def listing(session: Session) -> list[str]:
    """Every exercise with its state, by chapter."""
    lines, following = [], session.next()
    for number, title in course().chapters.items():
        lines.append(f"{number}. {title}")
        for e in course().inside(number):
            state = "x" if session.is_done(e) else ">" if e is following else " "
            facts = f"{e.kind_name}, {e.minutes} min"
            lines.append(f"  [{state}] {course().number(e):5} {e.name:28} {e.title} ({facts})")
    return [*lines, progress_bar(session)]
