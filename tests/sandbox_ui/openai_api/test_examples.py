"""The examples of docs/openai-api.md, executed on a real container engine."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import docker
import pytest
from openai import OpenAI

from agent.data_folder import DataFolder, read_instance_id
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, list_containers
from agent.sandbox.engine.client import Client
from agent.settings import Settings
from sandbox_ui.auth.api_tokens import Tokens
from tests.support import httpx
from tests.support.comparisons import SUBMIT, bash
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import TIMEOUT_SECONDS, create_app, run_server, wait_until
from tests.test_docs import example_containing, run_shell

pytestmark = [pytest.mark.engine, pytest.mark.nightly]

SLEEP = "sleep 86123"


def work(body: dict[str, Any]) -> Turn:
    """Answer as a model that draws a chart and says how much memory and network it has."""
    if "tools" not in body:
        return Turn(text="plain")
    if body["messages"][-1]["role"] == "tool":
        return SUBMIT
    if "Wait" in body["messages"][-1]["content"]:
        return bash(SLEEP)
    return bash(
        "cp input/data.csv output/chart.txt 2>/dev/null; echo more >> log; "
        "memory=$(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes "
        "2>/dev/null | head -1); "
        'echo "chart.txt $(wc -l < log) $memory $(ls /sys/class/net | wc -l)" > output/answer.txt'
    )


@pytest.fixture(scope="module")
def studio(data: Path, image: str) -> Iterator[tuple[str, str]]:
    """A studio with real sandboxes; its URL and a token."""
    with Endpoint(work) as endpoint:
        settings = replace(
            Settings(data=data, image=image, base_url=endpoint.url, model="NAME"), openai_api=True
        )
        provider = DockerSandboxProvider(settings, DataFolder(data))
        token = Tokens(data).create("", "test")[1]
        with run_server(create_app(settings, provider)) as url:
            yield url, token


def test_the_curl_examples_work(studio: tuple[str, str], tmp_path: Path) -> None:
    url, token = studio
    (tmp_path / "data.csv").write_text("a,b\n")
    example = example_containing("key=studio_…").replace("http://127.0.0.1:7860", url)
    output = run_shell(example.replace("studio_…", token), tmp_path)
    assert '"id":"NAME@sandbox"' in output
    assert '"finish_reason":"stop"' in output
    last = [line for line in output.splitlines() if line.startswith("data: ")][-1]
    response = json.loads(last[6:])["response"]
    answer = response["output"][-1]["content"][0]["text"]
    assert answer.split()[-2:] == [str(512 * 1024**2), "1"], "512 MB, and only a loopback interface"
    assert '"filename":"data.csv"' in output


def test_a_harness_leaves_no_sandboxes(studio: tuple[str, str], data: Path, engine: Client) -> None:
    url, token = studio
    question: Any = [{"role": "user", "content": "Draw it"}]
    with (
        OpenAI(base_url=f"{url}/v1", api_key=token, timeout=TIMEOUT_SECONDS) as client,
        ThreadPoolExecutor(4) as together,
    ):
        ask = partial(client.chat.completions.create, model="NAME@sandbox", messages=question)
        done = [together.submit(ask) for _ in range(20)]
        runs = [each.result().model_dump()["metadata"]["run"] for each in done]
    used = {RunFolder.open(data, run).sandbox for run in runs}
    assert len(used) == 20

    def left() -> set[str]:
        containers = list_containers(engine, read_instance_id(data))
        disks = {each.parent.name for each in data.glob("sandboxes/*/scratch")}
        return used & (disks | {each.sandbox_id for each in containers})

    wait_until(lambda: not left())


def test_a_client_that_leaves_keeps_no_command_running(
    studio: tuple[str, str], engine: Client
) -> None:
    url, token = studio
    ask: Any = {"role": "user", "content": "Wait for it"}
    with (
        OpenAI(base_url=f"{url}/v1", api_key=token, timeout=TIMEOUT_SECONDS) as client,
        client.chat.completions.create(model="NAME@sandbox", messages=[ask], stream=True) as stream,
    ):
        run = next(iter(stream)).model_dump()["metadata"]["run"]
        wait_until(lambda: SLEEP in processes(engine))
    wait_until(lambda: SLEEP not in processes(engine))
    headers = {"Authorization": f"Bearer {token}"}

    def state() -> str:
        runs = httpx.get(f"{url}/api/runs", headers=headers).json()["runs"]
        return next((str(each["state"]) for each in runs if each["run"] == run), "")

    wait_until(lambda: state() == "stopped")


def processes(engine: Client) -> str:
    """Return the commands that run in the containers of all studios."""
    lines: list[str] = []
    for container in engine.containers.list(filters={"label": INSTANCE_LABEL}):
        with suppress(docker.errors.APIError):  # it ended in the meantime
            lines += [row[-1] for row in container.top()["Processes"] or ()]
    return "\n".join(lines)
