"""Written tasks: the learner answers, compares with a model answer, and assesses herself."""

from clearhead.learn.manifest import Exercise
from clearhead.learn.report import Check, Report
from clearhead.learn.texts import RULE

FEWEST_WORDS = 15
CONFIRMED = "[x]"


def answer_of(text: str) -> str:
    """What stands below the line of the file, without the self-assessment."""
    below = text.rpartition(RULE)[2] if RULE in text else text
    return below.partition("## Self-assessment")[0].strip()


def assess(exercise: Exercise, text: str) -> Report:
    """One check: is there an answer? Its quality is assessed by the learner herself."""
    words = len(answer_of(text).split())
    enough = words >= FEWEST_WORDS
    message = f"{words} words so far; write at least {FEWEST_WORDS}"
    return Report(exercise.name, (Check("an answer is written", enough, message),))


def model_answer(exercise: Exercise) -> str:
    """The model answer and the rubric, to be read after answering."""
    points = "\n".join(f"- [ ] {point}" for point in exercise.rubric)
    return f"A model answer:\n\n{exercise.answer.strip()}\n\nYour answer says that …\n{points}\n"
