"""Tools of the user's own: typed Python functions, executed on the host or in the sandbox."""

import ast
import builtins
import inspect
import re
import shlex
import symtable
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_json

from agent.errors import ToolError, UsageError
from agent.models.base import ToolSchema
from agent.tools.actions import BASH, EDITOR, SUBMIT

Where = Literal["host", "sandbox"]
Function = Callable[..., Any]

SECONDS = 60.0
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SECTION = re.compile(r"(\w[\w ]*):")
_ARGUMENT = re.compile(r"(\w+)(?: \([^)]*\))?:\s*(.*)")
_ASYNC = "import asyncio\n_studio_result = asyncio.run({name}(**_studio_arguments))\n"
_SYNC = "_studio_result = {name}(**_studio_arguments)\n"
# What the function prints goes to stderr; stdout has the result alone.
_SCRIPT = """\
import json as _studio_json, os as _studio_os, sys as _studio_sys
_studio_out = _studio_os.dup(1)
_studio_os.dup2(2, 1)
_studio_arguments = _studio_json.load(_studio_sys.stdin)
{source}
{call}
if not isinstance(_studio_result, str):
    _studio_result = _studio_json.dumps(_studio_result, ensure_ascii=False, default=str)
with _studio_os.fdopen(_studio_out, "w", encoding="utf-8", errors="replace") as _studio_file:
    _studio_file.write(_studio_result)
"""


@dataclass(frozen=True)
class Tool:
    """A tool for a run's model; ``tool`` creates it from a function.

    Attributes:
        name: Its name for the model.
        description: What it does, for the model.
        parameters: The JSON Schema of its arguments.
        where: ``host``: called in a thread of this process, with all its rights; ``sandbox``:
            its source is executed in the sandbox, by the sandbox's Python.
        seconds: Its time limit.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    where: Where
    seconds: float
    _function: Function = field(repr=False)
    _model: type[BaseModel] = field(repr=False)
    _script: str = field(default="", repr=False)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function itself."""
        return self._function(*arguments, **named)

    @property
    def schema(self) -> ToolSchema:
        """The schema sent to the model."""
        return ToolSchema(self.name, self.description, self.parameters)

    def validate(self, arguments: Mapping[str, Any]) -> BaseModel:
        """Return the arguments, validated. Raises ``ToolError`` with a text for the model."""
        try:
            return self._model.model_validate(dict(arguments))
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}"
                for each in error.errors()
            )
            raise ToolError(f"Nothing was done. {self.name} was called wrongly: {wrong}.") from None

    def call(self, arguments: Mapping[str, Any]) -> str:
        """Call the function on this machine and return its result as text.

        Raises:
            ToolError: The arguments are wrong, or the function failed; the text says how.
        """
        valid = self.validate(arguments)
        fields = self._model.model_fields.items()
        keywords = {str(info.alias): getattr(valid, name) for name, info in fields}
        try:
            result = self._function(**keywords)
            if inspect.iscoroutine(result):
                import asyncio  # imports in 50 ms, only if needed

                result = asyncio.run(result)
            return result if isinstance(result, str) else to_json(result, fallback=str).decode()
        except ToolError:
            raise
        except Exception as error:  # whatever a user's function raises is for the model
            raise ToolError(f"{self.name} failed with {type(error).__name__}: {error}") from error

    def command(self) -> str:
        """Return the shell command that executes the function in a sandbox."""
        return shlex.join(["python3", "-P", "-c", self._script])

    def input(self, arguments: Mapping[str, Any]) -> bytes:
        """Return the standard input of ``command``. Raises ``ToolError`` for wrong arguments."""
        return self.validate(arguments).model_dump_json(by_alias=True).encode()


@overload
def tool(function: Function, /) -> Tool: ...


@overload
def tool(
    *, name: str = "", description: str = "", where: Where = "host", timeout: float = SECONDS
) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    where: Where = "host",
    timeout: float = SECONDS,
) -> Tool | Callable[[Function], Tool]:
    """Make a typed function a tool; a decorator, with or without arguments.

    The parameters' types become the schema: everything that pydantic knows, such as ``str``,
    ``int``, ``list[str]``, ``Literal["a", "b"]`` or a model. Their descriptions come from
    ``Annotated[str, "…"]`` or the ``Args:`` of the docstring, whose first part describes the
    tool. The result is a text, or anything that can be written as JSON.

    Args:
        function: The function, plain or ``async``.
        name: The tool's name; by default the function's.
        description: What it does; by default the docstring.
        where: ``host``: called in a thread of this process; ``sandbox``: its source is executed
            in the sandbox, so it must import what it uses within itself.
        timeout: Seconds after which the model is told that it took too long. A function of the
            host cannot be ended and goes on in its thread.

    Raises:
        UsageError: The function cannot be a tool; the text says why.
    """

    def decorate(function: Function) -> Tool:
        return _create_tool(function, name, description, where, timeout)

    return decorate if function is None else decorate(function)


