"""Score the answers of ended runs, and store the scores."""

from agent.compare.folder import digest_of
from agent.compare.outcomes import whole_answer
from agent.errors import StudioError
from agent.evals.folder import EvaluationFolder, RunEntry, ScoreEntry
from agent.grading.checks import Grade, JudgeAccess
from agent.grading.grade import grade, grader_of
from agent.runs.summary import Summary
from agent.util.cancellation import Stop


def score_run(
    folder: EvaluationFolder,
    entry: RunEntry,
    answer: str,
    judge: JudgeAccess | None = None,
    stop: Stop | None = None,
) -> ScoreEntry | None:
    """Compute and store the score of an ended run; this may take seconds or minutes.

    If the check cannot run here, the run stays without a score.

    Args:
        folder: The evaluation.
        entry: The run.
        answer: Its whole answer.
        judge: The judge, for suites that need one; its key is in memory only.
        stop: Ends the judge early; nothing is stored then.

    Returns:
        The score; None if it was stopped.

    Raises:
        OSError: The score cannot be written.
    """
    known = folder.score(entry.run)
    if known is not None and known.value is not None and known.answer == digest_of(answer):
        return known
    expected = folder.suite_of[entry.task].expected(folder.tasks[entry.task])
    found: Grade | None
    try:
        found = grade(expected, answer, judge, stop)
    except StudioError as error:
        found = Grade(score=None, reason=str(error), grader=grader_of(expected))
    if found is None:
        return None
    return folder.add_score(entry.run, found, answer)


def answer_of(folder: EvaluationFolder, entry: RunEntry, summary: Summary) -> str:
    """Return the whole answer of an ended run, to score it later."""
    return whole_answer(folder.data, entry.run, summary)
