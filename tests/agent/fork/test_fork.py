"""A fork: the files, the conversation and the record of its parent as they were after a step."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from agent import prompts
from agent.errors import RunError, UsageError
from agent.events import Forked, Mode, ModelAnswered, RunEnded
from agent.fork import cut
from agent.fork.cut import cut_run
from agent.fork.describe import describe_fork
from agent.fork.fork import first_task, fork_run
from agent.history.deletion import RunDeleter
from agent.history.export import conversation_markdown
from agent.history.trajectory import build_trajectory
from agent.limits import Limits
from agent.loop.conversation import Conversation
from agent.models.base import AssistantMessage, Message, SystemMessage, ToolResult, UserMessage
from agent.runs import journal
from agent.runs.compatibility import decode_line
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from agent.runs.spec import RunSpec
from agent.runs.summary import measured
from agent.util.stop import Stop
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.support.component.events import of_type
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import SUBMIT, ScriptedModel, ScriptedTurn, bash, script

pytestmark = pytest.mark.contract

GENERAL = prompts.get_bundled("general")


class Provider(LocalSandboxProvider):
    """Keeps the runs that it opens, so that they are closed."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self.runs: list[RecordedRun] = []

    def open_run(self, folder: RunFolder) -> RecordedRun:
        self.runs.append(RecordedRun(folder, self))
        return self.runs[-1]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    provider = Provider(tmp_path)
    yield provider
    for run in provider.runs:
        run.close()


@pytest.fixture
def parent(provider: Provider) -> RecordedRun:
    """A run of three steps that write, replace and remove files, and a fourth that submits."""
    turns = [
        bash("printf one > a.txt; mkdir -p sub; printf x > sub/x; ln -s a.txt link; chmod 750 sub"),
        bash("printf two > a.txt; chmod 700 a.txt"),
        bash("rm -r sub link; printf three > a.txt; head -c 100000 /dev/zero | tr '\\0' y"),
        SUBMIT,
    ]
    return new_run(provider, "Write it.", ScriptedModel(turns))


def new_run(
    provider: Provider, task: str = "", model: ScriptedModel | None = None, mode: Mode = "sandbox"
) -> RecordedRun:
    """Return a run with an input; with a model, it has ended."""
    run = provider.open_run(RunFolder.create(provider.data, provider.create_workspace()))
    (run.folder.workspace / "input/notes.txt").write_text("Seven.")
    if model:
        list(run.start(Task(task, GENERAL, mode), model))
    return run


def fork(parent: RecordedRun, step: int, provider: Provider, **changes: Any) -> RunFolder:
    return fork_run(parent.folder, step, provider.blobs, provider.create_workspace, **changes)


def continued(
    folder: RunFolder, provider: Provider, text: str = "Go on.", *turns: ScriptedTurn
) -> tuple[RecordedRun, ScriptedModel]:
    run, model = provider.open_run(folder), ScriptedModel([*turns, SUBMIT], name="other")
    list(run.follow_up(text, model))
    return run, model


def assert_every_call_has_its_result(messages: Sequence[Message]) -> None:
    answers = (each for each in messages if isinstance(each, AssistantMessage))
    calls = [call.id for each in answers for call in each.calls]
    assert calls == [each.call_id for each in messages if isinstance(each, ToolResult)]


def test_a_fork_has_the_files_of_its_step_and_no_copy_of_stored_contents(
    parent: RecordedRun, provider: Provider
) -> None:
    size = provider.blobs.size
    folder = fork(parent, 3, provider)
    assert provider.blobs.size == size
    shared = [path for path in folder.outputs.iterdir() if path.stat().st_nlink == 2]
    assert [path.read_bytes() for path in shared] == [b"y" * 100_000]
    workspace = fork(parent, 2, provider).workspace
    assert (workspace / "a.txt").read_text() == "two"
    assert (workspace / "a.txt").stat().st_mode & 0o777 == 0o700
    assert (workspace / "link").is_symlink()
    assert (workspace / "sub/x").read_text() == "x"
    assert (workspace / "sub").stat().st_mode & 0o777 == 0o750
    assert (parent.folder.workspace / "a.txt").read_text() == "three"


def conversation_after(run: RecordedRun, step: int) -> list[Message]:
    end = cut_run(run.folder, step).cursor
    return Conversation(event for _, event in journal.read(run.folder.journal, 0, end)).messages


