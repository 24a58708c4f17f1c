"""Sandboxes from Python, without a model: commands, files and errors."""

import errno
from pathlib import Path
from typing import Any

import pytest

from agent import CommandError, Sandbox, SandboxError, Settings, Studio, StudioError, UsageError
from agent.models.base import ToolCall
from agent.tools.toolbox import InvalidCall, ToolOutcome
from agent.util.stop import Stop

pytestmark = pytest.mark.contract


@pytest.fixture
def sandbox(studio: Studio) -> Sandbox:
    return studio.sandbox(network="open")


def test_a_command_has_output_and_an_exit_code(sandbox: Sandbox) -> None:
    result = sandbox.run("echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
    assert (result.ok, result.end_reason, result.skipped, result.note) == (False, "exit", 0, "")
    assert sandbox.run(["printf", "%s|", "two words", "$HOME"]).stdout == "two words|$HOME|"
    assert sandbox.run("sleep 600", timeout=0.3).end_reason == "timeout"
    assert sandbox.run("printf '\\377'").stdout_bytes == b"\xff"
    assert sandbox.run("printf '\\377'").stdout == "�"


def test_a_command_accepts_folder_variables_input_and_user(sandbox: Sandbox) -> None:
    result = sandbox.run("pwd; echo $A; cat", cwd=Path("/tmp"), env={"A": "b"}, input="té")
    assert result.stdout == "/tmp\nb\nté"
    assert sandbox.run("cat", input=b"\0").stdout_bytes == b"\0"
    with pytest.raises(FileNotFoundError) as error:
        sandbox.run("true", cwd="nowhere")
    assert isinstance(error.value, CommandError)
    assert isinstance(error.value, StudioError)
    assert error.value.errno == errno.ENOENT
    with pytest.raises(CommandError, match="There is no user") as unknown:
        sandbox.run("true", user="nobody-there")
    assert unknown.value.errno == errno.EINVAL


def test_the_shell_keeps_its_state(sandbox: Sandbox) -> None:
    sandbox.shell("cd input; x=1")
    assert sandbox.shell("basename $PWD; echo $x").stdout == "input\n1\n"
    assert sandbox.run("echo $x").stdout == "\n"


def test_files_are_written_read_listed_and_removed(sandbox: Sandbox) -> None:
    sandbox.write("a/b.txt", b"bytes")
    sandbox.write(Path("a/c.txt"), "text")
    assert (sandbox.read("a/b.txt"), sandbox.read("/workspace/a/c.txt")) == (b"bytes", b"text")
    names = [(Path(each.path).name, each.kind, each.size) for each in sandbox.list("a")]
    assert names == [("b.txt", "file", 5), ("c.txt", "file", 4)]
    assert {Path(each.path).name for each in sandbox.list()} == {"a", "input", "output"}
    kinds = [sandbox.kind(path) for path in ("a", "a/b.txt", "no")]
    assert kinds == ["folder", "file", "missing"]
    assert sandbox.files["a/b.txt"].read() == b"bytes"
    sandbox.remove("a")
    assert sandbox.kind("a") == "missing"


@pytest.mark.parametrize(
    ("use", "error_type", "number"),
    [
        (lambda sandbox: sandbox.read("no"), FileNotFoundError, errno.ENOENT),
        (lambda sandbox: sandbox.read("input"), IsADirectoryError, errno.EISDIR),
        (lambda sandbox: sandbox.list("no"), FileNotFoundError, errno.ENOENT),
        (lambda sandbox: sandbox.write("input", b""), IsADirectoryError, errno.EISDIR),
        (lambda sandbox: sandbox.write("/dev/null/x", b""), NotADirectoryError, errno.ENOTDIR),
        (lambda sandbox: sandbox.read("/bin/sh", limit=3), CommandError, errno.EFBIG),
        (lambda sandbox: sandbox.read("a\0b"), CommandError, errno.EINVAL),
        (
            lambda sandbox: [sandbox.write("a", b"", exclusive=True) for _ in range(2)],
            FileExistsError,
            errno.EEXIST,
        ),
    ],
)
def test_file_errors_are_subclasses_of_oserror(
    sandbox: Sandbox, use: Any, error_type: type[OSError], number: int
) -> None:
    with pytest.raises(error_type) as error:
        use(sandbox)
    assert isinstance(error.value, CommandError)
    assert error.value.errno == number
    assert error.value.strerror == str(error.value)


def test_a_sandbox_has_the_tools_of_a_run(sandbox: Sandbox) -> None:
    toolbox = sandbox.toolbox(command_seconds=60)
    names = [schema.name for schema in toolbox.schemas]
    assert names == ["str_replace_editor", "execute_bash", "submit"]
    assert "ended after 60 seconds" in toolbox.schemas[1].description
    action = toolbox.parse(ToolCall("1", "execute_bash", '{"command": "cd /tmp; false"}'))
    assert not isinstance(action, InvalidCall)
    *_, outcome = toolbox.run(action, Stop())
    assert isinstance(outcome, ToolOutcome)
    assert outcome.text == "Error: Exit code 1\nExecution output of [execute_bash]:\n[STDOUT]\n"
    assert sandbox.shell("pwd").stdout == "/tmp\n"
    with pytest.raises(UsageError, match="command_seconds"):
        sandbox.toolbox(command_seconds=0)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda sandbox: sandbox.run(""), "command is empty"),
        (lambda sandbox: sandbox.run(7), "command must be"),
        (lambda sandbox: sandbox.run([]), "command must be"),
        (lambda sandbox: sandbox.run(["a", 7]), "command must be"),
        (lambda sandbox: sandbox.run("true", timeout=0), "timeout must be"),
        (lambda sandbox: sandbox.run("true", timeout="1"), "timeout must be"),
        (lambda sandbox: sandbox.run("true", env={"A": 1}), "env must be"),
        (lambda sandbox: sandbox.run("true", env=["A"]), "env must be"),
        (lambda sandbox: sandbox.run("true", input=7), "input must be"),
        (lambda sandbox: sandbox.run("true", cwd=7), "cwd must be"),
        (lambda sandbox: sandbox.write("a", 7), "data must be"),
        (lambda sandbox: sandbox.read(7), "path must be"),
    ],
)
def test_an_invalid_argument_is_named(sandbox: Sandbox, use: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        use(sandbox)


def test_closing_a_sandbox_removes_its_files(
    studio: Studio, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "given.txt").write_text("given")
    with studio.sandbox(network="open", inputs=tmp_path / "given.txt") as sandbox:
        assert sandbox.read("input/given.txt") == b"given"
        assert list((settings.data / "sandboxes").iterdir())
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.run("true")
    assert not list((settings.data / "sandboxes").iterdir())
    assert not list((settings.data / "runs").iterdir())


def test_a_sandbox_that_cannot_start_leaves_nothing(studio: Studio, settings: Settings) -> None:
    with pytest.raises(StudioError, match="run's network to open"):
        studio.sandbox(network="none")
    assert not list((settings.data / "sandboxes").iterdir())
    assert not list((settings.data / "runs").iterdir())
