"""The studio's sandbox as a provider of Inspect's, on a real engine."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from agent.data_folder import read_instance_id
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import Client
from tests.agent.inspect_extension.conftest import RunInspect

pytestmark = [
    pytest.mark.inspect,
    pytest.mark.engine,
    pytest.mark.nightly,
    pytest.mark.timeout(900),
]

CHECKS = 44
FILE_MODES = {
    "test_read_file_not_allowed",
    "test_write_text_file_without_permissions",
    "test_write_binary_file_without_permissions",
}
"""The checks that file modes deny access; nothing denies it to root."""


def test_the_sandbox_passes_the_suite_of_inspect(run_program: RunInspect) -> None:
    lines = [json.loads(line) for line in run_program("self_check", "root", "agent").splitlines()]
    assert len(lines) == 2 * CHECKS
    failed = [line for line in lines if line["problem"]]
    assert {line["check"] for line in failed} == FILE_MODES, failed
    assert {line["user"] for line in failed} == {"root"}


def test_tools_that_need_a_daemon_in_the_sandbox_work(
    run_program: RunInspect, tmp_path: Path
) -> None:
    (tmp_path / "limits.yaml").write_text("user: agent\nmemory: 1g\n")
    (log,) = json.loads(run_program("tools", "limits.yaml"))
    assert log["status"] == "success", log["error"]
    results = [text for role, text in log["messages"] if role == "tool"]
    assert results[2] == "File created successfully at: /tmp/poem.txt"
    assert "The file /tmp/poem.txt has been edited." in results[3]
    assert results[4].splitlines() == [
        "kept in /tmp as agent", "one", "three", "a file of the sample", "agent in /workspace",
    ]  # fmt: skip
    assert results[5] == "45\n"
    assert log["scores"] == {"includes": ["C", "the sum is 45."]}


def test_errors_limits_and_connection(run_program: RunInspect, engine: Client) -> None:
    assert run_program("errors").splitlines()[-1] == "all as documented"


def test_an_interrupted_evaluation_leaves_no_sandbox(
    inspect_commands: Path,
    inspect_variables: dict[str, str],
    image: str,
    engine: Client,
    tmp_path: Path,
) -> None:
    program = f"{__package__}.programs.interrupted"
    command: list[str | Path] = [inspect_commands / "python", "-m", program]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=inspect_variables | {"STUDIO_IMAGE": image},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        instance = read_instance_id(tmp_path / "data" / "inspect")
        assert len(sandboxes(engine, instance)) >= 1
        os.kill(process.pid, signal.SIGINT)
        rest = process.stdout.read()
    assert rest.splitlines()[-1] == "ended"
    assert sandboxes(engine, instance) == []


def sandboxes(engine: Client, instance: str) -> list[object]:
    assert instance
    return list(engine.api.containers(all=True, filters={"label": f"{INSTANCE_LABEL}={instance}"}))
