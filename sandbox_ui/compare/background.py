"""Slow work on comparisons in the background: scores and the sizes of documents."""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from agent.errors import StudioError
from agent.experiments.documents import measure_documents
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Outcome, outcomes_of
from agent.experiments.scoring import score_run
from agent.grading.checks import CHECKS, JudgeAccess
from agent.runs.summary import Summary
from agent.util.cancellation import Stop
from agent.workspace.files import Workspace

_THREADS = 2
_log = logging.getLogger(__name__)


class BackgroundWork:
    """Works in a few threads. Thread-safe.

    Args:
        summaries: Returns the summaries of a comparison's runs.
        on_changed: Called with a comparison's id when something about it is known.
    """

    def __init__(
        self,
        summaries: Callable[[ExperimentFolder], Mapping[str, Summary | None]],
        on_changed: Callable[[str], None],
    ) -> None:
        self._summaries = summaries
        self._on_changed = on_changed
        self._pool = ThreadPoolExecutor(_THREADS, "comparisons")
        self._stop = Stop()
        self._scoring: set[str] = set()
        self._again: dict[str, JudgeAccess | None] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Do nothing more; what is in progress is stopped."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def score(self, folder: ExperimentFolder, judge: JudgeAccess | None = None) -> None:
        """Compute the scores of ended runs that have none, if the check takes seconds.

        Args:
            folder: The comparison.
            judge: The judge; without one, answers are only compared by rules.
        """
        expected = folder.definition.expected
        if expected is None or not CHECKS[expected.kind].slow:
            return
        if (expected.kind == "judge") != (judge is not None):
            return
        with self._lock:
            if folder.id in self._scoring:
                self._again[folder.id] = judge
                return
            self._scoring.add(folder.id)
        self._submit(lambda: self._score(folder, judge))

    def measure(
        self, folder: ExperimentFolder, workspace: Workspace, on_done: Callable[[], None]
    ) -> None:
        """Measure the inputs' texts, then call a function in any case."""

        def job() -> None:
            try:
                if folder.definition.inputs:
                    measure_documents(folder, workspace)
                    self._on_changed(folder.id)
            finally:
                on_done()

        self._submit(job)

    def _score(self, folder: ExperimentFolder, judge: JudgeAccess | None) -> None:
        try:
            for outcome in unscored(folder, self._summaries(folder)):
                if self._stop.is_set:
                    return
                score_run(folder, outcome.entry, outcome.answer, judge, self._stop)
                self._on_changed(folder.id)
        finally:
            with self._lock:
                self._scoring.discard(folder.id)
                again = folder.id in self._again
                judge = self._again.pop(folder.id, None)
        if again:
            self.score(folder, judge)

    def _submit(self, job: Callable[[], None]) -> None:
        def logged() -> None:
            try:
                job()
            except (OSError, StudioError) as error:
                _log.warning("Work on a comparison failed: %s", error)
            except Exception:
                _log.exception("Work on a comparison failed")
                raise

        if not self._stop.is_set:
            self._pool.submit(logged)


def unscored(folder: ExperimentFolder, summaries: Mapping[str, Summary | None]) -> list[Outcome]:
    """Return the ended runs with an answer whose score is to be computed and stored."""
    expected = folder.definition.expected
    if expected is None or not CHECKS[expected.kind].slow:
        return []
    return [
        outcome
        for member in outcomes_of(folder, summaries)
        for outcome in member
        if outcome.counts and outcome.score is None and outcome.answer.strip()
    ]
