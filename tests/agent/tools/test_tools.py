"""The three tools: lenient parsing of calls, and their execution in a sandbox."""

import json
from typing import Any

import pytest

from agent.models.base import ToolCall
from agent.sandbox.process import ProcessSandbox
from agent.tools.actions import (
    Action,
    Bash,
    Create,
    Insert,
    InvalidCall,
    Operation,
    Replace,
    Submit,
    View,
)
from agent.tools.call_parser import TimeLimits, parse
from agent.tools.observation import OutputLimits
from agent.tools.schemas import tool_schemas
from tests.support.tool_runner import ToolRunner

EDITOR = "str_replace_editor"
COMMANDS = "view, create, str_replace, insert"
LIMITS = TimeLimits(default=120, maximum=3600)


Call = tuple[str, Any]
"""A tool's name, and its arguments or their text."""


def bash(arguments: Any = None, **more: Any) -> Call:
    return "execute_bash", more if arguments is None else arguments


def edit(command: str, **arguments: Any) -> Call:
    """Return a call of the editor for the file ``/a``."""
    return EDITOR, {"command": command, "path": "/a", **arguments}


def parse_call(call: Call) -> Action | InvalidCall:
    name, arguments = call
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return parse(ToolCall("call-1", name, text), LIMITS)


def parse_error(*call: Any) -> str:
    parsed = parse_call(call)
    assert isinstance(parsed, InvalidCall), parsed
    return parsed.text


@pytest.fixture
def runner(sandbox: ProcessSandbox) -> ToolRunner:
    return ToolRunner(sandbox, str(sandbox.workspace), sandbox.workspace)


class TestSchemas:
    def test_names_and_parameters_match_the_reference(self) -> None:
        editor, bash, submit = tool_schemas(LIMITS, OutputLimits())
        assert [tool.name for tool in (editor, bash, submit)] == [EDITOR, "execute_bash", "submit"]
        assert editor.parameters["required"] == ["command", "path"]
        properties = editor.parameters["properties"]
        texts = ("command", "path", "file_text", "old_str", "new_str")
        assert {name: part["type"] for name, part in properties.items()} == dict.fromkeys(
            texts, "string"
        ) | {"insert_line": "integer", "view_range": "array"}
        assert properties["command"]["enum"] == COMMANDS.split(", ")
        assert bash.parameters["required"] == ["command"]
        assert set(bash.parameters["properties"]) == {"command", "timeout"}
        assert submit.parameters == {"type": "object", "properties": {}}

    def test_descriptions_state_the_actual_limits(self) -> None:
        _, bash, _ = tool_schemas(
            TimeLimits(default=7, maximum=99), OutputLimits(lines=3, characters=500)
        )
        text = bash.description + str(bash.parameters)
        for figure in ("after 7 seconds", "at most 99", "last 3 lines", "500 characters"):
            assert figure in text


class TestValidCalls:
    @pytest.mark.parametrize(
        ("call", "operation"),
        [
            (("submit", ""), Submit()),
            (("submit", "{}"), Submit()),
            (("submit", "null"), Submit()),
            (bash(command="ls"), Bash("ls")),
            (bash(command="ls", timeout=None), Bash("ls")),
            (bash(command="ls", timeout="30"), Bash("ls", 30.0)),
            (bash('{"command": "a\nb"}'), Bash("a\nb")),
            (bash('"{\\"command\\": \\"ls\\"}"'), Bash("ls")),
            (edit("view"), View("/a")),
            (edit("view", view_range=[1, 2]), View("/a", (1, 2))),
            (edit("view", view_range="[1, 2]"), View("/a", (1, 2))),
            (edit("view", view_range=["1", 2.0]), View("/a", (1, 2))),
            (edit("view", view_range=None), View("/a")),
            (edit("create", file_text=""), Create("/a", "")),
            (edit("str_replace", old_str="x", new_str=None), Replace("/a", "x", "")),
            (edit("insert", insert_line="5", new_str="x"), Insert("/a", 5, "x")),
            (edit("insert", insert_line=5, insert_text="x"), Insert("/a", 5, "x")),
            (bash(command="ls", security_risk="LOW"), Bash("ls")),
            (bash(command="ls", is_input="false"), Bash("ls")),
            (("submit", {"security_risk": "LOW"}), Submit()),
        ],
    )
    def test_unambiguous_variants_are_accepted(self, call: Call, operation: Operation) -> None:
        assert parse_call(call) == Action(operation)

    @pytest.mark.parametrize(
        ("call", "operation", "note"),
        [
            (bash(command="y", cwd="/"), Bash("y"), "the unknown parameter cwd was ignored"),
            (
                bash(command="y", is_input="true"),
                Bash("y"),
                "the unknown parameter is_input was ignored",
            ),
            (
                edit("insert", insert_line=1, new_str="x", insert_text="y"),
                Insert("/a", 1, "x"),
                "the unknown parameter insert_text was ignored",
            ),
            (
                edit("view", old_str="", file_text="x"),
                View("/a"),
                "file_text has no meaning for view and was ignored",
            ),
            (
                bash(command="y", timeout=1e9),
                Bash("y", 3600.0),
                "timeout was reduced to the maximum, 3600 s",
            ),
            (
                edit("view", path="a"),
                View("a"),
                "a is not absolute; it was resolved against /workspace",
            ),
        ],
    )
    def test_what_is_changed_or_ignored_is_reported(
        self, call: Call, operation: Operation, note: str
    ) -> None:
        assert parse_call(call) == Action(operation, (note,))

    @pytest.mark.parametrize(
        ("arguments", "operation"),
        [
            ({"old_str": "x", "new_str": "y"}, Replace("/a", "x", "y")),
            ({"old_str": "x"}, Replace("/a", "x", "")),
            ({"file_text": "x", "view_range": None}, Create("/a", "x")),
            ({"insert_line": 2, "new_str": "x"}, Insert("/a", 2, "x")),
            ({"insert_line": 2, "insert_text": "x", "command": ""}, Insert("/a", 2, "x")),
            ({"view_range": [1, 2]}, View("/a", (1, 2))),
        ],
    )
    def test_a_call_without_command_that_allows_one_reading_is_that_reading(
        self, arguments: dict[str, Any], operation: Operation
    ) -> None:
        action = parse_call((EDITOR, {"path": "/a", **arguments}))
        assert isinstance(action, Action)
        assert action.operation == operation
        (note,) = action.notes
        assert note.startswith("command was missing; the call was understood as ")


