"""Size of deleted files that processes still have open."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent.sandbox.docker.cgroup import deleted_size

pytestmark = pytest.mark.contract

SIZE = 4 * 1024**2
OPEN_FILE = "file = open('held', 'w+b'); file.write(bytes(SIZE)); file.flush()"
StartProcess = Callable[[str], int]


@pytest.fixture
def start_process(tmp_path: Path) -> Iterator[StartProcess]:
    """Starts a process that runs Python code and then waits; returns its id."""

    def start(code: str) -> int:
        program = f"import mmap, os\nSIZE = {SIZE}\n{code}\nprint(flush=True)\ninput()"
        command, pipe = [sys.executable, "-c", program], subprocess.PIPE
        process = subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe)
        processes.callback(process.communicate)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        return process.pid

    with ExitStack() as processes:
        yield start


def test_an_open_file_is_counted_after_deletion(
    start_process: StartProcess, tmp_path: Path
) -> None:
    pid = start_process(OPEN_FILE)
    assert deleted_size([pid], [tmp_path]) == 0
    (tmp_path / "held").unlink()
    assert deleted_size([pid], [tmp_path]) == SIZE


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into mappings")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(f"{OPEN_FILE}; os.unlink('held'); os.dup(file.fileno())", id="open twice"),
        pytest.param(
            f"{OPEN_FILE}; m = mmap.mmap(file.fileno(), 0); os.unlink('held'); file.close()",
            id="mapped, but closed", marks=only_root,
        ),
        pytest.param(
            "os.write(fd := os.open('.', os.O_TMPFILE | os.O_RDWR), bytes(SIZE))", id="anonymous"
        ),
    ],
)  # fmt: skip
def test_a_file_without_a_name_is_counted_once(
    start_process: StartProcess, tmp_path: Path, code: str
) -> None:
    pid = start_process(code)
    assert deleted_size([pid, pid], [tmp_path]) == SIZE


def test_memory_files_and_ended_processes_are_not_counted(
    start_process: StartProcess, tmp_path: Path
) -> None:
    pid = start_process("os.write(os.memfd_create('memory'), bytes(SIZE))")
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert deleted_size([pid, ended.pid], [tmp_path]) == 0
