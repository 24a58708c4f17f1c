"""Slow work on experiments in the background: scores and the sizes of documents."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from agent.errors import StudioError
from agent.experiments.document_sizes import measure_documents
from agent.experiments.folder import ExperimentFolder, RunEntry
from agent.experiments.outcomes import whole_answer
from agent.experiments.scoring import score_run
from agent.grading.checks import JudgeAccess
from agent.runs.summary import Summary
from agent.util.stop import Stop
from agent.workspace.files import Workspace

_THREADS = 4
_log = logging.getLogger(__name__)
_Job = tuple[ExperimentFolder, RunEntry, Summary, JudgeAccess | None]


class BackgroundWork:
    """Works in a few threads, and tells ``on_scored`` a run whose score is stored or cannot be."""

    def __init__(self, on_scored: Callable[[str, str], None]) -> None:
        self._on_scored = on_scored
        self._pool = ThreadPoolExecutor(_THREADS, "experiments")
        self._stop = Stop()
        self._pending: dict[tuple[str, str], _Job | None] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Do nothing more; what is in progress is stopped."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def pending(self, experiment: str) -> int:
        """Return how many runs of an experiment wait for their scores."""
        with self._lock:
            return sum(each == experiment for each, _ in self._pending)

    def score(
        self, folder: ExperimentFolder, entry: RunEntry, summary: Summary,
        judge: JudgeAccess | None,
    ) -> None:  # fmt: skip
        """Score the answer of an ended run; once more if it is being scored."""
        key, job = (folder.id, entry.run), (folder, entry, summary, judge)
        with self._lock:
            if key in self._pending:
                self._pending[key] = job
            elif not self._stop.is_set:
                self._pending[key] = None
                self._pool.submit(self._logged, lambda: self._score(*job))

    def measure(
        self, folder: ExperimentFolder, workspace: Workspace, on_done: Callable[[], None]
    ) -> None:
        """Measure the inputs' texts, then call a function in any case."""

        def job() -> None:
            try:
                if folder.definition.inputs:
                    measure_documents(folder, workspace)
            finally:
                on_done()

        if not self._stop.is_set:
            self._pool.submit(self._logged, job)

    def _score(
        self, folder: ExperimentFolder, entry: RunEntry, summary: Summary,
        judge: JudgeAccess | None,
    ) -> None:  # fmt: skip
        try:
            answer = whole_answer(folder.data, entry.run, summary)
            score_run(folder, entry, answer, judge, self._stop)
        finally:
            with self._lock:
                again = self._pending.pop((folder.id, entry.run))
            if again is not None:
                self.score(*again)
            if not self._stop.is_set:
                self._on_scored(folder.id, entry.run)

    @staticmethod
    def _logged(job: Callable[[], None]) -> None:
        try:
            job()
        except (OSError, StudioError) as error:
            _log.warning("Work on an experiment failed: %s", error)
        except Exception:
            _log.exception("Work on an experiment failed")
            raise