class TestInvalidCalls:
    def test_malformed_json_is_answered_with_position_and_rule(self) -> None:
        text = parse_error("execute_bash", '{"command": "echo "hi""}')
        assert text.startswith("Error: the arguments of execute_bash are not valid JSON: ")
        assert "line 1, column 20, near `" in text
        assert 'one JSON object, for example {"command": "ls -la"}' in text
        assert "Nothing was done" in text

    @pytest.mark.parametrize("text", ['{"command": "cat > a', '{"command": "ls"', '{"command":'])
    def test_truncated_json_is_recognized(self, text: str) -> None:
        assert "may have been cut off" in parse_error("execute_bash", text)

    @pytest.mark.parametrize("text", ["[" * 200_000, "9" * 10_000, '{"a":' * 100_000])
    def test_json_beyond_the_limits_is_answered(self, text: str) -> None:
        assert "Error: the arguments of submit are" in parse_error("submit", text)

    @pytest.mark.parametrize(
        ("text", "kind"),
        [("[]", "an array"), ('"ls"', "a string"), ("5", "a number"), ("true", "true or false")],
    )
    def test_arguments_that_are_not_an_object_are_answered(self, text: str, kind: str) -> None:
        assert parse_error("submit", text).startswith(
            f"Error: the arguments of submit are {kind}. "
        )

    def test_an_unknown_tool_is_answered_with_the_tool_names(self) -> None:
        names = "str_replace_editor, execute_bash and submit"
        assert parse_error("python\n", "{}") == f"Unknown action: python␊. The tools are {names}."

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (bash(""), "No command provided."),
            (bash(command=" \n"), "No command provided."),
            (bash(command=["ls", "-l"]), "command must be one string, not an array: "),
            (bash(command={"a": 1}), "not an object"),
            (bash(command="a\0b"), "NUL"),
            (bash('{"command": "\\ud83d"}'), "half of a surrogate pair"),
            (bash(command="ls", timeout=0), "timeout must be seconds"),
            (bash(command="ls", timeout=-1), "timeout must be seconds"),
            (bash(command="ls", timeout=True), "timeout must be seconds"),
            (bash(command="ls", timeout="soon"), "timeout must be seconds"),
            (bash('{"command": "ls", "timeout": NaN}'), "timeout must be seconds"),
            ((EDITOR, {"command": "view"}), "path is missing: it is the absolute path"),
            ((EDITOR, {"path": "/a"}), f"command is missing: it is one of {COMMANDS}."),
            ((EDITOR, {}), f"command is missing: it is one of {COMMANDS}; p"),
            ((EDITOR, {"path": "/a", "new_str": "x"}), "command is missing"),
            ((EDITOR, {"path": "/a", "old_str": "x", "file_text": "y"}), "command is missing"),
            ((EDITOR, {"old_str": "x", "new_str": "y"}), "path is missing"),
            (edit("undo_edit"), "str_replace with old_str and new_str swapped"),
            (edit("create"), "file_text is required for create."),
            (edit("create", file_text={"a": 1}), 'must be one string, not an object: {"a": 1}'),
            (edit("str_replace"), "old_str is required for str_rep"),
            (edit("insert", insert_line=1), "new_str is required"),
            (edit("insert", new_str="x"), "insert_line is required"),
            (
                edit("insert", new_str="x", insert_line="two"),
                'insert_line must be an integer, not a string: "two"',
            ),
            (
                edit("insert", new_str="x", insert_line=True),
                "insert_line must be an integer, not true or false: true",
            ),
            (edit("view", view_range=[1]), "two integers"),
            (edit("view", view_range="1-20"), "two integers"),
            (edit("view", view_range=[1.5, 2]), "an integer"),
            (edit("view", path="~/a"), "~ is not expanded"),
            (edit("view", path="/a\0b"), "NUL"),
        ],
    )
    def test_errors_name_the_parameter_and_the_expected_type(
        self, call: Call, message: str
    ) -> None:
        text = parse_error(*call)
        assert text.startswith("Error: ")
        assert message in text


