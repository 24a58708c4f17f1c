"""What the user does to the files while a step runs is not recorded as the step's doing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.events import Event, StepStarted, WorkspaceChanged
from agent.limits import Limits
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.prompts import get_bundled
from agent.runs.folder import RunFolder
from agent.runs.recorder import RecordedRun, Task
from agent.runs.user_changes import UserChange
from agent.workspace import operations
from agent.workspace.paths import RelPath
from agent.workspace.versions.past_files import FileVersions
from tests.support.local_provider import LocalSandboxProvider

Edit = Callable[[RecordedRun], None]
SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RecordedRun]:
    machine = LocalSandboxProvider(tmp_path)
    made = RecordedRun(RunFolder.create(tmp_path, machine.create_workspace()), machine)
    given = made.folder.workspace / "given"
    given.mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        (given / name).write_text(f"{name}\n")
    yield made
    made.close()


def bash(command: str) -> ScriptedTurn:
    return ScriptedTurn(calls=(ToolCall("", "execute_bash", f'{{"command": "{command}"}}'),))


def played(events: Iterator[Event], edits: dict[int, Callable[[], None]]) -> dict[str, str]:
    """What the steps are said to have done, where ``edits`` are made when they begin."""
    told: dict[str, str] = {}
    for event in events:
        if isinstance(event, StepStarted) and event.step in edits:
            edits[event.step]()
        if isinstance(event, WorkspaceChanged):
            told |= {each.path: f"{each.kind} by step {event.step}" for each in event.changes}
    return told


def begin(run: RecordedRun, *commands: str) -> Iterator[Event]:
    model = ScriptedModel([*map(bash, commands), SUBMIT])
    return run.start(Task("t", get_bundled("general")), model, Limits())


def past(run: RecordedRun) -> FileVersions:
    return FileVersions(run.folder.manifests, run._provider.blobs)


def version(run: RecordedRun, path: str, step: int) -> bytes:
    with past(run).open(RelPath(path), step) as file:
        return file.read()


def write(run: RecordedRun, path: str, text: str) -> None:
    """Write a file as the page does."""
    workspace = run.workspace
    new = not (workspace.root / path).exists()
    (workspace.root / path).parent.mkdir(parents=True, exist_ok=True)
    (workspace.root / path).write_text(text)
    run.record_user_changes([UserChange("added" if new else "changed", RelPath(path))])


def move(run: RecordedRun, path: str, to: str) -> str:
    done = operations.move(run.workspace, [RelPath(path)], RelPath(to))
    pairs = zip(done.old_paths, done.paths, strict=True)
    run.record_user_changes([UserChange("moved", old, new_path=new) for old, new in pairs])
    assert done.undo_token
    return done.undo_token


def remove(run: RecordedRun, path: str) -> None:
    operations.remove(run.workspace, [RelPath(path)])
    run.record_user_changes([UserChange("removed", RelPath(path))])


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda run: write(run, "new.txt", "mine\n"), id="added"),
        pytest.param(lambda run: write(run, "given/a.txt", "mine\n"), id="changed"),
        pytest.param(lambda run: write(run, "folder/new.txt", "mine\n"), id="added in a folder"),
        pytest.param(lambda run: remove(run, "given/a.txt"), id="removed"),
        pytest.param(lambda run: remove(run, "given"), id="folder removed"),
        pytest.param(lambda run: move(run, "given/a.txt", "to"), id="moved"),
        pytest.param(lambda run: move(run, "given", "to"), id="folder moved"),
    ],
)
def test_edits_during_a_step_are_not_attributed_to_it(run: RecordedRun, edit: Edit) -> None:
    assert played(begin(run, "true", "true"), {1: lambda: edit(run)}) == {}
    files = [each.relative_to(run.folder.workspace) for each in run.folder.workspace.rglob("*.txt")]
    assert {past(run).last_changed_step(RelPath(str(path))) for path in files} <= {0, None}


def test_user_edits_are_stored_as_versions(run: RecordedRun) -> None:
    played(begin(run, "true", "true"), {2: lambda: write(run, "given/a.txt", "mine\n")})
    assert version(run, "given/a.txt", 1) == b"a.txt\n"
    assert version(run, "given/a.txt", 2) == b"mine\n"


def test_step_diff_starts_from_the_users_edit(run: RecordedRun) -> None:
    told = played(begin(run, "echo more >> new.txt"), {1: lambda: write(run, "new.txt", "mine\n")})
    assert told == {"new.txt": "changed by step 1"}
    versions = past(run)
    before = versions.node_before(RelPath("new.txt"), 1)
    assert before is not None
    with versions.open_content(RelPath("new.txt"), 1, before) as file:
        assert file.read() == b"mine\n"
    assert version(run, "new.txt", 1) == b"mine\nmore\n"


def test_files_in_a_moved_folder_stay_attributed_to_their_step(run: RecordedRun) -> None:
    def edit() -> None:
        (run.folder.workspace / "given" / "made.txt").write_text("by the command\n")
        move(run, "given", "to")

    told = played(begin(run, "true"), {1: edit})
    assert told == {"to/given/made.txt": "added by step 1"}


def test_an_undone_move_is_not_attributed_to_a_step(run: RecordedRun) -> None:
    undo = ""

    def there() -> None:
        nonlocal undo
        undo = move(run, "given/a.txt", "to")

    def back() -> None:
        done = operations.undo(run.workspace, undo)
        pairs = zip(done.old_paths, done.paths, strict=True)
        run.record_user_changes([UserChange("put back", old, new_path=new) for old, new in pairs])

    assert played(begin(run, "true", "true"), {1: there, 2: back}) == {}
    assert (run.folder.workspace / "given" / "a.txt").exists()


def test_edits_between_rounds_are_not_attributed_to_a_step(run: RecordedRun) -> None:
    assert played(begin(run, "echo 1 > made.txt"), {}) == {"made.txt": "added by step 1"}
    write(run, "made.txt", "mine\n")
    told = played(run.follow_up("And?", ScriptedModel([bash("true"), SUBMIT])), {})
    assert told == {}
    assert past(run).last_changed_step(RelPath("made.txt")) == 1
    assert version(run, "made.txt", 2) == b"1\n"


def test_edits_while_the_sandbox_is_stopped_are_not_attributed_to_a_step(run: RecordedRun) -> None:
    played(begin(run, "echo 1 > made.txt"), {})
    run.stop_sandbox()
    with RecordedRun(run.folder, run._provider) as again:
        write(again, "made.txt", "mine\n")
        assert played(again.follow_up("And?", ScriptedModel([SUBMIT])), {}) == {}
    assert past(run).last_changed_step(RelPath("made.txt")) == 1
    assert version(run, "made.txt", 2) == b"1\n"
    assert version(run, "made.txt", 3) == b"mine\n"