def toolset(tools: Iterable[Tool | Function]) -> dict[str, Tool]:
    """Return tools by name, created from functions where necessary.

    Raises:
        UsageError: One of them cannot be a tool, or two have the same name.
    """
    if isinstance(tools, Tool) or not isinstance(tools, Iterable):
        raise UsageError(f"tools must be functions or tools, in a list, not {tools!r:.80}.")
    tools_by_name: dict[str, Tool] = {}
    for each in tools:
        new = each if isinstance(each, Tool) else tool(each)
        if new.name in tools_by_name:
            raise UsageError(f"Two tools are named {new.name}.")
        tools_by_name[new.name] = new
    return tools_by_name


def _create_tool(
    function: Function, name: str, description: str, where: Where, timeout: float
) -> Tool:
    if not callable(function) or isinstance(function, type):
        raise UsageError(f"A tool is a function, not {function!r:.80}.")
    name = name or getattr(function, "__name__", "")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r:.80} cannot be a tool's name: up to 64 letters, digits, - and _."
        )
    if name in (BASH, EDITOR, SUBMIT):
        raise UsageError(f"{name} is a tool that every run has; choose another name.")
    if where not in ("host", "sandbox"):
        raise UsageError(f"where must be “host” or “sandbox”, not {where!r:.80}.")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise UsageError(f"timeout must be a number of seconds above 0, not {timeout!r:.80}.")
    docstring_summary, argument_descriptions = _docstring(inspect.getdoc(function) or "")
    model = _model(function, name, argument_descriptions)
    script = _script(function, name) if where == "sandbox" else ""
    return Tool(
        name,
        description or docstring_summary,
        _parameters(model),
        where,
        float(timeout),
        function,
        model,
        script,
    )


def _model(
    function: Function, name: str, argument_descriptions: Mapping[str, str]
) -> type[BaseModel]:
    """Return a model of the function's arguments; its fields are named apart from its methods."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(f"The types of tool {name} cannot be read: {error}.") from error
    fields: dict[str, Any] = {}
    for number, each in enumerate(inspect.signature(function).parameters.values()):
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise UsageError(f"Tool {name}: the parameter {each} cannot be given by name.")
        if each.name not in hints:
            raise UsageError(f"Tool {name}: the parameter {each.name} has no type.")
        annotation = hints[each.name]
        default = ... if each.default is each.empty else each.default
        text = _annotated(annotation) or argument_descriptions.get(each.name)
        fields[f"argument_{number}"] = (
            annotation,
            Field(default, alias=each.name, description=text),
        )
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        return create_model(name, __config__=config, **fields)
    except (PydanticUserError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"The types of tool {name} have no schema: {reason}") from error


def _annotated(annotation: Any) -> str | None:
    """Return the text of ``Annotated[type, "text"]``."""
    if get_origin(annotation) is not Annotated:
        return None
    return next((each for each in get_args(annotation)[1:] if isinstance(each, str)), None)


def _parameters(model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema(by_alias=True)
    except PydanticUserError as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"The types of tool {model.__name__} have no schema: {reason}") from error
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for each in schema["properties"].values():
        each.pop("title", None)
    return schema


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return what precedes the sections of a docstring, and the texts of its ``Args:``."""
    description: list[str] = []
    argument_descriptions: dict[str, str] = {}
    section, current = "", ""
    for line in text.splitlines():
        heading = _SECTION.fullmatch(line.strip()) if not line.startswith(" ") else None
        if heading:
            section = heading[1]
        elif not section:
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            argument = _ARGUMENT.fullmatch(line.strip())
            if argument and len(line) - len(line.lstrip()) <= 4:
                current, argument_descriptions[argument[1]] = argument[1], argument[2]
            elif current and line.strip():
                argument_descriptions[current] = (
                    f"{argument_descriptions[current]} {line.strip()}".strip()
                )
    return "\n".join(description).strip(), argument_descriptions


def _script(function: Function, name: str) -> str:
    """Return a Python program that calls the function with the arguments on its input."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError) as error:
        raise UsageError(f"The source of tool {name} cannot be read: {error}.") from error
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
        raise UsageError(f"Tool {name} must be defined with def to be executed in the sandbox.")
    definition.decorator_list, definition.returns = [], None
    definition.args.defaults = []
    definition.args.kw_defaults = [None] * len(definition.args.kwonlyargs)
    for each in [*definition.args.args, *definition.args.kwonlyargs]:
        each.annotation = None
    source = ast.unparse(ast.Module([definition], []))
    unresolved = sorted(set(_globals(source)) - set(dir(builtins)) - {definition.name})
    if unresolved:
        raise UsageError(
            f"Tool {name} is executed in the sandbox, which has nothing of this program, but uses "
            f"{', '.join(unresolved)}. Import and define within the function what it uses."
        )
    call = _ASYNC if isinstance(definition, ast.AsyncFunctionDef) else _SYNC
    return _SCRIPT.format(source=source, call=call.format(name=definition.name))


def _globals(source: str) -> Iterator[str]:
    """Yield the names that a function and those within it take from outside."""
    tables = list(symtable.symtable(source, "tool", "exec").get_children())
    while tables:
        table = tables.pop()
        if isinstance(table, symtable.Function):
            yield from table.get_globals()
        tables += table.get_children()
