"""The tools: their schemas, and the execution of calls in a sandbox."""

import re
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent.errors import ToolError
from agent.models.base import Picture, ToolCall, ToolSchema
from agent.sandbox.base import CommandEnd, EndReason, FolderEntry, OutputChunk, Sandbox
from agent.sandbox.network.policy import NetworkRequest, describe_refusals
from agent.tools import call_parser, editor
from agent.tools.actions import (
    EDITOR,
    Action,
    Bash,
    Create,
    Custom,
    Insert,
    InvalidCall,
    Replace,
    Submit,
    View,
)
from agent.tools.call_parser import TimeLimits
from agent.tools.custom import Tool
from agent.tools.observation import OutputCollector, OutputLimits, clipped
from agent.tools.schemas import tool_schemas
from agent.util.stop import Stop
from agent.util.text import one_line, sanitize
from agent.util.wait import WaitCancelled, run_cancellable
from agent.vision.eyes import Eyes, Sight, explain_video
from agent.vision.kinds import MAX_FILE_BYTES, kind_of

__all__ = ["Action", "InvalidCall", "TimeLimits", "ToolOutcome", "Toolbox"]

FINISHED_MESSAGE = "<<< Finished >>>"
ANSWER_FILE = "output/answer.txt"
_MAX_ANSWER_BYTES = 1024**2
_MAX_LISTED_ENTRIES = 1_000
_MAX_LISTING_CHARACTERS = 10_000
_MOMENT = re.compile(r"(.+)#t=(\d+(?:\.\d+)?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a call, the last item of ``Toolbox.run``; ``peak_memory`` is in bytes."""

    ok: bool
    text: str
    exit_code: int | None = None
    end_reason: EndReason = "exit"
    seconds: float = 0.0
    submitted: bool = False
    requests: tuple[NetworkRequest, ...] = ()
    storage_note: str = ""
    cpu_seconds: float | None = None
    packages: tuple[str, ...] = ()
    peak_memory: int | None = None
    pictures: tuple[Picture, ...] = ()

    @classmethod
    def failed(cls, text: str) -> "ToolOutcome":
        """Return the outcome of a call that was not executed."""
        return cls(ok=False, text=text)


class Toolbox:
    """Executes tool calls in one sandbox."""

    def __init__(
        self,
        sandbox: Sandbox,
        limits: TimeLimits | None = None,
        output_limits: OutputLimits | None = None,
        custom: Mapping[str, Tool] | None = None,
        eyes: Eyes | None = None,
    ) -> None:
        self.sandbox = sandbox
        self._limits = limits or TimeLimits()
        self._output_limits = output_limits or OutputLimits()
        self._custom = custom or {}
        self._eyes = eyes or Eyes()

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tool schemas sent to the model, the user's own last."""
        custom = (each.schema for each in self._custom.values())
        sees = self._eyes.limits is not None
        return (*tool_schemas(self._limits, self._output_limits, sees=sees), *custom)

    def parse(self, call: ToolCall) -> Action | InvalidCall:
        """Parse a call; an ``InvalidCall`` tells the model what is wrong with it."""
        return call_parser.parse(call, self._limits, self._custom)

    def read_answer(self) -> str:
        """Return the content of ``output/answer.txt``, empty without; why not, in brackets."""
        try:
            if self.sandbox.kind(ANSWER_FILE) != "file":
                return ""
            data = self.sandbox.read(ANSWER_FILE, limit=_MAX_ANSWER_BYTES)
        except ToolError as error:
            return f"[{error}]"
        return sanitize(data.decode("utf-8", "replace")).strip()

    def run(
        self, action: Action, stop: Stop, *, max_seconds: float | None = None
    ) -> Iterator[OutputChunk | ToolOutcome]:
        """Execute an action, for ``max_seconds`` at most; yield output, then the outcome."""
        match action.operation:
            case Bash() as bash:
                outcome = yield from self._run_command(
                    bash.command, self._timeout(bash, max_seconds), stop
                )
            case Submit():
                outcome = ToolOutcome(ok=True, text=FINISHED_MESSAGE, submitted=True)
            case Custom(name, arguments):
                tool = self._custom[name]
                seconds = _bounded_timeout(tool.seconds, max_seconds)
                run = self._call_on_host if tool.where == "host" else self._call_in_sandbox
                outcome = yield from run(tool, arguments, seconds, stop)
            case work:
                outcome = self._run_editor(work)
        notes = "".join(f"\nNote: {remark}." for remark in action.notes)
        yield replace(outcome, text=outcome.text + notes)

    def _timeout(self, bash: Bash, max_seconds: float | None) -> float:
        limit = self._limits.default if bash.timeout is None else bash.timeout
        return _bounded_timeout(limit, max_seconds)

    def _run_command(
        self, command: str, timeout: float, stop: Stop
    ) -> Generator[OutputChunk, None, ToolOutcome]:
        collector = OutputCollector(self._output_limits)
        result = CommandEnd(None, "lost", 0.0)
        try:
            items = self.sandbox.execute(command, timeout=timeout, stop=stop)
        except ToolError as error:
            return ToolOutcome.failed(f"Error: {error}")
        for item in items:
            if isinstance(item, OutputChunk):
                collector.feed(item)
                yield item
            else:
                result = item
        requests = tuple(self.sandbox.take_network_requests())
        return ToolOutcome(
            ok=result.end_reason == "exit" and result.exit_code == 0,
            text=collector.observation(result, timeout=timeout) + describe_refusals(requests),
            exit_code=result.exit_code,
            end_reason=result.end_reason,
            seconds=result.seconds,
            requests=requests,
            storage_note=result.storage_note,
            cpu_seconds=result.cpu_seconds,
            packages=result.packages,
            peak_memory=result.peak_memory,
        )

    def _call_on_host(
        self, tool: Tool, arguments: Mapping[str, Any], seconds: float, stop: Stop
    ) -> Generator[OutputChunk, None, ToolOutcome]:
        started = time.monotonic()
        yield from ()
        ok = False
        end_reason: EndReason = "exit"
        try:
            with stop.with_timeout(seconds) as either:
                ok, text = True, run_cancellable(lambda: tool.call(arguments), either)
        except ToolError as error:
            text = f"Error: {error}"
        except WaitCancelled:
            end_reason = "stop" if stop.is_set else "timeout"
            text = _interruption_message(tool, end_reason, seconds)
        return self._result(
            tool, text, ok=ok, end_reason=end_reason, seconds=time.monotonic() - started
        )

    def _call_in_sandbox(
        self, tool: Tool, arguments: Mapping[str, Any], seconds: float, stop: Stop
    ) -> Generator[OutputChunk, None, ToolOutcome]:
        """Execute a tool in the sandbox; yield what it prints, which its stderr carries."""
        result, printed = bytearray(), bytearray()
        end = CommandEnd(None, "lost", 0.0)
        try:
            items = self.sandbox.spawn(
                tool.command(), timeout=seconds, stop=stop, input=tool.input(arguments)
            )
            for item in items:
                if isinstance(item, CommandEnd):
                    end = item
                elif item.stream == "stdout":
                    result += item.data
                else:
                    printed += item.data
                    yield item
        except ToolError as error:
            return self._result(tool, f"Error: {error}", ok=False)
        text = result.decode("utf-8", "replace")
        ok = end.end_reason == "exit" and end.exit_code == 0
        if end.end_reason != "exit":
            text = _interruption_message(tool, end.end_reason, seconds)
        elif not ok:
            message = printed.decode("utf-8", "replace").strip()
            text = f"Error: {tool.name} failed with exit code {end.exit_code}.\n{message}"
        requests = tuple(self.sandbox.take_network_requests())
        outcome = self._result(tool, text, ok=ok, end_reason=end.end_reason, seconds=end.seconds)
        return replace(
            outcome,
            text=outcome.text + describe_refusals(requests),
            requests=requests,
            storage_note=end.storage_note,
        )

    def _result(
        self,
        tool: Tool,
        text: str,
        *,
        ok: bool,
        end_reason: EndReason = "exit",
        seconds: float = 0.0,
    ) -> ToolOutcome:
        shown = f"Execution output of [{tool.name}]:\n{clipped(text, self._output_limits)}"
        return ToolOutcome(ok=ok, text=shown, end_reason=end_reason, seconds=seconds)

    def _run_editor(self, operation: View | Create | Replace | Insert) -> ToolOutcome:
        started = time.monotonic()
        try:
            if isinstance(operation, View):
                seen = self._view(operation)
            else:
                seen = Sight(self._apply(operation))
        except ToolError as error:
            seen = Sight(f"Error: {error}", ok=False)
        return ToolOutcome(
            ok=seen.ok,
            text=f"Execution output of [{EDITOR}]:\n{seen.text}",
            seconds=time.monotonic() - started,
            pictures=seen.pictures,
        )

    def _apply(self, operation: Create | Replace | Insert) -> str:
        sandbox, path = self.sandbox, operation.path
        match operation:
            case Create():
                edited = editor.create(path, operation.file_text)
                self._refuse_existing(path)
            case Replace():
                data = self._read(path)
                edited = editor.str_replace(data, path, operation.old_str, operation.new_str)
            case Insert():
                data = self._read(path)
                edited = editor.insert(data, path, operation.insert_line, operation.new_str)
        sandbox.write(path, edited.data, exclusive=isinstance(operation, Create))
        return edited.message

    def _refuse_existing(self, path: str) -> None:
        kind = self.sandbox.kind(path)
        if kind != "missing":
            what = "" if kind == "other" else f" (a {kind})"
            raise ToolError(
                f"{path} already exists{what}; create does not overwrite. "
                "Use str_replace or insert to change it, or remove it first with execute_bash."
            )

    def _read(self, path: str, limit: int = editor.MAX_FILE_BYTES) -> bytes:
        kind = self.sandbox.kind(path)
        if kind == "missing":
            raise ToolError(f"Path not found: {path}")
        if kind != "file":
            raise ToolError(f"{path} is not a file" + (", but a folder." * (kind == "folder")))
        return self.sandbox.read(path, limit=limit)

    def _view(self, operation: View) -> Sight:
        path, view_range = operation.path, operation.view_range
        kind = self.sandbox.kind(path)
        if kind == "folder":
            ignored = "\nNote: view_range has no meaning for a folder and was ignored."
            return Sight(self._listing(path) + ignored * (view_range is not None))
        second = ""
        if kind == "missing" and (moment := _MOMENT.fullmatch(path)):
            path, second = moment.groups()
        try:
            data = self._read(path, MAX_FILE_BYTES)
        except ToolError as error:  # a video may be too large to be read
            if kind_of(path, b"\0") == "video" and self.sandbox.kind(path) == "file":
                return Sight(f"Error: {error}\n{explain_video(path, second).text}", ok=False)
            raise
        seen = self._eyes.view(data, path, view_range, second)
        if seen is not None and not seen.adds:
            return seen
        if len(data) > editor.MAX_FILE_BYTES:
            data = self._read(path)  # refuses it
        text = editor.view(data, path, view_range)
        return Sight(text) if seen is None else replace(seen, text=f"{text}\n{seen.text}")

    def _listing(self, path: str) -> str:
        """Return the files two levels deep with sizes; note how many a limit left out."""
        entries = self.sandbox.list_folder(path, depth=2, limit=_MAX_LISTED_ENTRIES + 1)
        rows: list[str] = []
        room = _MAX_LISTING_CHARACTERS
        for entry in entries[:_MAX_LISTED_ENTRIES]:
            row = _format_entry(entry)
            room -= len(row) + 1
            if room < 0:
                break
            rows.append(row)
        header = (
            f"Here's the files and directories up to 2 levels deep in {path}, excluding hidden:"
        )
        if left := len(entries) - len(rows):
            more = f"at least {left}" if len(entries) > _MAX_LISTED_ENTRIES else str(left)
            rows.append(f"<response clipped><NOTE>{more} more are not shown; use `find`.</NOTE>")
        return "\n".join([header, *(rows or ["(nothing)"])])


def _bounded_timeout(timeout: float, max_seconds: float | None) -> float:
    return timeout if max_seconds is None else min(timeout, max(max_seconds, 1.0))


def _interruption_message(tool: Tool, end_reason: EndReason, seconds: float) -> str:
    match end_reason:
        case "timeout":
            return f"Error: {tool.name} took longer than its limit of {seconds:g} s."
        case "stop":
            return f"Error: {tool.name} was cancelled because the run was stopped."
        case "full":
            return f"Error: {tool.name} was terminated because the disk was full."
    return f"Error: the sandbox was lost while {tool.name} ran."


def _format_entry(entry: FolderEntry) -> str:
    name = one_line(entry.path)
    match entry.kind:
        case "folder":
            return f"{name}/"
        case "file":
            return f"{name} ({entry.size} bytes)"
    return f"{name} (neither a file nor a folder)"
