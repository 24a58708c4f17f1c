"""Custom tools: their schemas, invalid calls, and execution on the host and in the sandbox."""

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agent.errors import UsageError
from agent.models.base import ToolCall
from agent.sandbox.base import OutputChunk
from agent.sandbox.process import ProcessSandbox
from agent.tools.custom import Tool, tool, toolset
from agent.tools.toolbox import Action, InvalidCall, Toolbox, ToolOutcome
from agent.util.stop import Stop

pytestmark = pytest.mark.contract

FACTOR = 2
_tool: Any = tool
_toolset: Any = toolset


def weather(
    city: Annotated[str, "The city's name."],
    days: int = 1,
    unit: Literal["C", "F"] = "C",
    tags: list[str] | None = None,
) -> str:
    """Tell the weather.

    It is always fine.

    Args:
        days: How many days
            from now.
        unit: The unit.

    Returns:
        A sentence.
    """
    return f"{city} {days} {unit} {tags}"


class Place(BaseModel):
    x: float
    y: float = 0.0


def run_tool(
    sandbox: ProcessSandbox, custom_tool: Any, arguments: str, stop: Stop | None = None
) -> tuple[ToolOutcome, str]:
    """Run a call; returns its outcome and what it printed in the sandbox."""
    tools = toolset([custom_tool])
    toolbox = Toolbox(sandbox, custom=tools)
    action = toolbox.parse(ToolCall("1", next(iter(tools)), arguments))
    assert isinstance(action, Action), action
    *outputs, outcome = toolbox.run(action, stop or Stop())
    assert isinstance(outcome, ToolOutcome)
    printed = b"".join(each.data for each in outputs if isinstance(each, OutputChunk))
    return outcome, printed.decode()


def observation(custom_tool: Any, text: str) -> str:
    name = getattr(custom_tool, "name", None) or custom_tool.__name__
    return f"Execution output of [{name}]:\n{text}"


# Schemas


def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    custom_tool = tool(weather)
    assert (custom_tool.name, custom_tool.where, custom_tool.seconds) == ("weather", "host", 60.0)
    assert custom_tool.description == "Tell the weather.\n\nIt is always fine."
    assert custom_tool.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "The city's name."},
            "days": {"type": "integer", "default": 1, "description": "How many days from now."},
            "unit": {
                "type": "string",
                "enum": ["C", "F"],
                "default": "C",
                "description": "The unit.",
            },
            "tags": {
                "anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}],
                "default": None,
            },
        },
    }
    assert custom_tool("Bern") == "Bern 1 C None"


def test_models_dataclasses_and_odd_names_are_parameters() -> None:
    @dataclass
    class Size:
        width: int

    def odd(schema: Place, json: Size, model_x: Annotated[int, Field(ge=3)], _hidden: bool) -> None:
        """Do it."""

    with pytest.raises(UsageError, match="cannot be read"):
        tool(_with_unknown_type)
    odd.__annotations__["json"] = Size
    custom_tool = tool(odd)
    assert list(custom_tool.parameters["properties"]) == ["schema", "json", "model_x", "_hidden"]
    assert custom_tool.parameters["properties"]["model_x"]["minimum"] == 3


def _with_unknown_type(x: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    pass


def test_names_and_descriptions_are_set_by_the_decorator() -> None:
    @tool(name="look-up", description="Look it up.", timeout=5)
    def look_up(word: str) -> str:
        return word

    assert isinstance(look_up, Tool)
    assert (look_up.name, look_up.description, look_up.seconds) == ("look-up", "Look it up.", 5.0)
    assert look_up("a") == "a"


def _untyped(x): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
def _with_varargs(*x: int) -> None: ...
def _positional_only(x: int, /) -> None: ...
def _with_event(x: threading.Event) -> None: ...
def submit() -> None: ...
def _global() -> int:
    return FACTOR


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tool(_untyped), "the parameter x has no type"),
        (lambda: tool(_with_varargs), "cannot be given by name"),
        (lambda: tool(_positional_only), "cannot be given by name"),
        (lambda: tool(_with_event), "have no schema"),
        (lambda: tool(submit), "submit is a tool that every run has"),
        (lambda: _tool(7), "A tool is a function, not 7"),
        (lambda: tool(lambda: 1), "cannot be a tool's name"),
        (lambda: tool(name="a b")(weather), "cannot be a tool's name"),
        (lambda: _tool(where="moon")(weather), "where must be"),
        (lambda: tool(timeout=0)(weather), "timeout must be"),
        (lambda: tool(where="sandbox")(_global), "but uses FACTOR"),
        (lambda: tool(where="sandbox", name="f")(lambda: 1), "must be defined with def"),
        (lambda: toolset([weather, weather]), "Two tools are named weather"),
        (lambda: _toolset(weather), "in a list"),
    ],
)
def test_functions_that_cannot_be_tools_are_rejected(make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


# Calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{}", "city: Field required"),
        ('{"city": "a", "days": "many"}', "days: Input should be a valid integer"),
        ('{"city": "a", "unit": "K"}', "unit: Input should be 'C' or 'F'"),
        ('{"city": "a", "town": "b"}', "town: Extra inputs are not permitted"),
        ("[1]", "the arguments of weather are an array"),
        ('{"city": ', "not valid JSON"),
    ],
)
def test_wrong_arguments_are_reported_to_the_model(
    sandbox: ProcessSandbox, arguments: str, words: str
) -> None:
    toolbox = Toolbox(sandbox, custom=toolset([weather]))
    invalid_call = toolbox.parse(ToolCall("1", "weather", arguments))
    assert isinstance(invalid_call, InvalidCall)
    assert words in invalid_call.text
    assert "Nothing was done" in invalid_call.text


