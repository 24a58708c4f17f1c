"""Scores of ended runs, computed in the background."""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from agent.errors import StudioError
from agent.experiments.folder import ExperimentFolder, RunEntry
from agent.experiments.outcomes import whole_answer
from agent.experiments.scoring import score_run
from agent.grading.checks import JudgeAccess
from agent.runs.summary import Summary
from agent.util.cancellation import Stop
from sandbox_ui.evals.cells import Cells

_THREADS = 4
_log = logging.getLogger(__name__)


class BackgroundScoring:
    """Scores runs in a few threads. Thread-safe.

    Args:
        on_scored: Called with an evaluation's id and a run, when the run's score is stored, or
            cannot be.
    """

    def __init__(self, on_scored: Callable[[str, str], None]) -> None:
        self._on_scored = on_scored
        self._pool = ThreadPoolExecutor(_THREADS, "evaluations")
        self._stop = Stop()
        self._pending: Counter[str] = Counter()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Do nothing more; what is in progress is stopped."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def pending(self, evaluation: str) -> int:
        """Return how many runs of an evaluation wait for their scores."""
        with self._lock:
            return self._pending[evaluation]

    def score(
        self,
        folder: ExperimentFolder,
        cells: Cells,
        entry: RunEntry,
        summary: Summary,
        judge: JudgeAccess | None,
    ) -> None:
        """Score the answer of an ended run."""
        with self._lock:
            if self._stop.is_set:
                return
            self._pending[folder.id] += 1
            self._pool.submit(self._score, folder, cells, entry, summary, judge)

    def _score(
        self,
        folder: ExperimentFolder,
        cells: Cells,
        entry: RunEntry,
        summary: Summary,
        judge: JudgeAccess | None,
    ) -> None:
        try:
            answer = whole_answer(folder.data, entry.run, summary)
            score_run(folder, entry, answer, judge, self._stop)
            if (score := folder.score(entry.run)) is not None:
                cells.add_score(score)
        except (OSError, StudioError) as error:
            _log.warning("A run of an evaluation cannot be scored: %s", error)
        except Exception:
            _log.exception("A run of an evaluation cannot be scored")
            raise
        finally:
            with self._lock:
                self._pending[folder.id] -= 1
            if not self._stop.is_set:
                self._on_scored(folder.id, entry.run)
