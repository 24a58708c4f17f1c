"""Grade answers of ended runs, and store the grades of slow checks and of evaluations."""

from agent.errors import StudioError
from agent.experiments.experiment import Judge
from agent.experiments.folder import ExperimentFolder, RunEntry, ScoreEntry, digest_of
from agent.grading.checks import CHECKS, Expected, Grade, JudgeAccess, grader_of
from agent.models.base import Model
from agent.util.stop import Stop

UNREAD_ANSWERS = 2  # after as many first answers without any vote an experiment stops


def judge_access(judge: Judge | None, model: Model | None) -> JudgeAccess | None:
    """Return how a judge is asked; None without one."""
    if judge is None or model is None:
        return None
    return JudgeAccess(
        model=model, name=judge.model, prompt=judge.prompt, votes=judge.votes, words=judge.words
    )


class JudgeWatch:
    """Notices a judge that cannot be read, by its first answers. Thread-safe enough: it counts."""

    def __init__(self) -> None:
        self._unread = 0
        self._was_read = False

    def problem(self, found: Grade | None) -> str:
        """Return why all runs must stop, after a grade; empty if they may go on."""
        if found is None or not found.votes or self._was_read:
            return ""
        if any(vote is not None for vote in found.votes):
            self._was_read = True
            return ""
        self._unread += 1
        if self._unread < UNREAD_ANSWERS:
            return ""
        return f"The judge cannot be read: {found.reason} Nothing more was started."


def is_stored(folder: ExperimentFolder, expected: Expected | None) -> bool:
    """Whether the grades of answers to a task are stored."""
    return expected is not None and (folder.kind == "evaluation" or CHECKS[expected.check].slow)


def known_grade(
    folder: ExperimentFolder, task: int, answer: str, stored: ScoreEntry | None
) -> Grade | None:
    """Return the grade of an answer, the stored one if it is of it; None if it is not known."""
    expected = folder.expected(task)
    if expected is None:
        return None
    if not is_stored(folder, expected) or not answer.strip():
        from agent.grading.grade import grade_at_once  # only to grade

        return grade_at_once(expected, answer)
    return stored.grade if stored and stored.answer == digest_of(answer) else None


def score_run(
    folder: ExperimentFolder,
    entry: RunEntry,
    answer: str,
    judge: JudgeAccess | None = None,
    stop: Stop | None = None,
) -> Grade | None:
    """Return the grade of an ended run, stored if it has to be; this may take minutes.

    None if it was stopped, which stores nothing, or if no answer is expected. If the check cannot
    run here, the run stays without a score.
    """
    from agent.grading.grade import grade, grade_at_once  # only to grade

    expected = folder.expected(entry.task)
    if expected is None:
        return None
    if not is_stored(folder, expected):
        return grade_at_once(expected, answer)
    known = folder.score(entry.run)
    if known is not None and known.value is not None and known.answer == digest_of(answer):
        return known.grade
    found: Grade | None
    try:
        found = grade(expected, answer, judge, stop)
    except StudioError as error:
        found = Grade(score=None, reason=str(error), grader=grader_of(expected))
    if found is not None:
        folder.add_score(entry.run, found, answer)
    return found
