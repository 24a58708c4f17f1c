"""Demonstrations of file tasks, executed in real sandboxes: each passes only its own check."""

import itertools
import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agent import prompts
from agent.events import RunEnded
from agent.limits import Limits
from agent.loop import loop
from agent.loop.conversation import Conversation
from agent.loop.loop import Round
from agent.models.base import AssistantMessage, Message
from agent.sandbox.base import Sandbox
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.sandbox.process import ProcessSandbox
from agent.tasks.file_tasks.demonstrations import messages, write_demonstrations
from agent.tasks.file_tasks.generate import families, generate_file_tasks, kinds
from agent.tasks.file_tasks.task import FAILURE_REPLY, Files, FileTask, Split, output_files
from agent.tools.toolbox import Toolbox
from agent.util.stop import Stop
from tests.support.component.events import of_type, started
from tests.support.models.scripted import SUBMIT, ScriptedModel, ScriptedTurn, bash

pytestmark = pytest.mark.contract

STEPS = 8
TASKS_PER_KIND = 1  # and split
SEED = 6
"""A seed without two curves of similar shape, since the checks do not read axis labels."""
SPLITS: tuple[Split, ...] = ("train", "parameters", "wording")


@dataclass
class TaskRunner:
    """A sandbox in which file tasks are solved one after another."""

    sandbox: Sandbox
    workspace: Path

    def run(self, task: FileTask) -> tuple[list[Message], str, Files]:
        """Run a task; returns the conversation, the status and the files at the end."""
        self._write_inputs(task)
        prompt = prompts.get_bundled("small")
        conversation = Conversation()
        user = prompt.user_message(task.text, list(task.input_files))
        conversation.apply(started(task.text, system=prompt.system, user=user))
        end = replace(SUBMIT, text=task.reply) if task.commands else ScriptedTurn(task.reply)
        model = ScriptedModel([*map(bash, task.commands), end])
        limits = Limits(steps=STEPS, reminders=0)
        round_ = Round(model, Toolbox(self.sandbox), conversation, limits, Stop())
        (ended,) = of_type(RunEnded, loop.run_round(round_))
        return conversation.messages, ended.status, self._read_files()

    def _write_inputs(self, task: FileTask) -> None:
        for name in ("input", "output"):
            shutil.rmtree(self.workspace / name, ignore_errors=True)
            (self.workspace / name).mkdir()
        for name, content in task.input_files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (self.workspace / "input" / name).write_bytes(data)

    def _read_files(self) -> Files:
        files = (path for path in self.workspace.rglob("*") if path.is_file())
        return {str(path.relative_to(self.workspace)): path.read_bytes() for path in files}


@pytest.fixture
def process_runner(tmp_path: Path) -> Iterator[TaskRunner]:
    """A runner with a process sandbox, for tasks that need only the shell."""
    with closing(ProcessSandbox(tmp_path)) as sandbox:
        yield TaskRunner(sandbox, tmp_path / "workspace")


@pytest.fixture(scope="module")
def docker_runner(
    engine: Client, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TaskRunner]:
    """A runner with a container of the sandbox image."""
    workspace = tmp_path_factory.mktemp("workspace")
    spec = ContainerSpec(image, "tests", uuid.uuid4().hex, workspace)
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        yield TaskRunner(sandbox, workspace)


def text_and_calls(message: Message) -> tuple[str, list[tuple[str, object]]]:
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    return message.text, [(call.name, json.loads(call.arguments)) for call in calls]


def test_a_demonstrated_failure_matches_a_real_one(process_runner: TaskRunner) -> None:
    (task,) = generate_file_tasks("train", 1, 2, "count")
    task = replace(task, commands=("cat input/none.txt",), stdout=())
    conversation, _, _ = process_runner.run(task)
    expected = messages(task, STEPS, "cat: input/none.txt: No such file or directory")
    observed = [each["content"] for each in expected][:4]
    assert [message.text for message in conversation][:4] == observed
    assert observed[3].startswith("Error: Exit code 1")
    assert expected[-1] == {"role": "assistant", "content": FAILURE_REPLY, "calls": []}


@pytest.mark.nightly
def test_some_demonstrations_fail_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "demonstrations.jsonl"
    count = write_demonstrations(path, generate_file_tasks("train", 400, 3))
    lines = [json.loads(line)["messages"] for line in path.read_text().splitlines()]
    failed = [line for line in lines if line[-1]["content"] == FAILURE_REPLY]
    assert 0.04 * count < len(failed) < 0.12 * count
    assert all("[STDERR]" in line[-2]["content"] for line in failed)


@pytest.mark.parametrize("family", ["write", "count", "sort", "document", "outside"])
def test_a_demonstration_matches_a_real_run(process_runner: TaskRunner, family: str) -> None:
    for task in generate_file_tasks("train", 8, 2, family):
        conversation, status, files = process_runner.run(task)
        expected = [
            (each["content"], [(call["name"], call["arguments"]) for call in each.get("calls", [])])
            for each in messages(task, STEPS)
        ]
        # The result of submit is not sent to the model.
        observed = [text_and_calls(message) for message in conversation]
        assert observed[: len(expected)] == expected, task.id
        assert status == ("submitted" if task.commands else "answered")
        assert task.is_solved(files, task.reply), task.id


def test_out_of_scope_tasks_must_be_refused_without_files() -> None:
    (task,) = generate_file_tasks("train", 1, 0, "outside")
    assert task.is_solved({"input/a.txt": b"a"}, f"Sorry. {task.reply}")
    assert not task.is_solved({}, "Here is your essay: dogs are nice.")
    assert not task.is_solved({"output/essay.txt": b"dogs"}, task.reply)


def test_empty_and_wrong_answers_pass_no_check() -> None:
    for task in generate_file_tasks("wording", 300, 1):
        if not task.commands:
            continue
        path = task.reply.removeprefix("Done: ")
        for nonsense in (b"", b"0", b"nonsense", b"\xff\xfe", b"[]", b"\x89PNG\r\n\x1a\n"):
            assert not task.check({path: nonsense, "output/x": nonsense}), task.id
        assert not task.check({}), task.id
        inputs = {f"input/{name}": b"" for name in task.input_files}
        assert not task.check(inputs), task.id


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.timeout(600)
@pytest.mark.parametrize("family", [each for each in families() if each != "outside"])
def test_every_solution_passes_only_its_own_check(docker_runner: TaskRunner, family: str) -> None:
    tasks = [
        task
        for split in SPLITS
        for task in generate_file_tasks(split, TASKS_PER_KIND * len(kinds(family)), SEED, family)
    ]
    outputs: dict[str, list[tuple[FileTask, Files]]] = {}
    for task in tasks:
        conversation, status, files = docker_runner.run(task)
        assert status == "submitted"
        assert task.check(files), (task.text, task.commands, conversation)
        outputs.setdefault(task.kind, []).append((task, output_files(files)))
    for (one, own_files), (other, other_files) in itertools.chain.from_iterable(
        itertools.permutations(each, 2) for each in outputs.values()
    ):
        if len(own_files) != 1 or own_files.values() == other_files.values():
            continue
        (content,), (path,) = other_files.values(), own_files
        if content not in own_files.values():
            assert not one.check({path: content}), (one.text, other.text)