def test_of_earlier_steps_only_begin_and_end_are_decoded(parent: RecordedRun) -> None:
    with patch.object(cut, "decode_line", wraps=decode_line) as decoded:
        cut_run(parent.folder, 3)
    events = [decode_line(call.args[0])[-1] for call in decoded.call_args_list]
    kinds = {each.kind for each in events if getattr(each, "step", 3) < 3}
    assert kinds == {"step_started", "step_ended"}


def test_the_conversation_is_cut_exactly_there(parent: RecordedRun, provider: Provider) -> None:
    folder = fork(parent, 2, provider)
    begin = folder.journal.read_bytes()
    copied = begin[: begin.rindex(b"\n", 0, -1) + 1]
    assert parent.folder.journal.read_bytes().startswith(copied)
    run, model = continued(folder, provider, "Now do it otherwise.")
    sent = list(model.requests[0].messages)
    before = conversation_after(parent, 2)
    assert sent[: len(before)] == before
    assert_every_call_has_its_result(sent)
    assert isinstance(sent[-1], UserMessage)
    assert sent[-1].text.startswith("Now do it otherwise.")
    assert "new sandbox" in sent[-1].text
    assert [step.step for step in run.state.steps] == [1, 2, 3]


def test_a_step_can_be_retried_without_a_message(parent: RecordedRun, provider: Provider) -> None:
    _, model = continued(fork(parent, 2, provider), provider, "")
    *before, last = model.requests[0].messages
    expected = conversation_after(parent, 2)
    assert before == expected[:-1]
    assert isinstance(last, ToolResult)
    assert last.text.startswith(expected[-1].text)
    events = [event for _, event in journal.read(provider.runs[-1].folder.journal)]
    assert "follow_ups" not in build_trajectory(events)["metadata"]
    text = "".join(conversation_markdown(events))
    assert "*Steps 1 to 2 are a copy. The fork begins here.*" in text


def test_a_plain_run_is_forked_with_its_files_and_needs_a_message(provider: Provider) -> None:
    run = new_run(provider, "Read it.", ScriptedModel([ScriptedTurn("It.")]), "plain")
    assert describe_fork(run.folder, 1, provider.blobs).needs_message
    folder = fork(run, 1, provider)
    assert (folder.workspace / "input/notes.txt").read_text() == "Seven."
    with pytest.raises(RunError, match="Enter a message"):
        provider.open_run(folder).follow_up("", ScriptedModel([]))
    _, model = continued(folder, provider, "And now?", ScriptedTurn("That."))
    found = [type(each) for each in model.requests[0].messages]
    assert found == [UserMessage, AssistantMessage, UserMessage]


def test_a_fork_may_have_another_mode_and_prompt(provider: Provider) -> None:
    run = new_run(provider, "Read it.", ScriptedModel([ScriptedTurn("It.")]), "plain")
    physics = prompts.get_bundled("physics")
    other = fork(run, 1, provider, prompt=physics, mode="sandbox")
    forked, model = continued(other, provider)
    first, second, *_ = model.requests[0].messages
    assert first == SystemMessage(physics.system)
    assert isinstance(second, UserMessage)
    assert "notes.txt" in second.text
    assert "Seven." not in second.text
    assert model.requests[0].tools
    assert (forked.state.mode, forked.state.prompt) == ("sandbox", "physics")


def test_step_0_is_the_task_with_its_inputs(provider: Provider) -> None:
    model, again = script(bash("rm input/notes.txt")), script()
    run = new_run(provider, "Remove it.", model)
    folder = fork(run, 0, provider)
    assert (folder.workspace / "input/notes.txt").read_text() == "Seven."
    assert not folder.journal.exists()
    assert folder.parent
    assert folder.parent.step == 0
    list(provider.open_run(folder).start(first_task(run.folder), again))
    assert again.requests[0].messages == model.requests[0].messages


@pytest.mark.parametrize("mode", ["plain", "sandbox"])
def test_step_0_keeps_how_pdfs_are_sent(provider: Provider, mode: Mode) -> None:
    spec = RunSpec(task="Read it.", mode=mode, pdfs="both")
    run = provider.open_run(RunFolder.create(provider.data, provider.create_workspace()))
    list(run.start(spec.first_task(script()), script()))
    again = first_task(run.folder)
    assert (again.pdfs, again.spec.get("pdfs")) == (
        ("both", "both") if mode == "plain" else ("auto", None)
    )


