"""Defects of the reference implementation's tools, by number: this implementation has none.

The numbers are those of the initial list of defects. Each test's docstring describes the defect.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import prompts
from agent.models.base import ToolCall
from agent.sandbox.base import Sandbox, SandboxLimits
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.process import ProcessSandbox
from agent.tools.actions import Action, InvalidCall
from agent.tools.call_parser import TimeLimits, parse
from agent.tools.toolbox import ToolOutcome
from tests.support.tool_runner import ToolRunner

pytestmark = pytest.mark.contract

EDITOR = "str_replace_editor"


KEEP_BYTES = 1024 * 1024


@pytest.fixture(
    scope="module", params=["process", pytest.param("container", marks=pytest.mark.engine)]
)
def sandbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """A container and a process sandbox."""
    folder = tmp_path_factory.mktemp("sandbox")
    limits = SandboxLimits(keep_bytes=KEEP_BYTES)
    if request.param == "process":
        sandbox: Sandbox = ProcessSandbox(folder, limits)
    else:
        engine, image = request.getfixturevalue("engine"), request.getfixturevalue("image")
        name = uuid.uuid4().hex
        spec = ContainerSpec(image, f"test-{name}", name, folder / "workspace", limits)
        sandbox = DockerSandbox.create(engine, spec)
    yield sandbox
    sandbox.close()


@pytest.fixture
def runner(sandbox: Sandbox) -> ToolRunner:
    """The tools in a separate folder, as if it were the workspace."""
    home = "/workspace" if isinstance(sandbox, DockerSandbox) else str(sandbox.workspace)
    folder = uuid.uuid4().hex
    (sandbox.workspace / folder / "input").mkdir(parents=True)
    return ToolRunner(sandbox, f"{home}/{folder}", sandbox.workspace / folder)


def parse_call(name: str, arguments: str) -> Action | InvalidCall:
    return parse(ToolCall("call-1", name, arguments), TimeLimits())


def write_file(runner: ToolRunner, name: str, data: bytes) -> Path:
    path = runner.folder / name
    path.write_bytes(data)
    return path


def stdout_of(outcome: ToolOutcome) -> str:
    return outcome.text.partition("[STDOUT]\n")[2]


class TestCalls:
    def test_02_malformed_json_is_answered_with_the_error(self) -> None:
        """It was taken for no call at all, and scolded."""
        parsed = parse_call("execute_bash", '{"command": "ls}')
        assert isinstance(parsed, InvalidCall)
        assert "not valid JSON" in parsed.text
        assert "forgot" not in parsed.text

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("execute_bash", {"command": ["ls", "-l"]}),
            (EDITOR, {"command": "insert", "path": "/a", "new_str": "x", "insert_line": "two"}),
            (EDITOR, {"command": "view", "path": "/a", "view_range": "all"}),
            (EDITOR, {"command": ["view"], "path": "/a"}),
        ],
    )
    def test_04_wrong_types_are_answered_and_the_run_continues(
        self, name: str, arguments: dict[str, Any]
    ) -> None:
        """A TypeError ended the run, and all of its record was lost."""
        assert isinstance(parse_call(name, json.dumps(arguments)), InvalidCall)

    @pytest.mark.parametrize("arguments", ["[]", '"ls"', "5", "true"])
    @pytest.mark.parametrize("name", ["execute_bash", "submit", EDITOR])
    def test_05_non_object_arguments_never_succeed(self, name: str, arguments: str) -> None:
        """A command was told "Exit code: 0", and submit counted."""
        assert isinstance(parse_call(name, arguments), InvalidCall)


class TestEditor:
    @pytest.mark.contract
    @pytest.mark.parametrize("name", ["a.txt", "b.csv", "c.json", "d.svg", "no_suffix", "e.py"])
    def test_14_any_text_file_can_be_viewed(self, runner: ToolRunner, name: str) -> None:
        """Only .py and .rst could."""
        write_file(runner, name, b"text\n")
        assert runner.edit("view", name).text.endswith("     1\ttext")

    @pytest.mark.contract
    def test_14_a_folder_shows_all_its_files(self, runner: ToolRunner) -> None:
        """A folder of documents looked empty."""
        for name in ("a.txt", "b.pdf", "c"):
            write_file(runner, f"input/{name}", b"x")
        text = runner.edit("view", "input").text
        assert all(
            runner.path(f"input/{name} (1 bytes)") in text for name in ("a.txt", "b.pdf", "c")
        )

    @pytest.mark.contract
    def test_15_create_refuses_to_overwrite(self, runner: ToolRunner) -> None:
        """It overwrote, against its description."""
        path = write_file(runner, "a.txt", b"precious")
        outcome = runner.edit("create", "a.txt", file_text="new")
        assert not outcome.ok
        assert "already exists" in outcome.text
        assert path.read_bytes() == b"precious"

    @pytest.mark.contract
    @pytest.mark.parametrize("command", ["str_replace", "insert"])
    def test_16_tabs_survive_an_edit(self, runner: ToolRunner, command: str) -> None:
        """All tabs of the file became spaces."""
        path = write_file(runner, "Makefile", b"all:\n\tcc a.c\nKEY\n")
        runner.edit(command, "Makefile", old_str="KEY", new_str="\tX", insert_line=0)
        wanted = {"str_replace": b"all:\n\tcc a.c\n\tX\n", "insert": b"\tX\nall:\n\tcc a.c\nKEY\n"}
        assert path.read_bytes() == wanted[command]

    @pytest.mark.contract
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"a\r\nKEY\r\nb", id="CRLF"),
            pytest.param(b"\x1b[31mred\x1b[0m KEY\n", id="ANSI"),
            pytest.param(b"caf\xe9 KEY\xff\n", id="not UTF-8"),
            pytest.param(b"\xff\xfe" + "KEY ü\r\n".encode("utf-16-le"), id="UTF-16"),
        ],
    )
    def test_17_bytes_survive_an_edit(self, runner: ToolRunner, data: bytes) -> None:
        """CRLF became LF, escape sequences vanished, other encodings were spoilt."""
        path = write_file(runner, "a", data)
        assert runner.edit("str_replace", "a", old_str="KEY", new_str="VAL").ok
        key, value = (b"KEY", b"VAL")
        if data.startswith(b"\xff\xfe"):
            key, value = ("KEY".encode("utf-16-le"), "VAL".encode("utf-16-le"))
        assert path.read_bytes() == data.replace(key, value)

    @pytest.mark.contract
    def test_18_an_edit_adds_no_line_ending(self, runner: ToolRunner) -> None:
        """Every write appended one."""
        path = write_file(runner, "a", b"one\ntwo")
        for old, new in (("one", "1"), ("two", "2"), ("1", "eins")):
            runner.edit("str_replace", "a", old_str=old, new_str=new)
        assert path.read_bytes() == b"eins\n2"

    @pytest.mark.contract
    @pytest.mark.parametrize("text", ["-n", "-e", "-n -e\\n", "\\", "'", "$(id)", "`id`", "%s", ""])
    def test_18_text_is_written_unchanged(self, runner: ToolRunner, text: str) -> None:
        """What looked like an option of echo vanished."""
        assert runner.edit("create", "a", file_text=text).ok
        assert (runner.folder / "a").read_text() == text

    @pytest.mark.contract
    @pytest.mark.parametrize("command", ["str_replace", "insert", "view"])
    def test_19_a_missing_file_stays_missing(self, runner: ToolRunner, command: str) -> None:
        """It was created, holding cat's error message, and called edited."""
        outcome = runner.edit(command, "no", old_str="cat", new_str="dog", insert_line=0)
        assert not outcome.ok
        assert "Path not found" in outcome.text
        assert not (runner.folder / "no").exists()

    @pytest.mark.contract
    def test_20_a_failed_write_is_reported_as_an_error(self, runner: ToolRunner) -> None:
        """Success was told although nothing was written."""
        outcome = runner.edit("create", "x" * 300, file_text="x")
        assert not outcome.ok
        assert "File created" not in outcome.text
        write_file(runner, "file", b"")
        assert not runner.edit("create", "file/below", file_text="x").ok

    @pytest.mark.contract
    def test_21_ten_megabytes_are_written_and_edited(self, runner: ToolRunner) -> None:
        """Text went through the arguments of a process and failed above 128 KB."""
        text = "0123456789abcde\n" * (10 * 1024 * 1024 // 16) + "KEY\n"
        assert runner.edit("create", "big.txt", file_text=text).ok
        assert runner.edit("str_replace", "big.txt", old_str="KEY", new_str="END").ok
        assert (runner.folder / "big.txt").read_text() == text.replace("KEY", "END")
        end = runner.edit("view", "big.txt", view_range=[655_361, -1])
        assert end.text.endswith("655361\tEND\n(lines 655361-655361 of 655361)")

    @pytest.mark.contract
    @pytest.mark.parametrize(
        "name",
        [
            "a b.txt",
            "it's",
            'say "x"',
            "two\nlines",
            "$(touch owned)",
            "`touch owned`",
            "-rf",
            "ä*?",
        ],
    )
    def test_22_paths_are_used_unchanged(self, runner: ToolRunner, name: str) -> None:
        """Unquoted, they named other files or ran as commands."""
        assert runner.edit("create", name, file_text="one\n").ok
        assert runner.edit("str_replace", name, old_str="one", new_str="two").ok
        assert runner.edit("view", name).text.endswith("     1\ttwo")
        assert (runner.folder / name).read_text() == "two\n"
        assert {path.name for path in runner.folder.iterdir()} == {"input", name}

    @pytest.mark.contract
    def test_23_create_does_not_echo_the_file(self, runner: ToolRunner) -> None:
        """Up to 10,000 characters came back that the model had just written."""
        outcome = runner.edit("create", "a.txt", file_text="line\n" * 2000)
        assert "2000 lines, 10000 bytes" in outcome.text
        assert len(outcome.text) < 300


class TestExecution:
    @pytest.mark.contract
    def test_24_output_is_streamed_and_bounded(self, runner: ToolRunner) -> None:
        """All of it was held in the host's memory, and shown at the end."""
        outcome = runner.bash("yes | head -c 20000000")
        assert sum(len(item.data) for item in runner.output) <= KEEP_BYTES + 65_536
        assert sum(item.skipped for item in runner.output) > 18_000_000
        assert "bytes that the sandbox did not keep left out" in outcome.text

    @pytest.mark.contract
    def test_25_a_long_line_is_truncated(self, runner: ToolRunner) -> None:
        """Output was cut by lines only."""
        outcome = runner.bash("head -c 300000 /dev/zero | tr '\\0' x")
        assert len(outcome.text) < 10_500
        assert "290000 characters (0 whole lines) left out" in outcome.text

    @pytest.mark.contract
    def test_26_a_command_that_ignores_sigterm_is_killed_and_its_output_kept(
        self, runner: ToolRunner
    ) -> None:
        """It ran on without bound, and what it had printed was thrown away."""
        outcome = runner.bash("trap '' TERM; echo begun; while :; do sleep 0.1; done", timeout=0.5)
        assert outcome.end_reason == "timeout"
        assert "begun" in outcome.text

    @pytest.mark.contract
    def test_26_exit_code_124_is_not_a_timeout(self, runner: ToolRunner) -> None:
        """A command that exits with 124 by itself was told that it took too long."""
        outcome = runner.bash("(exit 124)")
        assert (outcome.end_reason, outcome.exit_code) == ("exit", 124)
        assert outcome.text.startswith("Error: Exit code 124\n")

    @pytest.mark.contract
    def test_27_a_background_process_does_not_block_the_call(self, runner: ToolRunner) -> None:
        """It added two seconds to every call."""
        outcome = runner.bash("sleep 300 & echo $!")
        assert outcome.ok
        assert outcome.seconds < 60
        alive = f"kill -0 {stdout_of(outcome)} 2>/dev/null && echo alive || echo gone"
        assert stdout_of(runner.bash(alive)) == "alive"
        runner.sandbox.end_processes()
        assert stdout_of(runner.bash(alive)).startswith("gone")

    @pytest.mark.contract
    def test_28_shell_state_persists(self, runner: ToolRunner) -> None:
        """Every call had a new shell."""
        runner.bash(f"cd {runner.path('input')}; export NAME=value; greet() {{ echo hello; }}")
        outcome = runner.bash("pwd; echo $NAME; greet")
        assert stdout_of(outcome) == f"{runner.path('input')}\nvalue\nhello"


class TestPrompts:
    def test_40_the_biomedical_prompt_covers_ten_choices(self) -> None:
        """It said A, B, C or D to questions with ten."""
        prompt = prompts.get_bundled("biomed")
        assert "from A to J" in prompt.system
        assert "D)" not in prompt.system

    @pytest.mark.parametrize("name", prompts.list_names())
    def test_42_no_prompt_has_doubled_backslashes(self, name: str) -> None:
        r"""The model was shown ``\\boxed{}``."""
        prompt = prompts.get_bundled(name)
        assert "\\\\" not in prompt.system + prompt.user_message("T") + prompt.plain_message("T")

    def test_braces_in_a_custom_prompt_are_safe(self, tmp_path: Path) -> None:
        """A KeyError ended the run before it began."""
        own = tmp_path / "own.md"
        own.write_text("Answer as {x}.")
        assert prompts.load(str(own)).system == "Answer as {x}."
