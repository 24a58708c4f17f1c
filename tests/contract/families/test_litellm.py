"""LiteLLM's proxy in front of a strict server: all three of its APIs carry a run.

Needs LiteLLM's environment (make .make/litellm).
"""

from collections.abc import Iterator

import pytest

from agent import ModelConfig, Studio
from agent.api.models import ModelArgument
from agent.events import ModelAnswered
from agent.models.base import ApiName
from tests.contract.families.scripts import in_order
from tests.support.servers.families import FAMILIES
from tests.support.servers.litellm import KEY, MODEL, PROGRAM, serve_litellm
from tests.support.servers.server import StrictServer

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

SCRIPT = in_order("echo one", "echo two", "echo 3 > output/answer.txt")
APIS: tuple[ApiName, ...] = ("chat", "responses", "messages")


@pytest.fixture(scope="module")
def backend() -> Iterator[StrictServer]:
    with FAMILIES["sglang"].serve(SCRIPT) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(backend: StrictServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not PROGRAM.exists():
        pytest.skip("LiteLLM is not installed (make .make/litellm)")
    with serve_litellm(backend, tmp_path_factory.mktemp("litellm")) as address:
        yield address


def config(proxy: str, api: ApiName) -> ModelConfig:
    return ModelConfig(f"{proxy}/v1", MODEL, KEY, api=api)


@pytest.mark.parametrize("api", APIS)
def test_a_run_over_each_api(
    studio: Studio, proxy: str, backend: StrictServer, api: ApiName
) -> None:
    backend.refusals.clear()
    run = studio.run("Do it.", model=config(proxy, api))
    answers = [event for event in run if isinstance(event, ModelAnswered)]
    assert (run.result.status, run.result.reason, run.result.answer) == ("submitted", "", "3")
    assert answers[0].reasoning == "The next command is 'echo one'."
    assert answers[0].usage is not None
    assert answers[0].usage.prompt > 1000
    run.send("And again.").wait()
    assert (run.result.status, run.result.reason) == ("submitted", "")
    assert backend.refusals == []


def test_a_comparison_of_the_three_apis_has_equal_columns(studio: Studio, proxy: str) -> None:
    members = [f"sandbox,label={api},model={MODEL}" for api in APIS]
    models: dict[str, ModelArgument] = {api: config(proxy, api) for api in APIS}
    result = studio.compare("Do it.", members=members, models=models, expected="3")
    assert result.problems == {}
    rows = {
        row["key"]: [cell["value"] for cell in row["cells"]]
        for group in result.description["table"] for row in group["rows"]
    }  # fmt: skip
    assert rows["score"] == [1.0, 1.0, 1.0]
    assert rows["steps"] == [4, 4, 4]
    answers = [run["answer"] for member in result.description["members"] for run in member["runs"]]
    assert answers == ["3", "3", "3"]
