"""Drivers of several runs: comparisons, evaluations and rollouts.

The first run ends, the second one is held, the third one waits.
"""

import json
from abc import abstractmethod
from typing import Any, ClassVar

from agent import Stop, Studio
from agent.experiments.experiment import Kind
from agent.experiments.folder import ExperimentFolder
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.sandbox.network.policy import NetworkPolicy
from agent.tasks.task import TaskRecord
from agent.train.rollouts.rollouts import Rollout, RolloutPlan, run_rollouts
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.request import (
    ComparisonRequest,
    EvaluationRequest,
    ResumeRequest,
    SuiteRequest,
)
from tests.contract.continuing.drivers import Background, ContinuedOnThePage, Driver, Page
from tests.contract.continuing.work import TASK
from tests.support.evaluations.suites import sums
from tests.support.server import wait_until

TEMPERATURES = (0.0, 0.5, 1.0)


class Group(Driver):
    free = 1
    kind: ClassVar[Kind]

    @property
    def folder(self) -> ExperimentFolder:
        (folder,) = ExperimentFolder.all(self.data, self.kind)
        return folder

    @property
    def run_ids(self) -> list[str]:
        """Its runs, one for each repetition."""
        return [entry.run for entry in self.folder.runs()]

    @property
    def state(self) -> str:
        return str(self.describe()["state"])

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the comparison or the evaluation as its user sees it."""


class PageGroup(Page, Group):
    @property
    def manager(self) -> ExperimentManager:
        return self.services.experiments

    def stop(self) -> None:
        self.manager.stop(self.folder.id)
        self._wait()

    def resume(self) -> None:
        assert self.describe()["canResume"]
        self.manager.resume(self.folder.id, ResumeRequest(), OPERATOR)
        self._wait()

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = self.manager.describe(self.folder.id)
        return described

    def _wait(self) -> None:
        wait_until(lambda: not self.manager.is_running(self.manager.registry.get(self.folder.id)))
        wait_until(lambda: not self.services.runs.active_ids())


class PageComparison(PageGroup):
    kind = "comparison"

    def begin(self) -> None:
        members = [{"label": str(each), "temperature": each} for each in TEMPERATURES]
        request = ComparisonRequest(task=TASK.format(1), members=members)
        self.manager.create(request, OPERATOR)


class PageEvaluation(PageGroup):
    kind = "evaluation"

    def begin(self) -> None:
        path = self.data.parent / "tasks.jsonl"
        tasks = [{"problem": TASK.format(n), "answer": str(2 * n)} for n in (1, 2, 3)]
        path.write_text("\n".join(map(json.dumps, tasks)))
        suite = SuiteRequest(name="aime", path=str(path), upload="")
        request = EvaluationRequest(suites=[suite], members=[{}], at_once=1, limit=None)
        self.manager.create(request, OPERATOR)


class PythonGroup(Group):
    studio: Studio

    def open(self) -> None:
        self.studio = self.resources.enter_context(Studio(self.settings, ProcessSandboxProvider))

    def begin(self) -> None:
        self._stop = Stop()
        self._working = Background(lambda: self._carry_out(stop=self._stop))

    def stop(self) -> None:
        self._stop.set()
        self._working.join()

    def resume(self) -> None:
        self._carry_out(resume=self.folder.id)

    @abstractmethod
    def _carry_out(self, **options: Any) -> None: ...


class PythonComparison(PythonGroup):
    kind = "comparison"

    def describe(self) -> dict[str, Any]:
        return dict(self.studio.comparison(self.folder.id).description)

    def _carry_out(self, **options: Any) -> None:
        members = [f"sandbox,label={each},temperature={each}" for each in TEMPERATURES]
        self.studio.compare(TASK.format(1), members=members, concurrency=1, **options)


class PythonEvaluation(PythonGroup):
    kind = "evaluation"

    def describe(self) -> dict[str, Any]:
        return dict(self.studio.evaluation(self.folder.id).description)

    def _carry_out(self, **options: Any) -> None:
        self.studio.evaluate(sums(3), members=["sandbox"], concurrency=1, **options)


class Rollouts(ContinuedOnThePage):
    """Rollouts: the first ends with its reward; the page continues the run of the second."""

    free = 1

    def open(self) -> None:
        self.results: list[Rollout] = []

    def begin(self) -> None:
        self.studio = self.resources.enter_context(Studio(self.settings, ProcessSandboxProvider))
        self._stop = Stop()
        self._working = Background(self._carry_out)

    def stop(self) -> None:
        self._stop.set()
        self._working.join()
        self.resources.close()
        assert [each.status for each in self.results] == ["submitted", "stopped"]
        assert [each.reward for each in self.results] == [1.0, 0.0]

    def _carry_out(self) -> None:
        tasks = [TaskRecord(str(n), TASK.format(n), "2", "exact", "sums", {}) for n in (1, 2, 3)]
        plan = RolloutPlan(
            Limits(seconds=60, reminders=None), concurrency=1, network=NetworkPolicy("open")
        )
        model = EndpointModel(ModelConfig(self.url, "m"))
        self.results += run_rollouts(tasks, lambda _: model, self.studio, plan, self._stop)
