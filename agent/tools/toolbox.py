"""The tools: their schemas, and the execution of calls in a sandbox."""

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent.errors import ToolError
from agent.models.base import ToolCall, ToolSchema
from agent.sandbox.base import Ending, Entry, Finished, Output, Sandbox
from agent.sandbox.network.policy import Request, refusals
from agent.tools import call_parser, editor
from agent.tools.actions import (
    EDITOR,
    Action,
    Bash,
    Create,
    Custom,
    Insert,
    Mistake,
    Replace,
    Submit,
    View,
)
from agent.tools.call_parser import TimeLimits
from agent.tools.custom import Tool
from agent.tools.observation import Clip, Collector, clipped
from agent.tools.schemas import schemas
from agent.util.cancellation import Stop
from agent.util.text import legible, one_line
from agent.util.wait import GivenUp, beside

__all__ = ["Action", "Mistake", "TimeLimits", "ToolOutcome", "Toolbox"]

FINISHED = "<<< Finished >>>"
ANSWER_FILE = "output/answer.txt"
_ANSWER_LIMIT = 1024**2
_LISTED = 1_000
_LISTING = 10_000


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a call; always the last item of ``Toolbox.run``.

    Attributes:
        ok: Whether the call succeeded; for a command, whether it exited with 0.
        text: The result for the model.
        exit_code: A command's exit code, if it has one.
        ending: How a command ended; ``exit`` for the other tools.
        seconds: Wall time in the sandbox.
        submitted: Whether the model submitted.
        requests: Network requests made during the call.
        full: A sentence on which storage was full; empty if none was.
    """

    ok: bool
    text: str
    exit_code: int | None = None
    ending: Ending = "exit"
    seconds: float = 0.0
    submitted: bool = False
    requests: tuple[Request, ...] = ()
    full: str = ""

    @classmethod
    def failed(cls, text: str) -> "ToolOutcome":
        """Return the outcome of a call that was not executed."""
        return cls(ok=False, text=text)


class Toolbox:
    """Executes tool calls in one sandbox.

    Args:
        sandbox: The sandbox with its shell and files.
        limits: Time limits of commands.
        clip: How much of a command's output the model sees.
        custom: The user's own tools, by name.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        limits: TimeLimits | None = None,
        clip: Clip | None = None,
        custom: Mapping[str, Tool] | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._limits = limits or TimeLimits()
        self._clip = clip or Clip()
        self._custom = custom or {}

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox in which the calls run."""
        return self._sandbox

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tool schemas sent to the model, the user's own last."""
        own = (each.schema for each in self._custom.values())
        return (*schemas(self._limits, self._clip), *own)

    def parse(self, call: ToolCall) -> Action | Mistake:
        """Parse a call; a ``Mistake`` tells the model what is wrong with it."""
        return call_parser.parse(call, self._limits, self._custom)

    def answer(self) -> str:
        """Return the content of ``output/answer.txt``; empty if there is no such file.

        If it cannot be read (it is larger than 1 MB), return the reason in brackets.

        Raises:
            SandboxError: The sandbox is gone.
        """
        try:
            if self._sandbox.kind(ANSWER_FILE) != "file":
                return ""
            data = self._sandbox.read(ANSWER_FILE, limit=_ANSWER_LIMIT)
        except ToolError as error:
            return f"[{error}]"
        return legible(data.decode("utf-8", "replace")).strip()

    def run(
        self, action: Action, stop: Stop, *, at_most: float | None = None
    ) -> Iterator[Output | ToolOutcome]:
        """Execute an action; yield output as it arrives, then the outcome.

        Args:
            action: The parsed call.
            stop: Ends a command early.
            at_most: Upper bound in seconds for a command, whatever its own limit.

        Raises:
            SandboxError: The sandbox is gone.
        """
        match action.work:
            case Bash() as bash:
                outcome = yield from self._bash(bash.command, self._limit(bash, at_most), stop)
            case Submit():
                outcome = ToolOutcome(ok=True, text=FINISHED, submitted=True)
            case Custom(name, given):
                own = self._custom[name]
                seconds = own.seconds if at_most is None else min(own.seconds, max(at_most, 1.0))
                run = self._on_host if own.where == "host" else self._in_sandbox
                outcome = yield from run(own, given, seconds, stop)
            case work:
                outcome = self._edit(work)
        remarks = "".join(f"\nNote: {remark}." for remark in action.remarks)
        yield replace(outcome, text=outcome.text + remarks)

    def _limit(self, bash: Bash, at_most: float | None) -> float:
        limit = self._limits.default if bash.timeout is None else bash.timeout
        return limit if at_most is None else min(limit, max(at_most, 1.0))

    def _bash(
        self, command: str, timeout: float, stop: Stop
    ) -> Generator[Output, None, ToolOutcome]:
        collector = Collector(self._clip)
        finished = Finished(None, "lost", 0.0)
        try:
            items = self._sandbox.execute(command, timeout=timeout, stop=stop)
        except ToolError as error:
            return ToolOutcome.failed(f"Error: {error}")
        for item in items:
            if isinstance(item, Output):
                collector.feed(item)
                yield item
            else:
                finished = item
        requests = tuple(self._sandbox.requests())
        return ToolOutcome(
            ok=finished.ending == "exit" and finished.exit_code == 0,
            text=collector.observation(finished, timeout=timeout) + refusals(requests),
            exit_code=finished.exit_code,
            ending=finished.ending,
            seconds=finished.seconds,
            requests=requests,
            full=finished.full,
        )

    def _on_host(
        self, own: Tool, given: Mapping[str, Any], seconds: float, stop: Stop
    ) -> Generator[Output, None, ToolOutcome]:
        begun = time.monotonic()
        yield from ()
        ok = False
        ending: Ending = "exit"
        try:
            with stop.or_after(seconds) as either:
                ok, text = True, beside(lambda: own.call(given), either)
        except ToolError as error:
            text = f"Error: {error}"
        except GivenUp:
            ending = "stop" if stop.is_set else "timeout"
            text = _given_up(own, ending, seconds)
        return self._result(own, text, ok=ok, ending=ending, seconds=time.monotonic() - begun)

    def _in_sandbox(
        self, own: Tool, given: Mapping[str, Any], seconds: float, stop: Stop
    ) -> Generator[Output, None, ToolOutcome]:
        """Execute a tool in the sandbox; yield what it prints, which its stderr carries."""
        result, printed = bytearray(), bytearray()
        finished = Finished(None, "lost", 0.0)
        try:
            items = self._sandbox.spawn(
                own.command(), timeout=seconds, stop=stop, input=own.input(given)
            )
            for item in items:
                if isinstance(item, Finished):
                    finished = item
                elif item.stream == "stdout":
                    result += item.data
                else:
                    printed += item.data
                    yield item
        except ToolError as error:
            return self._result(own, f"Error: {error}", ok=False)
        text = result.decode("utf-8", "replace")
        ok = finished.ending == "exit" and finished.exit_code == 0
        if finished.ending != "exit":
            text = _given_up(own, finished.ending, seconds)
        elif not ok:
            said = printed.decode("utf-8", "replace").strip()
            text = f"Error: {own.name} failed with exit code {finished.exit_code}.\n{said}"
        requests = tuple(self._sandbox.requests())
        made = self._result(own, text, ok=ok, ending=finished.ending, seconds=finished.seconds)
        return replace(
            made, text=made.text + refusals(requests), requests=requests, full=finished.full
        )

    def _result(
        self, own: Tool, text: str, *, ok: bool, ending: Ending = "exit", seconds: float = 0.0
    ) -> ToolOutcome:
        shown = f"Execution output of [{own.name}]:\n{clipped(text, self._clip)}"
        return ToolOutcome(ok=ok, text=shown, ending=ending, seconds=seconds)

    def _edit(self, work: View | Create | Replace | Insert) -> ToolOutcome:
        begun = time.monotonic()
        try:
            ok, text = True, self._edited(work)
        except ToolError as error:
            ok, text = False, f"Error: {error}"
        result = f"Execution output of [{EDITOR}]:\n{text}"
        return ToolOutcome(ok=ok, text=result, seconds=time.monotonic() - begun)

    def _edited(self, work: View | Create | Replace | Insert) -> str:
        sandbox, path = self._sandbox, work.path
        match work:
            case View():
                return self._view(work)
            case Create():
                edited = editor.create(path, work.file_text)
                self._refuse_existing(path)
            case Replace():
                data = self._read(path)
                edited = editor.str_replace(data, path, work.old_str, work.new_str)
            case Insert():
                data = self._read(path)
                edited = editor.insert(data, path, work.insert_line, work.new_str)
        sandbox.write(path, edited.data, exclusive=isinstance(work, Create))
        return edited.message

    def _refuse_existing(self, path: str) -> None:
        kind = self._sandbox.kind(path)
        if kind != "missing":
            what = "" if kind == "other" else f" (a {kind})"
            raise ToolError(
                f"{path} already exists{what}; create does not overwrite. "
                "Use str_replace or insert to change it, or remove it first with execute_bash."
            )

    def _read(self, path: str) -> bytes:
        kind = self._sandbox.kind(path)
        if kind == "missing":
            raise ToolError(f"Path not found: {path}")
        if kind != "file":
            raise ToolError(f"{path} is not a file" + (", but a folder." * (kind == "folder")))
        return self._sandbox.read(path, limit=editor.EDIT_LIMIT)

    def _view(self, work: View) -> str:
        if self._sandbox.kind(work.path) == "folder":
            ignored = "\nNote: view_range has no meaning for a folder and was ignored."
            return self._listing(work.path) + ignored * (work.view_range is not None)
        return editor.view(self._read(work.path), work.path, work.view_range)

    def _listing(self, path: str) -> str:
        """Return the files two levels deep with sizes; note how many a limit left out."""
        entries = self._sandbox.entries(path, depth=2, limit=_LISTED + 1)
        rows: list[str] = []
        room = _LISTING
        for entry in entries[:_LISTED]:
            row = _row(entry)
            room -= len(row) + 1
            if room < 0:
                break
            rows.append(row)
        header = (
            f"Here's the files and directories up to 2 levels deep in {path}, excluding hidden:"
        )
        if left := len(entries) - len(rows):
            more = f"at least {left}" if len(entries) > _LISTED else str(left)
            rows.append(f"<response clipped><NOTE>{more} more are not shown; use `find`.</NOTE>")
        return "\n".join([header, *(rows or ["(nothing)"])])


def _given_up(own: Tool, ending: Ending, seconds: float) -> str:
    match ending:
        case "timeout":
            return f"Error: {own.name} took longer than its limit of {seconds:g} s."
        case "stop":
            return f"Error: {own.name} was not waited for because the run was stopped."
        case "full":
            return f"Error: {own.name} was ended because the disk was full."
    return f"Error: the sandbox was lost while {own.name} ran."


def _row(entry: Entry) -> str:
    name = one_line(entry.path)
    match entry.kind:
        case "folder":
            return f"{name}/"
        case "file":
            return f"{name} ({entry.size} bytes)"
    return f"{name} (neither a file nor a folder)"