def test_a_running_parent_is_forked_at_a_step_that_has_ended(provider: Provider) -> None:
    run = new_run(provider)
    events = run.start(Task("Go.", GENERAL), ScriptedModel([bash("printf 1 > f"), bash("sleep 5")]))
    for event in events:
        if isinstance(event, ModelAnswered) and event.step == 2:
            break
    with pytest.raises(UsageError, match="Step 2 of this run has not ended yet"):
        fork(run, 2, provider)
    assert (fork(run, 1, provider).workspace / "f").read_text() == "1"
    events.close()


def test_a_missing_step_cannot_be_forked(parent: RecordedRun, provider: Provider) -> None:
    runs = RunFolder.ids(provider.data)
    for step in (-1, 5, 10**9):
        with pytest.raises(UsageError, match="does not exist"):
            fork(parent, step, provider)
    assert RunFolder.ids(provider.data) == runs


def test_a_stopped_run_is_forked_at_its_interrupted_step(provider: Provider) -> None:
    run, stop = new_run(provider), Stop()
    model = ScriptedModel([bash("printf 1 > f; sleep 60")])
    for event in run.start(Task("Go.", GENERAL), model, stop=stop):
        if isinstance(event, ModelAnswered):
            stop.set()
    _, model = continued(fork(run, 1, provider), provider)
    assert_every_call_has_its_result(model.requests[0].messages)


def test_a_fork_of_a_fork(parent: RecordedRun, provider: Provider) -> None:
    first, _ = continued(fork(parent, 1, provider), provider, "More.", bash("printf new > b.txt"))
    second = fork(first, 2, provider)
    assert (second.workspace / "b.txt").read_text() == "new"
    assert (second.workspace / "a.txt").read_text() == "one"
    forks = of_type(Forked, (event for _, event in journal.read(second.journal)))
    assert [event.parent for event in forks] == [parent.folder.id, first.folder.id]
    assert second.parent
    assert (second.parent.run, second.parent.step) == (first.folder.id, 2)


def test_copied_steps_are_told_apart(parent: RecordedRun, provider: Provider) -> None:
    run, _ = continued(fork(parent, 2, provider), provider)
    assert run.state.forked
    assert run.state.copied_steps == run.state.forked.totals.steps == 2
    about = measured(run.folder, run.state)
    assert (about.steps, about.copied_steps) == (3, 2)
    assert [round_.cut for round_ in run.state.rounds] == [True, False]


def test_the_price_of_copied_steps_does_not_count_against_the_limit(
    parent: RecordedRun, provider: Provider
) -> None:
    folder = fork(parent, 2, provider)
    *before, step_ended, forked = map(json.loads, folder.journal.read_bytes().splitlines())
    for event in (step_ended, forked):
        event["totals"]["cost"] = 5.0
    lines = [json.dumps(each) + "\n" for each in (*before, step_ended, forked)]
    folder.journal.write_text("".join(lines))
    run = provider.open_run(folder)
    *_, last = run.follow_up("Go.", ScriptedModel([bash("true"), SUBMIT]), Limits(money=1.0))
    assert isinstance(last, RunEnded)
    assert last.status == "submitted"


def test_installed_packages_are_listed_with_the_commands_that_install_them(
    parent: RecordedRun, provider: Provider
) -> None:
    record = parent.folder.journal
    reported = b'"packages":["gmsh 4.1","tree","-e evil","a b; rm -rf ."]'
    record.write_bytes(record.read_bytes().replace(b'"packages":[]', reported, 1))
    about = describe_fork(parent.folder, 1, provider.blobs)
    assert about.packages == ("gmsh 4.1", "tree", "-e evil", "a b; rm -rf .")
    assert about.setup == (
        "apt-get update && apt-get install -y --no-install-recommends tree",
        "pip install gmsh==4.1",
    )
    *_, (_, event) = journal.read(fork(parent, 1, provider, reinstall=True).journal)
    assert isinstance(event, Forked)
    assert event.setup == about.setup


