"""The sandbox disk: a separate disk image where possible, otherwise monitored usage."""

import io
import itertools
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import pytest

from agent.data_folder import DataFolder
from agent.history.deletion import RunDeleter
from agent.history.index import History
from agent.provisioning.move_files import is_cheap_to_move
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import monitor, scratch, volume
from agent.sandbox.docker import lifecycle
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client, connect
from agent.settings import load
from agent.workspace.files import STAGING, Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer import uploads
from agent.workspace.versions.blobs import BlobStore
from tests.contract.sandbox_helpers import (
    MEGABYTE,
    acquire_sandbox,
    check_output,
    run,
)
from tests.contract.shared_sandbox import SharedSandbox
from tests.support.recorded_runs import write_ended_run
from tests.support.server import TIMEOUT_SECONDS, wait_until
from tests.support.threads import call_at_once

pytestmark = pytest.mark.contract

DISK_SIZE = 100 * MEGABYTE
HAS_LOOP_DEVICES = os.geteuid() == 0 and Path("/dev/loop-control").exists()
NO_LOOP_DEVICES = "a separate disk needs root and loop devices"
needs_loop_devices = pytest.mark.skipif(not HAS_LOOP_DEVICES, reason=NO_LOOP_DEVICES)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[DataFolder]:
    with DataFolder(tmp_path / "data") as folder:
        yield folder
    volume.detach_all(tmp_path / "data")


@pytest.fixture
def folder(data: DataFolder) -> Path:
    """A sandbox folder with a separate disk."""
    if not HAS_LOOP_DEVICES:
        pytest.skip(NO_LOOP_DEVICES)
    folder = data.path / "sandboxes" / "one"
    assert make_disk(folder)
    return folder


def make_disk(folder: Path, size: int = DISK_SIZE) -> bool:
    """Give a sandbox a disk and use it; return whether the host has such disks."""
    volume.create(folder, size)
    volume.attach(folder)
    return volume.disk_image(folder).exists()


# Separate disk


def test_the_disk_is_full_exactly_at_the_quota(folder: Path) -> None:
    (folder / "most").write_bytes(bytes(int(DISK_SIZE * 0.85)))
    with (folder / "more").open("wb") as file, pytest.raises(OSError, match="No space left"):
        os.posix_fallocate(file.fileno(), 0, int(DISK_SIZE * 0.15))


