"""Deleted files that processes still hold."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.sandbox.disk.deleted_files import deleted_size

SIZE = 4 * 1024**2
OPEN = "file = open('held', 'w+b'); file.write(bytes(SIZE)); file.flush()"
Hold = Callable[[str], int]


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """Starts a process that runs some Python and then waits; its id."""

    def start(code: str) -> int:
        program = f"import mmap, os\nSIZE = {SIZE}\n{code}\nprint(flush=True)\ninput()"
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        return process.pid

    started: list[subprocess.Popen[bytes]] = []
    yield start
    for each in started:
        each.communicate()


def test_an_open_file_counts_once_it_is_deleted(hold: Hold, tmp_path: Path) -> None:
    process = hold(OPEN)
    assert deleted_size([process], [tmp_path]) == 0
    (tmp_path / "held").unlink()
    assert deleted_size([process], [tmp_path]) == SIZE


def test_a_file_counts_once_however_many_hold_it(hold: Hold, tmp_path: Path) -> None:
    process = hold(f"{OPEN}; os.unlink('held'); os.dup(file.fileno())")
    assert deleted_size([process, process], [tmp_path]) == SIZE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into mappings")
def test_a_mapped_file_counts_though_it_was_closed(hold: Hold, tmp_path: Path) -> None:
    process = hold(f"{OPEN}; m = mmap.mmap(file.fileno(), 0); os.unlink('held'); file.close()")
    assert deleted_size([process], [tmp_path]) == SIZE


def test_a_file_that_never_had_a_name_counts(hold: Hold, tmp_path: Path) -> None:
    process = hold("os.write(fd := os.open('.', os.O_TMPFILE | os.O_RDWR), bytes(SIZE))")
    assert deleted_size([process], [tmp_path]) == SIZE


def test_files_in_memory_and_processes_that_ended_do_not_count(hold: Hold, tmp_path: Path) -> None:
    process = hold("os.write(os.memfd_create('memory'), bytes(SIZE))")
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert deleted_size([process, ended.pid], [tmp_path]) == 0
