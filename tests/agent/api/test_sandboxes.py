"""Sandboxes from Python, without a model: commands, files, errors with a number."""

import errno
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent import CommandError, Sandbox, SandboxError, Settings, Studio, StudioError, UsageError


@pytest.fixture
def box(studio: Studio) -> Sandbox:
    return studio.sandbox(network="open")


def test_a_command_has_output_and_a_code(box: Sandbox) -> None:
    result = box.run("echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
    assert (result.ok, result.end_reason, result.skipped, result.note) == (False, "exit", 0, "")
    assert box.run(["printf", "%s|", "two words", "$HOME"]).stdout == "two words|$HOME|"
    assert box.run("printf '\\377'").stdout_bytes == b"\xff"
    assert box.run("printf '\\377'").stdout == "�"


def test_a_command_has_a_folder_variables_input_and_a_user(box: Sandbox) -> None:
    result = box.run("pwd; echo $A; cat", cwd=Path("/tmp"), env={"A": "b"}, input="té")
    assert result.stdout == "/tmp\nb\nté"
    assert box.run("cat", input=b"\0").stdout_bytes == b"\0"
    with pytest.raises(FileNotFoundError) as error:
        box.run("true", cwd="nowhere")
    assert isinstance(error.value, CommandError)
    assert isinstance(error.value, StudioError)
    assert error.value.errno == errno.ENOENT
    with pytest.raises(CommandError, match="There is no user") as unknown:
        box.run("true", user="nobody-there")
    assert unknown.value.errno == errno.EINVAL


def test_a_time_limit_ends_a_command(box: Sandbox) -> None:
    begun = time.monotonic()
    result = box.run("echo up; sleep 600 & sleep 600", timeout=0.5)
    assert (result.stdout, result.exit_code, result.end_reason) == ("up\n", None, "timeout")
    assert time.monotonic() - begun < 5


def test_commands_run_at_the_same_time(box: Sandbox) -> None:
    meet = "touch $N; until [ -e 0 ] && [ -e 1 ] && [ -e 2 ]; do sleep 0.02; done; echo $N"
    with ThreadPoolExecutor(3) as threads:
        done = threads.map(lambda number: box.run(meet, env={"N": str(number)}), range(3))
        assert [each.stdout for each in done] == ["0\n", "1\n", "2\n"]


def test_the_shell_remembers(box: Sandbox) -> None:
    box.shell("cd input; x=1")
    assert box.shell("basename $PWD; echo $x").stdout == "input\n1\n"
    assert box.run("echo $x").stdout == "\n"
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(box.shell, "touch up; sleep 1")
        box.run("until [ -e up ]; do sleep 0.02; done", cwd="input")
        with pytest.raises(SandboxError, match="still running"):
            box.shell("true")
        assert other.result().ok


def test_files_are_written_read_listed_and_removed(box: Sandbox) -> None:
    box.write("a/b.txt", b"bytes")
    box.write(Path("a/c.txt"), "text")
    assert (box.read("a/b.txt"), box.read("/workspace/a/c.txt")) == (b"bytes", b"text")
    names = [(Path(each.path).name, each.kind, each.size) for each in box.list("a")]
    assert names == [("b.txt", "file", 5), ("c.txt", "file", 4)]
    assert {Path(each.path).name for each in box.list()} == {"a", "input", "output"}
    assert (box.kind("a"), box.kind("a/b.txt"), box.kind("no")) == ("folder", "file", "missing")
    assert box.files["a/b.txt"].read() == b"bytes"
    box.remove("a")
    assert box.kind("a") == "missing"


@pytest.mark.parametrize(
    ("use", "python", "number"),
    [
        (lambda box: box.read("no"), FileNotFoundError, errno.ENOENT),
        (lambda box: box.read("input"), IsADirectoryError, errno.EISDIR),
        (lambda box: box.list("no"), FileNotFoundError, errno.ENOENT),
        (lambda box: box.write("input", b""), IsADirectoryError, errno.EISDIR),
        (lambda box: box.write("/dev/null/x", b""), NotADirectoryError, errno.ENOTDIR),
        (lambda box: box.read("/bin/sh", limit=3), CommandError, errno.EFBIG),
        (lambda box: box.read("a\0b"), CommandError, errno.EINVAL),
    ],
)
def test_errors_are_pythons_too(box: Sandbox, use: Any, python: type[OSError], number: int) -> None:
    with pytest.raises(python) as error:
        use(box)
    assert isinstance(error.value, CommandError)
    assert error.value.errno == number
    assert error.value.strerror == str(error.value)


def test_an_existing_file_is_kept_if_asked(box: Sandbox) -> None:
    box.write("a", b"1", exclusive=True)
    with pytest.raises(FileExistsError):
        box.write("a", b"2", exclusive=True)
    assert box.read("a") == b"1"


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda box: box.run(""), "command is empty"),
        (lambda box: box.run(7), "command must be"),
        (lambda box: box.run([]), "command must be"),
        (lambda box: box.run(["a", 7]), "command must be"),
        (lambda box: box.run("true", timeout=0), "timeout must be"),
        (lambda box: box.run("true", timeout="1"), "timeout must be"),
        (lambda box: box.run("true", env={"A": 1}), "env must be"),
        (lambda box: box.run("true", env=["A"]), "env must be"),
        (lambda box: box.run("true", input=7), "input must be"),
        (lambda box: box.run("true", cwd=7), "cwd must be"),
        (lambda box: box.write("a", 7), "data must be"),
        (lambda box: box.read(7), "path must be"),
    ],
)
def test_a_wrong_argument_is_named(box: Sandbox, use: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        use(box)


def test_closing_a_sandbox_removes_its_files(
    studio: Studio, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "given.txt").write_text("given")
    with studio.sandbox(network="open", inputs=tmp_path / "given.txt") as box:
        assert box.read("input/given.txt") == b"given"
        assert list((settings.data / "sandboxes").iterdir())
    box.close()
    with pytest.raises(SandboxError, match="closed"):
        box.run("true")
    assert not list((settings.data / "sandboxes").iterdir())
    assert not list((settings.data / "runs").iterdir())


def test_a_sandbox_that_cannot_be_started_leaves_nothing(
    studio: Studio, settings: Settings
) -> None:
    with pytest.raises(StudioError, match="run's network to open"):
        studio.sandbox(network="none")
    assert not list((settings.data / "sandboxes").iterdir())
    assert not list((settings.data / "runs").iterdir())