@needs_loop_devices
def test_disks_of_a_size_are_copies_of_one_that_is_formatted_once(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_tool = Mock(wraps=volume._run_tool)
    monkeypatch.setattr(volume, "_run_tool", run_tool)
    folders = [data.workspace(name).parent for name in ("one", "two", "three")]
    for folder, size in zip(folders, (DISK_SIZE, DISK_SIZE, 2 * DISK_SIZE), strict=True):
        assert make_disk(folder, size)
        (folder / "name.txt").write_text(folder.name)
    assert [call.args[0] for call in run_tool.mock_calls].count("mkfs.ext4") == 2
    assert [(folder / "name.txt").read_text() for folder in folders] == ["one", "two", "three"]
    assert [len(list(folder.iterdir())) for folder in folders] == [2, 2, 2]
    for folder in folders:
        volume.detach(folder)
        subprocess.run(
            ["fsck.ext4", "-f", "-n", str(volume.disk_image(folder))], check=True, timeout=60
        )


@needs_loop_devices
def test_a_damaged_formatted_disk_is_made_again(data: DataFolder) -> None:
    first, second, third = (data.workspace(name).parent for name in ("one", "two", "three"))
    assert make_disk(first)
    with volume._empty_disk(first, DISK_SIZE).open("r+b") as file:
        file.write(bytes(MEGABYTE))
    assert not make_disk(second)
    assert make_disk(third)


def test_too_many_files_are_not_called_too_much_data(data: DataFolder) -> None:
    workspace = data.workspace("one")
    if not make_disk(workspace.parent, 16 * MEGABYTE):
        pytest.skip(NO_LOOP_DEVICES)
    disk = monitor.DiskMonitor(
        monitor.DiskLocations(workspace, lambda: 0, lambda: 0, bytes_on_disk, (data.path,)),
        16 * MEGABYTE, Mock(),
    )  # fmt: skip
    with pytest.raises(OSError, match="No space left"):
        any(map(Path.touch, (workspace / str(number) for number in itertools.count())))
    assert re.match("The sandbox has no room for more files: [0-9,]+ of ", disk.message())
    assert "MB" not in disk.message()


def test_a_host_without_free_files_is_not_called_full_of_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Mock(f_files=1_000_000, f_favail=100, f_bavail=10**9, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: known)
    halt, locations = Mock(), (tmp_path / "workspace", lambda: 0, lambda: 0, lambda _: 0)
    disk = monitor.DiskMonitor(monitor.DiskLocations(*locations, (tmp_path,)), 16 * MEGABYTE, halt)
    disk.start()
    wait_until(lambda: bool(halt.mock_calls))
    disk.stop()
    assert "nearly full (it has too many files). Delete files" in disk.message()


def test_unused_space_uses_no_host_space(folder: Path) -> None:
    assert bytes_on_disk(volume.disk_image(folder).parent) < 5 * MEGABYTE
    (folder / "file").write_bytes(os.urandom(20 * MEGABYTE))
    os.sync()
    assert bytes_on_disk(volume.disk_image(folder).parent) > 20 * MEGABYTE
    (folder / "file").unlink()
    subprocess.run(["sync", "-f", folder], check=True)
    wait_until(lambda: bytes_on_disk(volume.disk_image(folder).parent) < 10 * MEGABYTE)


@needs_loop_devices
def test_the_size_of_a_run_is_the_size_freed_by_its_deletion(data: DataFolder) -> None:
    run = write_ended_run(data.path)
    shutil.rmtree(run.sandbox_folder)
    assert make_disk(run.sandbox_folder)
    (run.sandbox_folder / "file").write_bytes(os.urandom(3 * MEGABYTE))
    os.sync()
    run_summary = History(data.path).page().entries[0].summary
    assert run_summary is not None
    deleter = RunDeleter(data.path, BlobStore(data.path / "blobs"), lambda _: None)
    assert run_summary.size == pytest.approx(deleter.freed_bytes([run.id]), abs=MEGABYTE // 4)


def test_devices_on_the_disk_cannot_be_used(folder: Path) -> None:
    os.mknod(folder / "null", 0o666 | 0o020000, os.makedev(1, 3))
    with pytest.raises(PermissionError):
        (folder / "null").read_bytes()


def test_disks_of_a_killed_process_are_attached_once(folder: Path) -> None:
    (folder / "file").write_text("kept")
    volume.detach(folder)
    assert not volume.is_attached(folder)
    assert list(folder.iterdir()) == []
    call_at_once(*[lambda: volume.attach(folder)] * 8)
    assert (folder / "file").read_text() == "kept"
    assert volume.attached(folder.parent.parent) == [folder]
    volume.detach(folder)
    assert not volume.is_attached(folder), "it was mounted more than once"


@needs_loop_devices
def test_a_new_disk_is_not_used_before_its_folders_are_made(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that opened a run's files at that moment would watch no folder at all."""
    folder = data.path / "sandboxes" / data.create_sandbox(DISK_SIZE)
    mounted, go_on = threading.Event(), threading.Event()
    make = volume._make_workspace

    def make_later(folder: Path) -> None:
        mounted.set()
        assert go_on.wait(TIMEOUT_SECONDS)
        make(folder)

    def use() -> list[str]:
        volume.attach(folder)
        return sorted(each.name for each in folder.glob("workspace/*"))

    monkeypatch.setattr(volume, "_make_workspace", make_later)
    with ThreadPoolExecutor(2) as executor:
        first = executor.submit(use)
        assert mounted.wait(TIMEOUT_SECONDS)
        second = executor.submit(use)
        wait([second], timeout=0.2)  # it would be done at once
        go_on.set()
        assert first.result() == second.result() == ["input", "output"]


def test_an_open_file_stays_readable_while_its_disk_is_detached(folder: Path) -> None:
    (folder / "file").write_text("kept")
    with (folder / "file").open() as file:
        volume.detach(folder, idle=True)
        assert volume.is_attached(folder), "somebody has a file open"
        volume.detach(folder)
        volume.attach(folder)
        assert (folder / "file").read_text() == file.read() == "kept"


@needs_loop_devices
def test_a_workspace_mounts_its_disk_whenever_it_is_used_and_keeps_it_while_a_file_is_open(
    folder: Path,
) -> None:
    """Each kind of access finds the disk detached, as at the end of a round."""
    run = RunFolder.create(folder.parent.parent, folder.name)
    workspace, staged = run.open_workspace(), RelPath("input/a")

    def detached() -> Workspace:
        volume.detach(folder, idle=True)
        assert not volume.is_attached(folder)
        return workspace

    detached().write(staged, [b"kept"])
    assert [each.name for each in detached().list(RelPath("input"))] == ["a"]
    assert uploads.check_space(detached(), staged, 1, min_free=0) < DISK_SIZE
    pending = uploads.start(detached(), RelPath("input/b"), 4, min_free=0)
    with closing(uploads.open_writer(detached(), pending)) as writer:
        writer.write(b"more")
        volume.detach(folder, idle=True)
        assert volume.is_attached(folder), "a part of an upload is being received"
    assert uploads.finish(detached(), uploads.find(detached(), pending.id)) == "input/b"
    detached().remove(staged)
    with detached().open_root(ROOT):
        volume.detach(folder, idle=True)
        assert volume.is_attached(folder), "its files are being listed"
    assert [each.name for each in detached().list(RelPath("input"))] == ["b"]


def test_discarding_removes_mount_and_image(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    image = volume.disk_image(folder)
    volume.discard(folder)
    assert not folder.exists()
    assert not image.exists()
    assert str(image) not in Path("/proc/self/mountinfo").read_text()
    wait_until(lambda: str(image) not in command_output("losetup", "--list"))


def test_the_disk_moves_with_its_folder(folder: Path, tmp_path: Path) -> None:
    (folder / "file").write_text("kept")
    new_folder = tmp_path / "data" / "headless" / "0" / "sandboxes" / "one"
    new_folder.parent.mkdir(parents=True)
    volume.move(folder, new_folder)
    volume.attach(new_folder)
    assert (new_folder / "file").read_text() == "kept"
    assert not volume.disk_image(folder).exists()
    volume.discard(new_folder)


def test_without_loop_devices_a_plain_folder_is_used(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume, "_TOOL_PATH", str(data.path))
    folder = data.path / "sandboxes" / "plain"
    assert not make_disk(folder)
    assert volume.is_attached(folder)
    assert {path.name for path in (folder / "workspace").iterdir()} == {"input", "output"}
    monkeypatch.undo()
    volume.discard(folder)
    assert not folder.exists()


# In a sandbox, with and without a separate disk


OWN_DISK = pytest.param(True, marks=needs_loop_devices, id="own")


@pytest.fixture(params=[OWN_DISK, pytest.param(False, id="watched")])
def separate_disk(request: pytest.FixtureRequest) -> bool:
    value: bool = request.param
    return value


GetProvider = Callable[[bool, int], DockerSandboxProvider]


@pytest.fixture(scope="module")
def get_provider(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GetProvider]:
    """Opens providers with or without separate disks and a pool."""
    host = {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}
    settings = replace(load(host), image=image, disk=DISK_SIZE)
    with ExitStack() as stack:

        @cache
        def open_provider(separate_disk: bool, pool: int) -> DockerSandboxProvider:
            data = stack.enter_context(DataFolder(tmp_path_factory.mktemp("disk") / "data"))
            changed = replace(settings, warm_sandboxes=pool)
            provider = DockerSandboxProvider(changed, data, disks=separate_disk)
            provider.open()
            return stack.enter_context(closing(provider))

        def get(separate_disk: bool, pool: int) -> DockerSandboxProvider:
            provider = open_provider(separate_disk, pool)
            assert provider.wait_for_pool(60)
            return provider

        yield get


CreateSandbox = Callable[..., "CreatedSandbox"]


class CreatedSandbox(NamedTuple):
    folder: RunFolder
    sandbox: Sandbox
    draft: str


@pytest.fixture
def create_sandbox(get_provider: GetProvider) -> Iterator[CreateSandbox]:
    """Creates a sandbox for a new run with input files."""

    def create(separate_disk: bool, pool: int = 0, **files: int) -> CreatedSandbox:
        provider = get_provider(separate_disk, pool)
        folder = RunFolder.create(provider.data.path, draft := provider.create_workspace())
        for name, size in files.items():
            (folder.workspace / "input" / name).write_bytes(b"x" * size)
        sandbox = sandboxes.enter_context(closing(acquire_sandbox(provider, folder)))
        return CreatedSandbox(folder, sandbox, draft)

    with ExitStack() as sandboxes:
        yield create


@pytest.fixture(scope="module")
def shared(get_provider: GetProvider) -> Iterator[Callable[[bool], SharedSandbox]]:
    """Returns a sandbox, with or without a disk of its own, that the module's tests share."""

    def create(separate_disk: bool) -> Sandbox:
        provider = get_provider(separate_disk, 0)
        folder = RunFolder.create(provider.data.path, provider.create_workspace())
        return acquire_sandbox(provider, folder)

    sandboxes = {each: SharedSandbox(partial(create, each)) for each in (True, False)}
    yield lambda separate_disk: sandboxes[separate_disk]
    for each in sandboxes.values():
        each.close()


@pytest.fixture
def sandbox(shared: Callable[[bool], SharedSandbox], separate_disk: bool) -> Sandbox:
    """The shared sandbox, without files and processes of earlier tests."""
    return shared(separate_disk).fresh()


with_separate_disk = pytest.mark.parametrize("separate_disk", [OWN_DISK])
FILL_DISK = "for i in 1 2 3 4; do head -c 40M /dev/zero > big$i; done; sleep 20"


@pytest.mark.engine
def test_filling_the_workspace_is_stopped_and_reported(
    sandbox: Sandbox, separate_disk: bool
) -> None:
    mount_options = check_output(sandbox, "findmnt -n -o OPTIONS /workspace").split(",")
    assert ({"nosuid", "nodev"} <= set(mount_options)) == separate_disk
    run(sandbox, "x=kept")
    result = run(sandbox, FILL_DISK)
    assert result.end_reason == "full"
    assert "of 100 MB used" in result.finished.storage_note
    assert "in /workspace" in result.finished.storage_note
    next_result = run(sandbox, "rm big*; echo $x")
    assert (next_result.stdout, next_result.code) == (b"kept\n", 0)
    assert run(sandbox, "head -c 20M /dev/zero > small").finished.storage_note == ""


@pytest.mark.engine
def test_filling_the_container_layer_is_stopped(sandbox: Sandbox, separate_disk: bool) -> None:
    fill_layer = "for i in $(seq 50); do head -c 50M /dev/zero > /opt/$i; done; sleep 20"
    assert run(sandbox, fill_layer).end_reason == "full"
    used = int(check_output(sandbox, "du -sm /opt | cut -f1"))
    assert used < 2000, "it was stopped long before its end"
    assert run(sandbox, "rm /opt/*; true").code == 0
    assert run(sandbox, "echo on").finished.storage_note == ""


HOLD_DELETED_FILES = """
import os, sys, time
held = []
for number in range(40):
    file = open(f"{sys.argv[1]}/{number}", "wb")
    os.unlink(file.name)
    file.write(bytes(20_000_000))
    file.flush()
    held.append(file)
time.sleep(20)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may inspect a container's processes")
@pytest.mark.engine
@pytest.mark.parametrize("directory", ["/opt", "/var/tmp", "/workspace"])
def test_deleted_open_files_are_counted(
    sandbox: Sandbox, separate_disk: bool, directory: str
) -> None:
    sandbox.write("hold.py", HOLD_DELETED_FILES.encode())
    result = run(sandbox, f"python3 hold.py {directory}")
    if separate_disk and directory != "/opt":
        assert b"No space left on device" in result.stderr
    else:
        assert result.end_reason == "full"
        assert "in deleted files that were still open" in result.finished.storage_note
    next_result = run(sandbox, "head -c 50M /dev/zero > /var/tmp/more && echo on")
    assert (next_result.stdout, next_result.finished.storage_note) == (b"on\n", "")


@pytest.mark.engine
@with_separate_disk
@pytest.mark.parametrize("directory", scratch.SCRATCH_DIRECTORIES)
def test_temporary_files_homes_and_caches_are_on_the_sandbox_disk(
    sandbox: Sandbox, directory: str
) -> None:
    result = run(sandbox, f"cd {directory}; {FILL_DISK}")
    assert result.end_reason == "full"
    assert "in /workspace, /tmp, caches and homes" in result.finished.storage_note
    next_result = run(
        sandbox, f"du -sm {directory} | cut -f1; rm {directory}/big*; echo on > {directory}/small"
    )
    assert int(next_result.stdout) < DISK_SIZE // MEGABYTE
    assert (next_result.code, next_result.finished.storage_note) == (0, "")


@pytest.mark.engine
def test_directories_start_with_the_contents_of_the_image(
    create_sandbox: CreateSandbox, separate_disk: bool, image: str
) -> None:
    folder, sandbox, _ = create_sandbox(separate_disk)
    attributes = "%p %m %U %G"  # the size of a directory is a matter of its file system
    print_attributes = f"-type d -printf '{attributes}\\n' -o -printf '{attributes} %s %l\\n'"
    list_directories = f"find {' '.join(scratch.SCRATCH_DIRECTORIES)} {print_attributes} | sort"
    image_listing = command_output(
        "docker", "run", "--rm", "--network", "none", image, "bash", "-c", list_directories
    )
    assert check_output(sandbox, list_directories) == image_listing.strip()
    assert sorted(path.name for path in folder.workspace.iterdir()) == ["input", "output"]


@needs_loop_devices
@pytest.mark.engine
def test_unusual_directories_of_an_image_are_not_replaced(
    engine: Client, image: str, data: DataFolder
) -> None:
    """Large directories are not copied for each sandbox, and links are not mounted over."""
    write_large = "head -c 9M /dev/zero > /root/large"
    dockerfile = (
        f"FROM {image}\nRUN {write_large} && rmdir /home && ln -s /srv /home && rm -r /var/cache\n"
    )
    image_with_links, _ = engine.images.build(fileobj=io.BytesIO(dockerfile.encode()), rm=True)
    folder = data.path / "sandboxes" / "other"
    assert make_disk(folder)
    spec = ContainerSpec(str(image_with_links.id), "test", "other", folder / "workspace")
    try:
        with closing(DockerSandbox.create(engine, spec)) as sandbox:
            assert (
                check_output(sandbox, "stat -c %s /root/large; readlink /home") == "9437184\n/srv"
            )
            mounted = set(check_output(sandbox, "findmnt -n -l -o TARGET -t ext4").split())
    finally:
        engine.images.remove(str(image_with_links.id), force=True)
    assert mounted & set(scratch.SCRATCH_DIRECTORIES) == {"/tmp", "/var/tmp", "/var/lib/apt/lists"}


@needs_loop_devices
@pytest.mark.engine
def test_directories_survive_a_stop_and_are_fresh_in_a_new_sandbox(
    get_provider: GetProvider, create_sandbox: CreateSandbox
) -> None:
    folder, sandbox, _ = create_sandbox(True)
    run(sandbox, "touch /tmp/kept /root/kept /workspace/kept")
    sandbox.stop()
    restarted = acquire_sandbox(get_provider(True, 0), folder)
    assert check_output(restarted, "ls /tmp/kept /root/kept /workspace/kept | wc -l") == "3"
    assert isinstance(restarted, DockerSandbox)
    restarted.stop()
    lifecycle.remove(connect(), restarted.container)
    recreated = acquire_sandbox(get_provider(True, 0), folder)
    assert run(recreated, "ls /tmp/kept /root/kept /workspace/kept").stdout == b"/workspace/kept\n"
    recreated.close()
    assert not (folder.sandbox_folder / "scratch").exists()
    assert (folder.workspace / "kept").exists()


@pytest.mark.engine
def test_background_writers_are_stopped_between_commands(sandbox: Sandbox) -> None:
    run(sandbox, "(until [ -e go ]; do sleep 0.05; done; cat /dev/zero > big) & echo $! > job")
    (sandbox.workspace / "go").touch()
    wait_until(lambda: run(sandbox, "kill -0 $(cat job)").code != 0, 20)


@pytest.mark.nightly
@pytest.mark.engine
def test_a_process_that_freezes_the_supervisor_is_killed(create_sandbox: CreateSandbox) -> None:
    sandbox = create_sandbox(False).sandbox
    fill_layer = "while :; do head -c 20M /dev/zero > /opt/$RANDOM; done"
    result = run(sandbox, f"kill -STOP $PPID; {fill_layer}", timeout=60)
    assert result.end_reason == "full"
    assert run(sandbox, "rm /opt/*; echo on").stdout == b"on\n"


@pytest.mark.engine
def test_a_file_larger_than_the_disk_is_refused_immediately(
    sandbox: Sandbox, separate_disk: bool
) -> None:
    for directory in ("/opt/large", "large"):
        assert b"File size limit" in run(sandbox, f"truncate -s 101M {directory}").stderr
        assert b"not supported" in run(sandbox, f"fallocate -l 50M {directory}").stderr


@pytest.mark.engine
def test_low_host_space_stops_commands_but_allows_deletion(
    engine: Client, image: str, tmp_path: Path
) -> None:
    min_free = 2 * shutil.disk_usage(tmp_path).free
    workspace = tmp_path / "sandboxes" / "one" / "workspace"
    spec = ContainerSpec(
        image, "test", "floor", workspace, count_usage=bytes_on_disk, min_free=min_free
    )
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        assert run(sandbox, "echo on").stdout == b"on\n"
        result = run(sandbox, "head -c 300M /dev/urandom > big; sleep 20")
        assert result.end_reason == "full"
        assert "disk of the host machine" in result.finished.storage_note
        assert run(sandbox, "rm big").code == 0


@needs_loop_devices
@pytest.mark.engine
@pytest.mark.parametrize(("size", "copied"), [(1000, True), (70 * MEGABYTE, False)])
def test_only_small_files_are_copied_into_a_warm_sandbox(
    create_sandbox: CreateSandbox, size: int, copied: bool
) -> None:
    folder, sandbox, draft = create_sandbox(True, 1, given=size)
    assert check_output(sandbox, "wc -c < input/given") == str(size)
    assert (draft != folder.sandbox) is copied


@needs_loop_devices
def test_a_run_with_an_upload_in_progress_is_not_moved(data: DataFolder) -> None:
    provider = DockerSandboxProvider(replace(load({}), warm_sandboxes=0), data)
    folder = RunFolder.create(data.path, provider.create_workspace())
    staging = folder.workspace.parent / STAGING
    staging.mkdir()
    (staging / "upload-0.json").touch()
    assert is_cheap_to_move(folder)
    (staging / "upload-1").touch()
    assert not is_cheap_to_move(folder)
    provider.close()


def command_output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
