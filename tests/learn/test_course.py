"""What `clearhead learn dev check` proves, for one subject; CI runs it for all."""

from clearhead.learn.dev import check_course
from clearhead.learn.manifest import CODING, course, subject
from tests.learn.subjects import subject_names

SEED_BLANKS = 7  # exercises that hold the blanks of the source problem set, Part 1
WRITTEN_TASKS = 4


def test_dev_check_finds_no_problem_in_a_subject() -> None:
    problems, lines = check_course(["residual"])
    assert not problems
    known = len(subject("residual").variants)
    assert f"recognised as itself: {known} of {known}; as another: 0" in lines[-1]


def test_there_are_enough_exercises_and_known_mistakes() -> None:
    coding = [e for e in course().exercises if e.kind in CODING]
    assert len(course().exercises) >= 50 and len(coding) >= 40
    assert sum(len(subject(name).variants) for name in subject_names()) >= 150
    assert all(len(subject(e.subject).variants) >= 3 for e in coding)
    assert {e.chapter for e in course().exercises} == set(course().chapters)


def test_every_blank_and_written_task_of_the_source_problem_set_is_there() -> None:
    seeds = [e.seeds for e in course().exercises if e.seeds.startswith("Part 1")]
    written = {s for s in seeds if "Written Task" in s}
    assert len(written) == WRITTEN_TASKS and len(seeds) - len(written) >= SEED_BLANKS
