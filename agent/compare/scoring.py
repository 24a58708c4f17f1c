"""The grades of a comparison's answers; those of slow checks are stored in its folder."""

from agent.compare.comparison import Comparison
from agent.compare.folder import ComparisonFolder, ScoreEntry, digest_of
from agent.errors import TaskError
from agent.grading.checks import CHECKS, Grade, JudgeAccess
from agent.grading.grade import grade, grade_at_once, grader_of
from agent.models.base import Model
from agent.util.cancellation import Stop


def grade_of(comparison: Comparison, answer: str, stored: ScoreEntry | None) -> Grade | None:
    """Return the grade of an answer; None if no answer is expected or it is not known yet.

    Args:
        comparison: The comparison.
        answer: The whole answer.
        stored: The stored grade of the run, which counts only for this answer.
    """
    if comparison.expected is None:
        return None
    expected = comparison.expected.to_grade(comparison.task)
    if not CHECKS[expected.check].slow or not answer.strip():
        return grade_at_once(expected, answer)
    if stored is None or stored.answer != digest_of(answer):
        return None
    return Grade(
        score=stored.score, extracted=stored.extracted, reason=stored.reason,
        grader=stored.grader, votes=stored.votes, texts=stored.texts, judge=stored.model,
    )  # fmt: skip


def score_run(
    folder: ComparisonFolder,
    run: str,
    answer: str,
    judge_model: Model | None = None,
    stop: Stop | None = None,
) -> ScoreEntry | None:
    """Compute and store the grade of an ended run, if its check is slow.

    Args:
        folder: The comparison.
        run: The run.
        answer: Its whole answer.
        judge_model: The judge, for that check; its key is in memory only.
        stop: Ends the judge early; nothing is stored then.

    Returns:
        The stored grade; None if there is nothing to store.

    Raises:
        OSError: The grade cannot be written.
    """
    asked = folder.definition.expected
    if asked is None or not CHECKS[asked.kind].slow or not answer.strip():
        return None
    known = folder.scores().get(run)
    if known is not None and known.answer == digest_of(answer) and known.score is not None:
        return known
    expected, judge = asked.to_grade(folder.definition.task), None
    if asked.judge is not None and judge_model is not None:
        judge = JudgeAccess(model=judge_model, name=asked.judge.model, votes=asked.judge.votes)
    found: Grade | None
    try:
        found = grade(expected, answer, judge, stop)
    except TaskError as error:
        found = Grade(score=None, reason=str(error), grader=grader_of(expected))
    if found is None:
        return None
    entry = ScoreEntry(
        run=run, score=found.score, votes=found.votes, texts=found.texts, model=found.judge,
        reason=found.reason, extracted=found.extracted, grader=found.grader,
        answer=digest_of(answer),
    )  # fmt: skip
    folder.add_score(entry)
    return entry
