"""A large file is imported in constant memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
import resource, sys
from pathlib import Path

import pytest
from agent.traces.importing import import_file
file, data, more = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
import_file(file.with_name("small.json"), data)  # imports what it needs
size = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))
print(len(import_file(file, data)))
"""
MORE_BYTES = 12 * 1024**2


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
    arguments = [str(tmp_path / "large.json"), str(tmp_path / "data"), str(MORE_BYTES)]
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout == "1\n"
