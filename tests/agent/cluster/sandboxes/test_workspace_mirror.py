"""The two ends of a workspace that is kept equal: what the sandbox changes, what the user does."""

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agent.cluster.parts import MAX_FILE_BYTES, Part
from agent.cluster.sandboxes import mirror as mirrors
from agent.cluster.sandboxes.mirror import WorkspaceMirror
from agent.cluster.sandboxes.workspace_copy import WorkspaceCopy
from agent.errors import SandboxError, WorkspaceError
from agent.sandbox.process import ProcessSandbox
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from tests.contract.sandbox_helpers import MEGABYTE, check_output
from tests.support.server import wait_until

pytestmark = pytest.mark.contract

LIMIT = 400 * MEGABYTE


class Ends:
    """A sandbox with its mirror, and the copy; connected without a cluster."""

    def __init__(self, folder: Path) -> None:
        self.sandbox = ProcessSandbox(folder / "node")
        self.mirror = WorkspaceMirror(folder / "node", self.sandbox)
        self.there = folder / "node" / "workspace"
        self.here = folder / "driver" / "workspace"
        (self.here / "input").mkdir(parents=True)
        (self.here / "output").mkdir()
        self.copy = WorkspaceCopy(Workspace(self.here), self, LIMIT)

    def call(self, method: str, *args: Any) -> Any:
        return getattr(self.mirror, method)(*args)

    def stream(self, method: str, *args: Any) -> Iterator[list[Part]]:
        yield from getattr(self.mirror, method)(*args)

    def begin(self) -> None:
        for _ in self.copy.begin():
            continue

    def run(self, command: str) -> None:
        """Run a command in the sandbox and wait for its changes, as ``RemoteSandbox`` does."""
        self.copy.send_changes()
        check_output(self.sandbox, command)
        self.copy.wait_for(self.mirror.flush())

    def contents(self, root: Path) -> dict[str, object]:
        return {
            path.relative_to(root).as_posix(): (
                str(path.readlink()) if path.is_symlink()
                else sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            )
            for path in root.rglob("*")
        }  # fmt: skip

    def assert_equal(self) -> None:
        assert self.contents(self.here) == self.contents(self.there)


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    ends = Ends(tmp_path)
    with closing(ends.sandbox), closing(ends.mirror):
        yield ends


@pytest.fixture
def begun(ends: Ends) -> Ends:
    ends.begin()
    return ends


def test_the_node_begins_with_the_files_of_the_driver(ends: Ends) -> None:
    (ends.here / "input" / "large").write_bytes(os.urandom(5 * MEGABYTE))
    (ends.here / "input" / "same").write_text("same")
    (ends.here / "deep" / "er").mkdir(parents=True)
    (ends.here / "deep" / "link").symlink_to("/etc/passwd")
    for number in range(1500):
        (ends.here / "deep" / str(number)).write_text(str(number))
    (ends.there / "input" / "same").write_text("same")
    (ends.there / "output" / "of an earlier command").write_text("x")
    (ends.there / "gone" / "too").mkdir(parents=True)
    untouched = (ends.there / "input" / "same").stat()
    ends.begin()
    ends.assert_equal()
    assert (ends.there / "input" / "same").stat().st_ino == untouched.st_ino


@pytest.mark.parametrize(
    "command",
    [
        "head -c 30000000 /dev/urandom > output/large",
        "mkdir -p t && cd t && for i in $(seq 3000); do echo $i > $i; done",
        "touch empty; mkdir folder; ln -s /etc/passwd link; ln link hard; echo x > 'a\\b\"c'",
        "echo 1 > f; chmod 750 f",
        "printf 'x' > $'\\xff\\xfe'; printf y > $'new\\nline'",
        "mkdir d; echo 1 > d/x; ln d/x d/y; cp -r d e",
    ],
)
def test_what_a_command_writes_is_there_when_it_has_ended(begun: Ends, command: str) -> None:
    begun.run(command)
    begun.assert_equal()


def test_changes_of_kind_moves_and_removals_arrive(begun: Ends) -> None:
    begun.run("mkdir t; for i in $(seq 900); do echo $i > t/$i; done")
    begun.run("echo new > t/5; rm t/6; mv t/7 t/seven; mkdir t/u; echo 1 > t/u/v")
    begun.assert_equal()
    begun.run("rm -r t")
    begun.run("mkdir -p a/b; echo 1 > a/b/c; echo 2 > f; ln -s f link; mkdir -p g/h; touch g/h/i")
    begun.assert_equal()
    begun.run(
        "mv a moved; rm f; mkdir f; touch f/inside; rm link; echo 3 > link; rm -r g; echo > g"
    )
    begun.assert_equal()
    begun.run("rm -r moved f link g; mkfifo link; ln -s /tmp g; mkdir moved")
    assert begun.contents(begun.here) == {"input": None, "output": None, "g": "/tmp", "moved": None}