class TestHeadings:
    @pytest.mark.parametrize(
        ("operation", "head"),
        [
            (Bash("python3 count.py"), "python3 count.py"),
            (Bash("\ncat > a <<'EOF'\nx\nEOF"), "cat > a <<'EOF' …"),
            (Bash("x" * 500), "x" * 119 + "…"),
            (Bash("echo \x1b[31m"), "echo ⟨U+001B⟩[31m"),
            (View("/workspace/input/a b.txt"), "view input/a b.txt"),
            (View("/etc/hosts", (1, -1)), "view /etc/hosts 1–end"),
            (Create("/workspace/count.py", "x"), "create count.py"),
            (Create("/workspace/a\nb", "x"), "create a␊b"),
            (Replace("/workspace/a.py", "a\nb\nc", "a\nB\nx\ny\nc"), "str_replace a.py +3 −1"),
            (Insert("/workspace/count.py", 3, "a\nb"), "insert count.py +2"),
            (Replace("/a", "same\n" * 999 + "x", "same\n" * 999 + "y\nz"), "str_replace /a +2 −1"),
            (Submit(), "submit"),
        ],
    )
    def test_headings_are_one_line(self, operation: Operation, head: str) -> None:
        assert Action(operation).summary == head

    def test_arguments_are_stored_as_parsed(self) -> None:
        assert Action(Bash("ls")).arguments == {"command": "ls"}
        view = Action(View("/a", (1, -1)))
        assert view.arguments == {"command": "view", "path": "/a", "view_range": [1, -1]}
        assert Action(Submit()).arguments == {}
        assert Action(Insert("/a", 0, "x")).name == EDITOR


@pytest.mark.contract
class TestBash:
    def test_output_is_streamed_as_the_model_sees_it_before_notes_on_the_call(
        self, runner: ToolRunner
    ) -> None:
        outcome = runner.bash("echo out; echo bad >&2", mood="good")
        assert b"".join(item.data for item in runner.output if item.stream == "stdout") == b"out\n"
        assert outcome.text == (
            "Exit code: 0\nExecution output of [execute_bash]:\n[STDOUT]\nout\n[STDERR]\nbad\n"
            "Note: the unknown parameter mood was ignored."
        )
        assert (outcome.ok, outcome.exit_code, outcome.end_reason) == (True, 0, "exit")

    def test_a_failing_command_is_an_error(self, runner: ToolRunner) -> None:
        outcome = runner.bash("exit 3")
        assert (outcome.ok, outcome.exit_code) == (False, 3)
        assert outcome.text.startswith("Error: Exit code 3\n")

    def test_a_timed_out_command_keeps_its_output(self, runner: ToolRunner) -> None:
        outcome = runner.bash("echo begun; sleep 60", timeout=0.5)
        assert (outcome.ok, outcome.end_reason) == (False, "timeout")
        assert "after its time limit of 0.5 s" in outcome.text
        assert "begun" in outcome.text

    def test_a_command_too_long_for_the_shell_is_answered(self, runner: ToolRunner) -> None:
        outcome = runner.bash("true " + "x" * 100_000_000)
        assert not outcome.ok
        assert "too long" in outcome.text