def test_a_call_has_a_heading_and_its_arguments_and_another_name_the_list_of_tools(
    sandbox: ProcessSandbox,
) -> None:
    toolbox = Toolbox(sandbox, custom=toolset([weather]))
    invalid_call = toolbox.parse(ToolCall("1", "wether", "{}"))
    assert isinstance(invalid_call, InvalidCall)
    assert "str_replace_editor, execute_bash, weather and submit" in invalid_call.text
    action = toolbox.parse(ToolCall("1", "weather", '{"city": "Bern", "days": 2}'))
    assert isinstance(action, Action)
    assert (action.name, action.summary) == ("weather", "weather city=Bern days=2")
    assert action.arguments == {"city": "Bern", "days": 2}


def _mapping(place: Place, many: list[Place]) -> dict[str, object]:
    return {"x": place.x, "all": len(many), "day": Path("a")}


async def _async(x: int) -> int:
    await asyncio.sleep(0)
    return x + 1


def _nothing() -> None: ...


def _divide(a: int, b: int) -> float:
    return a / b


@pytest.mark.parametrize(
    ("custom_tool", "arguments", "ok", "text"),
    [
        (weather, '{"city": "Bern", "days": "2"}', True, "Bern 2 C None"),
        (_mapping, '{"place": {"x": 1}, "many": [{"x": 2}]}', True, '{"x":1.0,"all":1,"day":"a"}'),
        (_async, '{"x": 1}', True, "2"),
        (_nothing, "", True, "null"),
        (
            _divide,
            '{"a": 1, "b": 0}',
            False,
            "Error: _divide failed with ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_host_tool_returns_text_json_or_its_error(
    sandbox: ProcessSandbox, custom_tool: Any, arguments: str, ok: bool, text: str
) -> None:
    outcome, _ = run_tool(sandbox, custom_tool, arguments)
    assert (outcome.ok, outcome.text) == (ok, observation(custom_tool, text))


def test_a_long_result_is_clipped(sandbox: ProcessSandbox) -> None:
    outcome, _ = run_tool(sandbox, tool(name="long")(lambda: "x" * 100_000), "{}")
    assert len(outcome.text) < 11_000
    assert "truncated" in outcome.text


def test_a_host_tool_has_a_time_limit_and_is_abandoned_at_a_stop(
    sandbox: ProcessSandbox,
) -> None:
    gate = threading.Event()

    @tool(timeout=0.2)
    def slow() -> None:
        gate.wait(30)

    outcome, _ = run_tool(sandbox, slow, "{}")
    assert (outcome.ok, outcome.end_reason) == (False, "timeout")
    assert "longer than its limit of 0.2 s" in outcome.text
    stop = Stop()
    stop.set()
    outcome, _ = run_tool(sandbox, tool(name="slow")(lambda: gate.wait(30)), "{}", stop)
    assert outcome.end_reason == "stop"
    gate.set()


# In the sandbox


@tool(where="sandbox", timeout=20)
def count(path: str, words: list[str], *, strict: bool = True) -> dict[str, int]:
    """Count words in a file of the sandbox."""
    import re
    from pathlib import Path

    def number(word: str) -> int:
        return len(re.findall(word, text))

    text = Path(path).read_text()
    print("read", path)
    return {word: number(word) for word in words if strict}


def test_a_tool_is_executed_in_the_sandbox(sandbox: ProcessSandbox) -> None:
    (sandbox.workspace / "a.txt").write_text("a b a")
    (sandbox.workspace / "re.py").write_text("the model's own module is not imported")
    outcome, printed = run_tool(sandbox, count, '{"path": "a.txt", "words": ["a", "b"]}')
    assert (outcome.ok, outcome.text) == (True, observation(count, '{"a": 2, "b": 1}'))
    assert printed == "read a.txt\n"
    assert outcome.seconds > 0


def test_exceptions_in_the_sandbox_are_reported(sandbox: ProcessSandbox) -> None:
    outcome, printed = run_tool(sandbox, count, '{"path": "nothing", "words": []}')
    assert not outcome.ok
    assert "Error: count failed with exit code 1." in outcome.text
    assert "FileNotFoundError" in outcome.text
    assert "FileNotFoundError" in printed


def test_async_tools_and_text_work_in_the_sandbox(sandbox: ProcessSandbox) -> None:
    @tool(where="sandbox")
    async def echo(text: str = "é") -> str:
        import asyncio

        await asyncio.sleep(0)
        return text

    assert run_tool(sandbox, echo, "{}")[0].text == observation(echo, "é")
    assert run_tool(sandbox, echo, '{"text": "a\\nb"}')[0].text == observation(echo, "a\nb")


def test_a_tool_in_the_sandbox_has_a_time_limit(sandbox: ProcessSandbox) -> None:
    @tool(where="sandbox", timeout=0.5)
    def slow() -> None:
        import time

        print("begun", flush=True)
        time.sleep(600)

    outcome, printed = run_tool(sandbox, slow, "{}")
    assert (outcome.ok, outcome.end_reason, printed) == (False, "timeout", "begun\n")