def test_permissions_arrive_as_far_as_they_are_safe(begun: Ends) -> None:
    begun.run("echo 1 > run; chmod 4711 run; echo 2 > hidden; chmod 000 hidden")
    assert (begun.here / "run").stat().st_mode & 0o7777 == 0o711
    assert (begun.here / "hidden").stat().st_mode & 0o7777 == 0o600


def test_changes_arrive_while_a_command_and_background_processes_run(begun: Ends) -> None:
    begun.run("(until [ -e input/gate ]; do sleep 0.02; done; echo late > output/late) &")
    (begun.here / "input" / "gate").touch()
    begun.copy.files_changed(["input/gate"])
    wait_until((begun.here / "output" / "late").exists, 60)


def test_a_large_file_waits_for_the_end_of_the_command(begun: Ends) -> None:
    size = 20 * MEGABYTE
    wait = "until [ -e input/g ]; do sleep 0.05; done"
    command = f"head -c {size} /dev/zero > large; touch small; {wait}"
    with ThreadPoolExecutor(1) as threads:
        command_run = threads.submit(begun.run, command)
        wait_until((begun.here / "small").exists, 60)
        large = begun.here / "large"  # while it was small, it may have been sent
        assert not large.exists() or large.stat().st_size < size
        (begun.here / "input" / "g").touch()
        begun.copy.files_changed(["input/g"])
        command_run.result(60)
    begun.assert_equal()


def test_a_file_that_grows_while_it_is_sent_is_complete_in_the_end(begun: Ends) -> None:
    begun.run("(while [ ! -e stop ]; do echo line >> log; done; touch ended) & sleep 0.1")
    for _ in range(5):
        begun.run("sleep 0.05")
    begun.run("touch stop; until [ -e ended ]; do sleep 0.02; done")
    begun.assert_equal()


