"""A large file is imported in constant memory, or refused."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from agent.events import RunStarted, encode

ROOT = Path(__file__).parents[3]
PROGRAM = """
import resource, sys
from pathlib import Path

from agent.traces.importing import import_file
small, file, data, more = *map(Path, sys.argv[1:4]), int(sys.argv[4])
import_file(small, data)  # imports what it needs
size = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))
print(len(import_file(file, data)))
"""
MORE_BYTES = 12 * 1024**2


def import_in(
    memory: int, folder: Path, small: str, large: str
) -> subprocess.CompletedProcess[str]:
    """Import a file in a process that may have so much more memory than after a small one."""
    arguments = [str(folder / small), str(folder / large), str(folder / "data"), str(memory)]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def write_export(path: Path, changes: str) -> None:
    started = RunStarted(
        run="r", task="t", mode="plain", model="m", metered=True, prompt="", system="", user="t"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("journal.jsonl", encode(started) + b"\n")
        archive.writestr("manifests.jsonl", changes)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ('{"removed":[' + '"a",' * 3_000_000 + '"a"]', "more than 500,000 values"),
        ('{"removed":[' + '"abcdefgh",' * 3_000_000 + '"a"]', "more than 16 MB"),
    ],
)
def test_a_line_with_millions_of_paths_is_refused(
    tmp_path: Path, changes: str, message: str
) -> None:
    write_export(tmp_path / "small.zip", "")
    write_export(tmp_path / "large.zip", f'{changes},"step":1,"changed":{{}}}}\n')
    result = import_in(64 * 1024**2, tmp_path, "small.zip", "large.zip")
    assert result.returncode == 1
    assert message in result.stderr.splitlines()[-1]


def write_trajectory(path: Path, steps: int) -> None:
    step = {
        "source": "agent", "message": "x",
        "tool_calls": [{"tool_call_id": "c", "function_name": "bash", "arguments": {}}],
        "observation": {"results": [{"source_call_id": "c", "content": "line\n" * 4000}]},
    }  # fmt: skip
    with path.open("w") as file:
        file.write('{"schema_version": "ATIF-v1.7", "agent": {"name": "a"}, "steps": [\n')
        file.write(",\n".join([json.dumps(step)] * steps))
        file.write("]}")


@pytest.mark.nightly
def test_a_file_larger_than_the_memory_is_imported(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "small.json", 1)
    write_trajectory(tmp_path / "large.json", 1500)
    assert (tmp_path / "large.json").stat().st_size > 2.5 * MORE_BYTES
    result = import_in(MORE_BYTES, tmp_path, "small.json", "large.json")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "1\n"
