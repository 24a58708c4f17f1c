"""File changes by the user during a step are not attributed to the step."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest

from agent.events import Event, StepStarted, WorkspaceChanged
from agent.runs.recorded_run import RecordedRun, Task
from agent.runs.user_changes import UserChange
from agent.workspace import operations
from agent.workspace.paths import RelPath
from agent.workspace.versions.past_files import FileVersions
from tests.support.models.scripted import bash, script

pytestmark = pytest.mark.contract

Edit = Callable[[RecordedRun], None]


@pytest.fixture
def run(run: RecordedRun) -> RecordedRun:
    """A run with given files."""
    given_folder = run.folder.workspace / "given"
    given_folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (given_folder / name).write_text(f"{name}\n")
    return run


def changes_by_step(
    events: Iterator[Event], edits: dict[int, Callable[[], None]]
) -> dict[str, str]:
    """Return the changes attributed to steps; ``edits`` are made at the start of theirs."""
    changes: dict[str, str] = {}
    for event in events:
        if isinstance(event, StepStarted) and event.step in edits:
            edits[event.step]()
        if isinstance(event, WorkspaceChanged):
            changes |= {each.path: f"{each.kind} by step {event.step}" for each in event.changes}
    return changes


def start_run(run: RecordedRun, *commands: str) -> Iterator[Event]:
    return run.start(Task("t"), script(*map(bash, commands)))


def file_versions(run: RecordedRun) -> FileVersions:
    return FileVersions(run.folder.manifests, run._provider.blobs)


def content_after_step(run: RecordedRun, path: str, step: int) -> bytes:
    with file_versions(run).open(RelPath(path), step) as file:
        return file.read()


def write(run: RecordedRun, path: str, text: str) -> None:
    """Write a file as the page does."""
    workspace = run.workspace
    new = not (workspace.root / path).exists()
    (workspace.root / path).parent.mkdir(parents=True, exist_ok=True)
    (workspace.root / path).write_text(text)
    run.record_user_changes([UserChange("added" if new else "changed", RelPath(path))])


def move(run: RecordedRun, path: str, folder: str) -> str:
    result = operations.move(run.workspace, [RelPath(path)], RelPath(folder))
    pairs = zip(result.old_paths, result.paths, strict=True)
    run.record_user_changes([UserChange("moved", old, new_path=new) for old, new in pairs])
    assert result.undo_token
    return result.undo_token


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
    assert changes_by_step(start_run(run, "true", "true"), {1: lambda: edit(run)}) == {}
    files = [each.relative_to(run.folder.workspace) for each in run.folder.workspace.rglob("*.txt")]
    assert {file_versions(run).last_changed_step(RelPath(str(path))) for path in files} <= {0, None}


def test_user_edits_are_stored_as_versions(run: RecordedRun) -> None:
    edits = {2: lambda: write(run, "given/a.txt", "mine\n")}
    changes_by_step(start_run(run, "true", "true"), edits)
    assert content_after_step(run, "given/a.txt", 1) == b"a.txt\n"
    assert content_after_step(run, "given/a.txt", 2) == b"mine\n"


def test_step_diff_starts_from_the_users_edit(run: RecordedRun) -> None:
    edits = {1: lambda: write(run, "new.txt", "mine\n")}
    changes = changes_by_step(start_run(run, "echo more >> new.txt"), edits)
    assert changes == {"new.txt": "changed by step 1"}
    versions = file_versions(run)
    before = versions.node_before(RelPath("new.txt"), 1)
    assert before is not None
    with versions.open_content(RelPath("new.txt"), 1, before) as file:
        assert file.read() == b"mine\n"
    assert content_after_step(run, "new.txt", 1) == b"mine\nmore\n"


def test_files_in_a_moved_folder_stay_attributed_to_their_step(run: RecordedRun) -> None:
    def edit() -> None:
        (run.folder.workspace / "given" / "made.txt").write_text("by the command\n")
        move(run, "given", "to")

    changes = changes_by_step(start_run(run, "true"), {1: edit})
    assert changes == {"to/given/made.txt": "added by step 1"}


def test_an_undone_move_is_not_attributed_to_a_step(run: RecordedRun) -> None:
    undo = ""

    def move_file() -> None:
        nonlocal undo
        undo = move(run, "given/a.txt", "to")

    def undo_move() -> None:
        result = operations.undo(run.workspace, undo)
        pairs = zip(result.old_paths, result.paths, strict=True)
        run.record_user_changes([UserChange("restored", old, new_path=new) for old, new in pairs])

    assert changes_by_step(start_run(run, "true", "true"), {1: move_file, 2: undo_move}) == {}
    assert (run.folder.workspace / "given" / "a.txt").exists()


@pytest.mark.parametrize("reopened", [False, True])
def test_edits_between_rounds_are_not_attributed_to_a_step(
    run: RecordedRun, reopened: bool
) -> None:
    made = changes_by_step(start_run(run, "echo 1 > made.txt"), {})
    assert made == {"made.txt": "added by step 1"}
    if reopened:
        run.stop_sandbox()
    with RecordedRun(run.folder, run._provider) if reopened else nullcontext(run) as used:
        write(used, "made.txt", "mine\n")
        assert changes_by_step(used.follow_up("And?", script(bash("true"))), {}) == {}
    assert file_versions(run).last_changed_step(RelPath("made.txt")) == 1
    assert content_after_step(run, "made.txt", 2) == b"1\n"
    assert content_after_step(run, "made.txt", 3) == b"mine\n"
