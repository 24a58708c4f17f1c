"""Questions about the runs of evaluations: estimated, asked in the background, stopped."""

import logging
import threading
from typing import Any

from pydantic import Field

from agent.errors import QuotaExceeded, RunError
from agent.experiments.preflight.estimate import Estimate
from agent.experiments.scan.asking import Asked
from agent.experiments.scan.description import answers_to_json
from agent.experiments.scan.records import Question, QuestionKind
from agent.experiments.scan.scanner import Scanner, estimate, missing, planned
from agent.models.base import Model
from agent.runs.spec import RunSpec
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.definition import stored_url
from sandbox_ui.experiments.live_experiment import LiveExperiment
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.request import EndpointRequest, Few
from sandbox_ui.runs.service import RunRequest, model_for

_MAX_RUNNING = 3  # questions about one user's evaluations
_log = logging.getLogger(__name__)


class QuestionRequest(EndpointRequest):
    """A question as a client asks it, about the runs that a ``filter`` names."""

    text: str
    kind: QuestionKind = "yes_no"
    categories: Few[str] = Field(default_factory=list)
    filter: str = ""


class Questions:
    """The questions in progress. Thread-safe."""

    def __init__(self, experiments: ExperimentManager, settings: Settings) -> None:
        self._experiments = experiments
        self._settings = settings
        self._lock = threading.Lock()

    def estimate(self, experiment: str, request: QuestionRequest) -> Estimate:
        """Estimate a question. Raises ``UsageError``."""
        live = self._experiments.own(experiment)
        return estimate(live.folder, self._planned(live, request), self._settings.limits().price)

    def ask(self, experiment: str, request: QuestionRequest, user: User) -> str:
        """Ask a question in the background; return its id. Raises ``UsageError``."""
        live = self._experiments.own(experiment)
        model = self._model(request, request.text, user)
        question = self._planned(live, request)
        self._start(live, question, model)
        return question.id

    def resume(self, experiment: str, question: str, request: EndpointRequest, user: User) -> None:
        """Ask about the runs that have no answer yet, with the key of the question's endpoint."""
        live = self._experiments.own(experiment)
        known = _known(live, question)
        if stored_url(request.base_url, self._settings) != known.base_url:
            named = known.base_url or "the studio’s"
            raise RunError(f"Connect the endpoint that was asked before, {named}, and try again.")
        endpoint = request.model_copy(update={"model": known.model})
        self._start(live, known, self._model(endpoint, known.text, user))

    def stop(self, experiment: str, question: str) -> None:
        """Stop a question; its answers stay."""
        live = self._experiments.own(experiment)
        _known(live, question)
        if scanner := live.scanners.get(question):
            scanner.stop.set()

    def answers(self, experiment: str, runs: list[str]) -> dict[str, list[dict[str, Any]]]:
        """Return the answers about some runs, by run."""
        live = self._experiments.catch_up(experiment)
        return {run: answers_to_json(live.folder.scans.of(run)) for run in runs}

    def _model(self, request: EndpointRequest, text: str, user: User) -> Model:
        spec = RunSpec(
            task=text, base_url=request.base_url, model=request.model.strip(), mode="plain"
        )
        return model_for(RunRequest(spec, request.api_key), self._settings, user)

    def _planned(self, live: LiveExperiment, request: QuestionRequest) -> Question:
        question = Question(
            id="", text=request.text.strip(), kind=request.kind,
            categories=tuple(each.strip() for each in request.categories),
            model=request.model.strip() or self._settings.model,
            base_url=stored_url(request.base_url, self._settings), chosen=request.filter,
        )  # fmt: skip
        return planned(live.folder, self._experiments.describe(live.folder.id), question)

    def _start(self, live: LiveExperiment, question: Question, model: Model) -> None:
        with self._lock:
            if question.id in live.asked:
                raise RunError("This question is being asked.")
            owned = self._experiments.registry.all(live.folder.owner)
            if sum(len(each.asked) for each in owned) >= _MAX_RUNNING:
                raise QuotaExceeded(
                    f"{_MAX_RUNNING} questions are being asked. Wait until one is answered, or "
                    "stop one."
                )
            live.folder.scans.ask(question)
            if not missing(live.folder, question):
                raise RunError("All runs that were asked about have an answer.")
            scanner = Scanner(
                live.folder, question, Asked(model, self._settings.limits().price),
                lambda answer: self._experiments.refresh_run(live, answer.run),
            )  # fmt: skip
            live.scanners[question.id] = scanner
        thread = threading.Thread(
            target=self._run, args=(live, scanner), name=f"scan-{question.id}", daemon=True
        )
        live.changed()
        thread.start()

    def _run(self, live: LiveExperiment, scanner: Scanner) -> None:
        try:
            scanner.run()
        except Exception:
            _log.exception("A question about runs failed")
            scanner.problem = "The studio failed; see its log."
            raise
        finally:
            scanner.is_over = True
            live.changed()


def _known(live: LiveExperiment, question: str) -> Question:
    found = live.folder.scans.question(question)
    if found is None:
        raise RunError("There is no such question.")
    return found