def test_too_large_files_stay_and_are_named(begun: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    begun.run(f"truncate -s {MAX_FILE_BYTES + 1} sparse; echo 1 > small")
    assert not (begun.here / "sparse").exists()
    assert (begun.here / "small").exists()
    assert "sparse" in begun.copy.take_left_out()
    assert begun.copy.take_left_out() == ""
    monkeypatch.setattr(mirrors, "MAX_FILE_BYTES", 10)
    begun.run("echo 'more than ten' > small")
    assert "small" in begun.copy.take_left_out()
    assert not (begun.here / "small").exists()  # what it was before would be shown as it is


def test_files_beyond_the_limit_are_refused_and_named(begun: Ends) -> None:
    begun.run(f"truncate -s {LIMIT - MEGABYTE} first; truncate -s {2 * MEGABYTE} second")
    assert (begun.here / "first").stat().st_size == LIMIT - MEGABYTE
    assert not (begun.here / "second").exists()
    assert "second" in begun.copy.take_left_out()
    begun.run("rm first")
    begun.run(f"truncate -s {3 * MEGABYTE} second")
    begun.assert_equal()


def test_what_the_user_does_reaches_the_sandbox_and_does_not_come_back(begun: Ends) -> None:
    begun.run("mkdir -p data/sub; echo 1 > data/sub/x; echo old > note; echo bye > gone")
    (begun.here / "note").write_text("edited")
    (begun.here / "gone").unlink()
    (begun.here / "data").rename(begun.here / "renamed")
    (begun.here / "input" / "upload").write_bytes(os.urandom(3 * MEGABYTE))
    times = {path: path.stat().st_mtime_ns for path in begun.here.rglob("*")}
    begun.copy.files_changed(["note", "gone", "data", "renamed", "input/upload"])
    begun.assert_equal()
    begun.run("touch other")
    begun.assert_equal()
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_a_change_before_the_first_command_is_sent_with_it(begun: Ends) -> None:
    (begun.here / "input" / "late").write_text("late")
    begun.run("cp input/late output/copy")
    begun.assert_equal()


def test_the_last_writer_wins_on_both_sides(begun: Ends) -> None:
    stop = begun.there / "stop"
    begun.run("(until [ -e stop ]; do echo model > shared; done; touch ended) & sleep 0.1")
    for number in range(50):
        (begun.here / "shared").write_text(f"user {number}")
        begun.copy.files_changed(["shared"])
    stop.touch()
    wait_until((begun.there / "ended").exists, 60)
    begun.copy.wait_for(begun.mirror.flush())
    assert (begun.here / "shared").read_bytes() == (begun.there / "shared").read_bytes()


def names_outside(ends: Ends, folder: Path) -> set[Path]:
    """Return what is in the test's folder, but neither in the copy nor on the node."""
    theirs = {ends.here, ends.there.parent}
    return {each for each in folder.rglob("*") if theirs.isdisjoint(each.parents)}


def test_a_node_writes_nothing_outside_the_copy(
    begun: Ends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the receiver refuses does not end the stream; ``test_receiver.py`` has the paths."""
    outside = names_outside(begun, tmp_path)
    kinds: tuple[Any, ...] = ("file", "folder", "link", "removed")
    attack = [Part(kind, "../escaped", b"target") for kind in kinds]
    attack += [Part("file", "proof", b"1"), Part("synced", number=99)]
    monkeypatch.setattr(begun.mirror, "_parts", lambda _changes: iter(attack))
    check_output(begun.sandbox, "touch trigger")
    begun.mirror.flush()
    begun.copy.wait_for(99)
    assert names_outside(begun, tmp_path) - outside <= {begun.here.with_name("staging")}
    assert (begun.here / "proof").exists()


def test_a_wait_ends_when_it_is_given_up_or_the_stream_ends(begun: Ends) -> None:
    with pytest.raises(SandboxError, match="not arrived"):
        begun.copy.wait_for(10, lambda: True)
    begun.mirror.close()
    with pytest.raises(SandboxError, match="closed"):
        begun.copy.wait_for(10)


def test_the_rest_of_a_file_that_the_user_has_overwritten_is_ignored(begun: Ends) -> None:
    begun.copy._apply(Part("file", "log", b"OLD-1", last=False))
    (begun.here / "log").write_text("user")
    begun.copy.files_changed(["log"])
    begun.copy._apply(Part("file", "log", b"OLD-2"))
    assert (begun.here / "log").read_text() == "user"
    begun.copy._apply(Part("file", "log", b"NEW", number=1))
    assert (begun.here / "log").read_text() == "NEW"


def test_files_in_a_folder_that_the_user_has_removed_do_not_come_back(begun: Ends) -> None:
    begun.run("mkdir folder; echo 1 > folder/file")
    (begun.here / "folder" / "file").unlink()
    (begun.here / "folder").rmdir()
    begun.copy.files_changed(["folder"])
    begun.copy._apply(Part("file", "folder/file", b"1"))
    assert not (begun.here / "folder").exists()
    begun.assert_equal()


def test_any_failure_to_receive_ends_the_wait(begun: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(part: Part) -> None:
        raise ValueError(part.path)

    monkeypatch.setattr(begun.copy._receiver, "receive", fail)
    with pytest.raises(SandboxError, match="cannot be stored"):
        begun.run("touch file")


def test_paths_that_are_too_long_are_named_and_do_not_break_the_sandbox(begun: Ends) -> None:
    name = "d" * 200
    begun.run(f"for i in $(seq 21); do mkdir {name}; cd {name}; done; echo 1 > deep; cd /; true")
    assert "too large or cannot be copied" in begun.copy.take_left_out()
    begun.run("cd ~; echo 1 > file")
    assert (begun.here / "file").exists()
    again = WorkspaceCopy(Workspace(begun.here), begun, LIMIT)
    for _ in again.begin():
        continue


def test_a_path_that_cannot_be_read_here_is_not_deleted_there(
    begun: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun.run("echo 1 > keep")

    def refuse(path: str) -> None:
        raise WorkspaceError(f"{path} cannot be read.") from PermissionError(13, "denied")

    monkeypatch.setattr(begun.copy._workspace, "stat", refuse)
    begun.copy.files_changed(["keep"])
    assert (begun.there / "keep").exists()
    assert "keep" in begun.copy.take_left_out()


def test_the_parts_of_a_deep_folder_are_found(ends: Ends) -> None:
    subprocess.run(["mkdir", "-p", "/".join("a" * 1100)], cwd=ends.here, check=True)
    try:
        assert len(list(ends.copy._parts(RelPath("a")))) == 1100
    finally:  # Python cannot remove it
        subprocess.run(["rm", "-r", ends.here / "a"], check=False)
