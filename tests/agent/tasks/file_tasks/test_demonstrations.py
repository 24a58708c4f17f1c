"""Chores done as they are demonstrated, in real sandboxes: every way passes its own check only."""

import itertools
import json
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import docker
import pytest

from agent import prompts
from agent.events import RunEnded, RunStarted
from agent.limits import Limits
from agent.loop import loop
from agent.loop.conversation import Conversation
from agent.loop.loop import Round
from agent.models.base import AssistantMessage, Message
from agent.models.scripted import ScriptedModel
from agent.sandbox.base import Sandbox
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.process import ProcessSandbox
from agent.tasks.file_tasks.demonstrations import messages, scripted_turns, write_demonstrations
from agent.tasks.file_tasks.generate import families, generate_file_tasks, kinds
from agent.tasks.file_tasks.task import FAILURE_REPLY, Files, FileTask, Split, output_files
from agent.tools.toolbox import Toolbox
from agent.util.cancellation import Stop

STEPS = 8
EACH = 2  # of each kind and split
SEED = 6
"""One without two curves of like shape: nobody reads the numbers on the axes."""
TRIED: tuple[Split, ...] = ("train", "parameters", "wording")


@dataclass
class Desk:
    """A sandbox in which chores are done one after the other."""

    sandbox: Sandbox
    workspace: Path

    def do(self, chore: FileTask) -> tuple[list[Message], str, Files]:
        """The conversation of a real run, how it ended, and the files after it."""
        self._lay(chore)
        prompt = prompts.get_bundled("small")
        conversation = Conversation()
        conversation.apply(
            RunStarted(
                run="r", task=chore.text, mode="sandbox", model="m", metered=True, prompt="small",
                system=prompt.system, user=prompt.user_message(chore.text, list(chore.input_files)),
            )
        )  # fmt: skip
        model = ScriptedModel(scripted_turns(chore))
        limits = Limits(steps=STEPS, reminders=0)
        at_work = Round(model, Toolbox(self.sandbox), conversation, limits, Stop())
        (ended,) = (event for event in loop.run_round(at_work) if isinstance(event, RunEnded))
        return conversation.messages, ended.status, self._files()

    def _lay(self, chore: FileTask) -> None:
        for name in ("input", "output"):
            shutil.rmtree(self.workspace / name, ignore_errors=True)
            (self.workspace / name).mkdir()
        for name, content in chore.input_files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (self.workspace / "input" / name).write_bytes(data)

    def _files(self) -> Files:
        files = (path for path in self.workspace.rglob("*") if path.is_file())
        return {str(path.relative_to(self.workspace)): path.read_bytes() for path in files}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Desk]:
    """A plain process, for ways that need the shell alone."""
    sandbox = ProcessSandbox(tmp_path)
    yield Desk(sandbox, tmp_path / "workspace")
    sandbox.close()


@pytest.fixture(scope="module")
def desk(
    engine: docker.DockerClient, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    """A container of the sandbox image."""
    workspace = tmp_path_factory.mktemp("workspace")
    spec = ContainerSpec(image, "tests", uuid.uuid4().hex, workspace)
    sandbox = DockerSandbox.create(engine, spec)
    yield Desk(sandbox, workspace)
    sandbox.close()


def told(message: Message) -> tuple[str, list[tuple[str, object]]]:
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    return message.text, [(call.name, json.loads(call.arguments)) for call in calls]


def test_a_demonstrated_failure_matches_a_real_one(here: Desk) -> None:
    (chore,) = generate_file_tasks("train", 1, 2, "count")
    chore = replace(chore, commands=("cat input/none.txt",), stdout=())
    said, _, _ = here.do(chore)
    expected = messages(chore, STEPS, "cat: input/none.txt: No such file or directory")
    observed = [each["content"] for each in expected][:4]
    assert [message.text for message in said][:4] == observed
    assert observed[3].startswith("Error: Exit code 1")
    assert expected[-1] == {"role": "assistant", "content": FAILURE_REPLY, "calls": []}


def test_some_demonstrations_fail_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "demonstrations.jsonl"
    count = write_demonstrations(path, generate_file_tasks("train", 400, 3))
    lines = [json.loads(line)["messages"] for line in path.read_text().splitlines()]
    failed = [said for said in lines if said[-1]["content"] == FAILURE_REPLY]
    assert 0.04 * count < len(failed) < 0.12 * count
    assert all("[STDERR]" in said[-2]["content"] for said in failed)


@pytest.mark.parametrize("family", ["write", "count", "sort", "document", "outside"])
def test_a_demonstration_matches_a_real_run(here: Desk, family: str) -> None:
    for chore in generate_file_tasks("train", 8, 2, family):
        said, status, files = here.do(chore)
        expected = [
            (each["content"], [(call["name"], call["arguments"]) for call in each.get("calls", [])])
            for each in messages(chore, STEPS)
        ]
        # What submit answers is told to no model any more.
        assert [told(message) for message in said][: len(expected)] == expected, chore.id
        assert status == ("submitted" if chore.commands else "answered")
        assert chore.is_solved(files, chore.reply), chore.id


def test_out_of_scope_tasks_must_be_refused_without_files() -> None:
    (chore,) = generate_file_tasks("train", 1, 0, "outside")
    assert chore.is_solved({"input/a.txt": b"a"}, f"Sorry. {chore.reply}")
    assert not chore.is_solved({}, "Here is your essay: dogs are nice.")
    assert not chore.is_solved({"output/essay.txt": b"dogs"}, chore.reply)


def test_empty_and_wrong_answers_pass_no_check() -> None:
    for chore in generate_file_tasks("wording", 300, 1):
        if not chore.commands:
            continue
        path = chore.reply.removeprefix("Done: ")
        for nonsense in (b"", b"0", b"nonsense", b"\xff\xfe", b"[]", b"\x89PNG\r\n\x1a\n"):
            assert not chore.check({path: nonsense, "output/x": nonsense}), chore.id
        assert not chore.check({}), chore.id
        inputs = {f"input/{name}": b"" for name in chore.input_files}
        assert not chore.check(inputs), chore.id


@pytest.mark.long
@pytest.mark.engine
@pytest.mark.timeout(600)
@pytest.mark.parametrize("family", [each for each in families() if each != "outside"])
def test_every_solution_passes_only_its_own_check(desk: Desk, family: str) -> None:
    made = [
        chore
        for split in TRIED
        for chore in generate_file_tasks(split, EACH * len(kinds(family)), SEED, family)
    ]
    done: dict[str, list[tuple[FileTask, Files]]] = {}
    for chore in made:
        said, status, files = desk.do(chore)
        assert status == "submitted"
        assert chore.check(files), (chore.text, chore.commands, said)
        done.setdefault(chore.kind, []).append((chore, output_files(files)))
    for (one, found), (other, theirs) in itertools.chain.from_iterable(
        itertools.permutations(each, 2) for each in done.values()
    ):
        if len(found) != 1 or found.values() == theirs.values():
            continue
        (content,), (path,) = theirs.values(), found
        if content not in found.values():
            assert not one.check({path: content}), (one.text, other.text)