def test_the_commands_of_a_new_sandbox_are_its_first_steps(
    parent: RecordedRun, provider: Provider
) -> None:
    folder = fork(parent, 1, provider)
    *copied, last = folder.journal.read_bytes().splitlines()
    changed = json.dumps(json.loads(last) | {"setup": ["printf 1 > ready", "printf 2 >> ready"]})
    folder.journal.write_bytes(b"\n".join([*copied, changed.encode(), b""]))
    run = provider.open_run(folder)
    model = ScriptedModel([SUBMIT], metered=True)
    list(run.follow_up("", model))
    assert (folder.workspace / "ready").read_text() == "12"
    assert len(model.requests) == 1
    assert [step.step for step in run.state.steps] == [1, 2, 3, 4]
    assert run.state.totals.prompt_tokens > 0


def test_files_that_were_not_kept_are_listed_and_the_model_is_told(
    parent: RecordedRun, provider: Provider
) -> None:
    unkept = {"big.bin": Node("file", 10**9, 0o644, stored=False, reason="it is larger than 64 MB")}
    ManifestLog(parent.folder.manifests).append(2, Delta(unkept, (), frozenset(unkept)))
    gone = hashlib.sha256(b"x").hexdigest()
    provider.blobs.path(gone).unlink()
    about = describe_fork(parent.folder, 2, provider.blobs)
    assert [each.path for each in about.missing] == ["big.bin", "sub/x"]
    _, model = continued(fork(parent, 2, provider), provider)
    assert "2 of its files were not kept and are missing: big.bin, sub/x" in (
        model.requests[0].messages[-1].text
    )


def test_a_damaged_content_is_not_restored(parent: RecordedRun, provider: Provider) -> None:
    provider.blobs.path(hashlib.sha256(b"two").hexdigest()).write_bytes(b"TWO")
    folder = fork(parent, 2, provider)
    assert not (folder.workspace / "a.txt").exists()


@pytest.mark.parametrize("deleted", ["parent", "fork"])
def test_shared_contents_stay_while_a_run_needs_them(
    parent: RecordedRun, provider: Provider, deleted: str
) -> None:
    folder = fork(parent, 2, provider)
    parent.close()
    runs = {"parent": parent.folder, "fork": folder}
    kept = runs["fork" if deleted == "parent" else "parent"]
    RunDeleter(provider.data, provider.blobs, lambda _: None).delete([runs[deleted].id])
    nodes = [n for _, delta in ManifestLog(kept.manifests).read() for n in delta.changed.values()]
    hashes = [node.hash for node in nodes if node.hash and node.stored]
    assert hashes
    assert all(map(provider.blobs.has, hashes))
    if deleted == "parent":
        again = provider.open_run(kept)
        assert again.state.forked
        child = fork(again, 1, provider)
        assert (child.workspace / "a.txt").read_text() == "one"


def test_a_damaged_record_of_a_fork_does_not_delete_its_parents_sandbox(
    parent: RecordedRun, provider: Provider
) -> None:
    folder = fork(parent, 2, provider)
    parent.close()
    for each in (folder, parent.folder):
        (each.path / "run.json").write_text("damaged")
    RunDeleter(provider.data, provider.blobs, lambda _: None).delete([folder.id])
    assert (provider.data / "sandboxes" / parent.folder.sandbox / "workspace/a.txt").exists()


def test_hostile_links_are_not_followed(provider: Provider, tmp_path: Path) -> None:
    """A manifest may come from somebody else's run."""
    outside = tmp_path / "outside"
    outside.mkdir()
    run = new_run(provider, "Go.", script(bash("printf x > f")))
    digest = hashlib.sha256(b"x").hexdigest()
    nodes = {
        "way": Node("link", target=str(outside)),
        "way/file": Node("file", 1, 0o644, digest),
        "../up": Node("file", 1, 0o644, digest),
        "setuid": Node("file", 1, 0o4755, digest),
        "pipe": Node("fifo", mode=0o644),
    }
    line = {"step": 1, **Delta(nodes, (), frozenset(nodes)).to_json()}
    with run.folder.manifests.open("a") as file:
        file.write(json.dumps(line) + "\n")
    workspace = fork(run, 1, provider).workspace
    assert list(outside.iterdir()) == []
    assert not (workspace.parent / "up").exists()
    assert (workspace / "setuid").stat().st_mode & 0o7777 == 0o755
    assert not (workspace / "pipe").exists()
