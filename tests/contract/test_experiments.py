"""Experiments are the same whatever starts them: HTTP, Gradio, Python or a command."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client

from agent import Settings, Studio
from agent.api.experiments import ExperimentResult, open_result
from agent.cli.main import main
from agent.experiments.experiment import ExpectedAnswer, Kind
from agent.runs.folder import RunFolder
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.support import httpx
from tests.support.comparisons import ComparisonClient
from tests.support.evaluations.client import DATA, EvaluationClient, respond
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn
from tests.support.server import serve_studio

pytestmark = pytest.mark.nightly

TASK, ANSWER = "What is 3 + 3?", "6"
MEMBERS = [{"mode": "plain", "label": "Guess"}, {"mode": "sandbox", "label": "Compute"}]
TEXTS = ["plain,label=Guess", "sandbox,label=Compute"]
SCORES: dict[Kind, dict[str, list[float | None]]] = {
    "comparison": {"Guess": [0.0, 0.0], "Compute": [1.0, 1.0]},
    "evaluation": {"Guess": [1.0, 0.0], "Compute": [1.0, 1.0]},
}
"""A comparison has two repetitions of its task, an evaluation two tasks."""
SETTINGS = {
    "prompt": "general", "network": "open", "summarise": False, "calls": "native",
    "sendReasoning": True, "pdfs": "auto",
}  # fmt: skip
FAILED = {"Guess": [0.0, 0.0], "Compute": [None, None]}


class Answers:
    """Answers as the model of the tasks; while ``broken``, not to requests with tools."""

    broken = False

    def __call__(self, body: Body) -> Turn:
        return Turn(fault="401") if self.broken and body.get("tools") else respond(body)


class Way:
    """Something that carries out experiments in a data folder."""

    def __init__(self, data: Path, endpoint: Endpoint) -> None:
        self.data, self.endpoint = data, endpoint
        self.tasks = data.parent / "test.jsonl"
        self.tasks.write_bytes(b"\n".join(DATA.splitlines()[:2]))

    def open(self) -> Iterator[None]:
        yield

    def compare(self) -> None:
        """Carry out a comparison."""

    def evaluate(self) -> None:
        """Carry out an evaluation."""

    def retry(self, experiment: ExperimentResult) -> None:
        """Repeat the runs that failed by an infrastructure error."""

    def result(self, kind: Kind) -> ExperimentResult:
        (path,) = (self.data / f"{kind}s").iterdir()
        return open_result([self.data], path.name, ExperimentResult)


class Http(Way):
    def open(self) -> Iterator[None]:
        settings: dict[str, Any] = {"base_url": self.endpoint.url, "model": "m"}
        with (
            serve_studio(self.data, **settings) as self.url,
            httpx.Client(base_url=self.url, timeout=60) as http,
        ):
            self.comparisons, self.evaluations = ComparisonClient(http), EvaluationClient(http)
            yield

    def compare(self) -> None:
        expected = {"kind": "number", "answer": ANSWER}
        body = {"task": TASK, "repetitions": 2, "expected": expected, "members": MEMBERS}
        self.comparisons.wait(self.comparisons.start(body))

    def evaluate(self) -> None:
        data = self.tasks.read_bytes()
        self.evaluations.wait(self.evaluations.create(data, members=MEMBERS))

    def retry(self, experiment: ExperimentResult) -> None:
        client = self.evaluations if "suites" in experiment.description else self.comparisons
        url = f"{client.routes}/{experiment.id}/retry-infrastructure"
        assert client.read(experiment.id)["canRetry"]
        client.http.post(url).raise_for_status()
        client.wait(experiment.id)
        assert client.http.post(url).status_code == 404


class Gradio(Http):
    def compare(self) -> None:
        expected = {"kind": "number", "answer": ANSWER}
        self._carry_out("compare", "comparison", TASK, MEMBERS, 2, "", expected)

    def evaluate(self) -> None:
        draft = self.evaluations.draft_with({"aime/test.jsonl": self.tasks.read_bytes()})
        suites = [{"name": "aime", "upload": "aime/test.jsonl"}]
        self._carry_out("evaluate", "evaluation", suites, MEMBERS, 1, 4, 0, draft)

    def _carry_out(self, start: str, kind: str, *arguments: Any) -> None:
        client = Client(self.url, verbose=False)
        experiment = client.predict(*arguments, api_name=f"/{start}")
        states = list(client.submit(experiment, api_name=f"/follow_{kind}"))
        assert states[-1]["state"] == "finished"


class Python(Way):
    def open(self) -> Iterator[None]:
        settings = Settings(data=self.data, base_url=self.endpoint.url, api_key="k", model="m")
        with Studio(settings, ProcessSandboxProvider) as self.studio:
            yield

    def compare(self) -> None:
        expected = ExpectedAnswer(kind="number", answer=ANSWER)
        self.studio.compare(TASK, members=TEXTS, repeat=2, expected=expected)

    def evaluate(self) -> None:
        self.studio.evaluate("aime", members=TEXTS, data=self.tasks)

    def retry(self, experiment: ExperimentResult) -> None:
        self.studio.evaluate(resume=experiment.id, retry_infrastructure=True)


class CommandLine(Way):
    def compare(self) -> None:
        expected = ("--expect", ANSWER, "--check", "number")
        self._main("compare", TASK, *self._members, "--repeat", "2", *expected)

    def evaluate(self) -> None:
        self._main("eval", "aime", *self._members, "--data", str(self.tasks))

    def retry(self, experiment: ExperimentResult) -> None:
        self._main("eval", "--resume", experiment.id, "--retry-infrastructure")

    @property
    def _members(self) -> list[str]:
        return [word for text in TEXTS for word in ("--member", text)]

    def _main(self, *words: str) -> None:
        variables = {
            "STUDIO_DATA": str(self.data), "OPENAI_BASE_URL": self.endpoint.url,
            "OPENAI_MODEL": "m", "OPENAI_API_KEY": "k",
        }  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            local = partial(Studio, source=ProcessSandboxProvider)
            patch.setattr("agent.cli.experiments.Studio", local)
            main(words)


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def way(request: pytest.FixtureRequest, answers: Answers, tmp_path: Path) -> Iterator[Way]:
    with Endpoint(answers) as endpoint:
        made: Way = request.param(tmp_path / "data", endpoint)
        opened = made.open()
        next(opened)
        yield made
        next(opened, None)


def carry_out(way: Way, kind: Kind) -> ExperimentResult:
    (way.compare if kind == "comparison" else way.evaluate)()
    return way.result(kind)


def runs_of(result: ExperimentResult) -> dict[str, list[dict[str, Any]]]:
    """Return the runs of each member, by task and repetition."""
    described = result.description
    labels = [member["label"] for member in described["members"]]
    if "table" in described:
        return {member["label"]: member["runs"] for member in described["members"]}
    columns = zip(*described["cells"], strict=True)
    return {
        label: [run for cell in column for run in cell["runs"]]
        for label, column in zip(labels, columns, strict=True)
    }


def scores(result: ExperimentResult) -> dict[str, list[float | None]]:
    return {label: [run["score"] for run in runs] for label, runs in runs_of(result).items()}


@pytest.mark.parametrize("kind", ["comparison", "evaluation"])
@pytest.mark.parametrize("way", [Http, Gradio, Python, CommandLine], indirect=True)
def test_its_runs_are_ordinary_runs_whose_scores_are_known_afterwards(way: Way, kind: Kind) -> None:
    result = carry_out(way, kind)
    assert (result.state, scores(result)) == ("finished", SCORES[kind])
    for run in (run for runs in runs_of(result).values() for run in runs):
        assert RunFolder.open(way.data, run["run"]).comparison == result.id
    assert result.description["members"][0]["settings"] == SETTINGS


@pytest.mark.parametrize(
    ("way", "kind"),
    [(Http, "comparison"), (Http, "evaluation"), (Python, "evaluation"),
     (CommandLine, "evaluation")],
    indirect=["way"],
)  # fmt: skip
def test_a_failure_of_the_endpoint_is_no_wrong_answer_and_is_repeated_alone(
    way: Way, kind: Kind, answers: Answers
) -> None:
    answers.broken = True
    first = carry_out(way, kind)
    assert first.state == "finished"
    assert scores(first) == FAILED | {"Guess": SCORES[kind]["Guess"]}
    answers.broken = False
    way.retry(first)
    again = way.result(kind)
    assert scores(again) == SCORES[kind]
    before, after = runs_of(first), runs_of(again)
    assert [run["run"] for run in after["Guess"]] == [run["run"] for run in before["Guess"]]
    assert not {run["run"] for run in after["Compute"]} & {run["run"] for run in before["Compute"]}