@pytest.mark.contract
class TestEditor:
    def test_all_editor_commands_work(self, runner: ToolRunner) -> None:
        head = f"Execution output of [{EDITOR}]:\n"
        created = runner.edit("create", "new folder/a.txt", file_text="one\ntwo\n")
        assert created.text.startswith(f"{head}File created at {runner.path('new folder/a.txt')}. ")
        runner.edit("str_replace", "new folder/a.txt", old_str="two", new_str="2")
        runner.edit("insert", "new folder/a.txt", insert_line=0, new_str="zero")
        shown = runner.edit("view", "new folder/a.txt")
        assert shown.text.endswith("     1\tzero\n     2\tone\n     3\t2")
        assert shown.ok

    @pytest.mark.parametrize("command", ["view", "str_replace", "insert"])
    def test_a_missing_file_stays_missing(self, runner: ToolRunner, command: str) -> None:
        outcome = runner.edit(command, "no", old_str="a", new_str="b", insert_line=0)
        path = runner.path("no")
        assert not outcome.ok
        assert outcome.text.startswith(
            f"Execution output of [{EDITOR}]:\nError: Path not found: {path}"
        )
        assert not (runner.folder / "no").exists()

    def test_create_replaces_nothing(self, runner: ToolRunner) -> None:
        (runner.folder / "file").write_text("precious")
        assert "already exists" in runner.edit("create", "file", file_text="x").text
        assert (runner.folder / "file").read_text() == "precious"
        assert "already exists (a folder)" in runner.edit("create", "input", file_text="x").text
        (runner.folder / "link").symlink_to("nowhere")
        assert "already exists" in runner.edit("create", "link", file_text="x").text
        assert not (runner.folder / "nowhere").exists()

    def test_a_folder_is_listed_two_levels_deep_with_sizes(self, runner: ToolRunner) -> None:
        (runner.folder / "input/sub/deep").mkdir(parents=True)
        (runner.folder / "input/sub/deep/unseen").write_text("x")
        (runner.folder / "input/.hidden").write_text("x")
        (runner.folder / "input/report.pdf").write_bytes(b"12345")
        (runner.folder / "input/two\nlines").write_bytes(b"")
        text = runner.edit("view", "input").text
        root = runner.path("input")
        assert f"up to 2 levels deep in {root}, excluding hidden:" in text
        assert f"{root}/report.pdf (5 bytes)\n" in text
        assert f"{root}/sub/deep/" in text
        assert f"{root}/two␊lines (0 bytes)" in text
        assert "unseen" not in text
        assert ".hidden" not in text
        assert runner.edit("view", "output").text.endswith("excluding hidden:\n(nothing)")

    def test_a_large_folder_reports_omitted_entries(self, runner: ToolRunner) -> None:
        for n in range(700):
            (runner.folder / f"input/{n:04}.txt").touch()
        text = runner.edit("view", "input").text
        omitted = 700 - text.count(".txt (0 bytes)")
        assert f"<NOTE>{omitted} more are not shown" in text
        for n in range(700, 1100):
            (runner.folder / f"input/{n:04}.txt").touch()
        assert "at least" in runner.edit("view", "input").text

    def test_a_file_over_the_limit_is_refused(self, runner: ToolRunner) -> None:
        with (runner.folder / "huge").open("wb") as file:
            file.truncate(10 * 1024**3)
        outcome = runner.edit("str_replace", "huge", old_str="x", new_str="y")
        assert not outcome.ok
        assert "larger than" in outcome.text

    def test_a_video_over_the_limit_comes_with_the_command_for_a_frame(
        self, runner: ToolRunner
    ) -> None:
        with (runner.folder / "film.mkv").open("wb") as file:
            file.truncate(10 * 1024**3)
        outcome = runner.edit("view", "film.mkv#t=90")
        assert not outcome.ok
        assert "larger than" in outcome.text
        assert f"ffmpeg -ss 90 -i {runner.path('film.mkv')}" in outcome.text


@pytest.mark.contract
class TestSubmit:
    def test_submit_returns_finished(self, runner: ToolRunner) -> None:
        outcome = runner.call("submit")
        assert (outcome.text, outcome.submitted, outcome.ok) == ("<<< Finished >>>", True, True)

    def test_the_answer_is_read_from_the_answer_file(self, runner: ToolRunner) -> None:
        answer = runner.folder / "output/answer.txt"
        assert runner.toolbox.read_answer() == ""
        answer.write_bytes(b" 42\x1b\xff\n")
        assert runner.toolbox.read_answer() == "42␛�"
        answer.unlink()
        answer.mkdir()
        assert runner.toolbox.read_answer() == ""
        answer.rmdir()
        runner.bash("mkfifo output/answer.txt")
        assert runner.toolbox.read_answer() == ""

    def test_an_oversized_answer_is_reported_as_too_large(self, runner: ToolRunner) -> None:
        (runner.folder / "output/answer.txt").write_bytes(b"x" * 5_000_000)
        assert "larger than can be read" in runner.toolbox.read_answer()
