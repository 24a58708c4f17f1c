"""Print a run as lines of text on a terminal."""

import sys
from typing import TextIO

from agent.events import (
    Annotation,
    ApprovalRequested,
    CallReviewed,
    Event,
    MessageDelivered,
    ModelAnswered,
    Notice,
    ObservationEdited,
    ObservationsCleared,
    Paused,
    PicturesDropped,
    Preparing,
    ReasoningDelta,
    Reminder,
    Retrying,
    RunContinued,
    RunEnded,
    RunStarted,
    SandboxReady,
    StepEnded,
    StepStarted,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    WorkspaceChanged,
)
from agent.models.errors.failures import with_key_variables
from agent.runs.state import format_totals, remark
from agent.util.text import mark_format_controls, mark_hidden, plural, sanitize

_DIM, _BOLD, _RED, _GREEN, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"
_SHOWN_CHANGES = 8


class EventPrinter:
    """Prints events as they arrive, without control characters, in colours on a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._colour = self._stream.isatty()
        self._open_kind = ""

    def print_event(self, event: Event) -> None:
        """Print an event."""
        match event:
            case ReasoningDelta():
                self._continue_text("reasoning", event.text, _DIM)
            case TextDelta():
                self._continue_text("text", event.text)
            case ToolOutput():
                gap = f"\n[… {plural(event.skipped, 'byte')} left out …]\n" if event.skipped else ""
                style = _RED if event.stream == "stderr" else _DIM
                self._continue_text(event.stream, gap + event.text, style)
            case ToolStarted():
                self._print_line(f"$ {mark_hidden(event.summary)}", _BOLD)
            case ToolEnded():
                self._tool_ended(event)
            case RunEnded():
                self._run_ended(event)
            case _:
                self._print_progress(event)

    def _print_progress(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._print_line(f"{event.task}\n{event.model}, {event.mode}", _BOLD)
            case RunContinued():
                self._print_line(event.text, _BOLD)
            case Preparing() if event.detail:
                share = "" if event.progress is None else f"{event.progress:4.0%} "
                self._print_line(f"{share}{event.detail}", _DIM)
            case SandboxReady():
                warm = ", warm from the pool" if event.pooled else ""
                self._print_line(f"Sandbox ready in {event.seconds:.2f} s{warm}", _DIM)
            case StepStarted():
                self._print_line(f"── step {event.step} ──", _DIM)
            case WorkspaceChanged():
                self._print_line(_format_changes(event), _DIM)
            case StepEnded() | ModelAnswered():
                self._end_line()
            case _:
                self._print_notice(event)

    def _print_notice(self, event: Event) -> None:
        match event:
            case Retrying():
                wait = f"again in {event.wait:.0f} s (try {event.attempt})"
                self._print_line(f"{event.reason} — {wait}", _RED)
            case Reminder():
                self._print_line("The model was reminded to use a tool.", _DIM)
            case SummaryStarted():
                steps = f"steps {event.first_step} to {event.last_step}"
                self._print_line(f"The model summarises {steps} to free space.", _DIM)
            case Notice() | SummaryEnded() | Annotation():
                failed = isinstance(event, SummaryEnded) and event.reason
                self._print_line(remark(event), _RED if failed else _DIM)
            case ObservationsCleared():
                removed = plural(len(event.call_ids), "older output")
                self._print_line(f"Removed to free space: {removed}.", _DIM)
            case PicturesDropped():
                removed = plural(len(event.pictures), "older picture")
                self._print_line(f"Replaced by a description to free space: {removed}.", _DIM)
            case _:
                self._print_steering(event)

    def _print_steering(self, event: Event) -> None:
        match event:
            case Paused():
                self._print_line("Paused.", _DIM)
            case MessageDelivered():
                self._print_line(event.text, _BOLD)
            case ApprovalRequested():
                self._print_line(f"Waits for approval: {mark_hidden(event.summary)}", _BOLD)
            case CallReviewed():
                reason = f": {event.reason}" if event.reason else "."
                self._print_line(f"The call was {event.decision}{reason}", _DIM)
            case ObservationEdited():
                self._print_line("The user edited what the model sees of a result.", _DIM)
            case _:
                pass

    def _tool_ended(self, event: ToolEnded) -> None:
        good = event.ok and event.exit_code in (0, None) and event.end_reason == "exit"
        if good:
            self._end_line()
            return
        if event.end_reason != "exit":
            what: str = event.end_reason
        elif event.exit_code is not None:
            what = f"exit {event.exit_code}"
        else:
            what = event.observation.split("\n")[0]
        self._print_line(f"[{what}, {event.seconds:.1f} s]", _RED)

    def _run_ended(self, event: RunEnded) -> None:
        good = event.status in ("submitted", "answered")
        reason = f": {with_key_variables(event.reason)}" if event.reason else ""
        self._print_line(f"{event.status}{reason}", _GREEN if good else _RED)
        self._print_line(format_totals(event.totals), _DIM)

    def _continue_text(self, what: str, text: str, style: str = "") -> None:
        """Continue a text; begin a new line if the previous text was of another kind."""
        if self._open_kind != what:
            self._end_line()
        text = _readable(text)
        self._write(text, style)
        self._open_kind = "" if text.endswith("\n") else what

    def _print_line(self, text: str, style: str = "") -> None:
        self._end_line()
        self._write(_readable(text) + "\n", style)

    def _end_line(self) -> None:
        if self._open_kind:
            self._stream.write("\n")
            self._open_kind = ""

    def _write(self, text: str, style: str) -> None:
        if style and self._colour:
            text = f"{style}{text}{_PLAIN}"
        self._stream.write(text)
        self._stream.flush()


def _readable(text: str) -> str:
    return sanitize(mark_format_controls(text))


def _format_changes(event: WorkspaceChanged) -> str:
    signs = {"added": "+", "changed": "~", "removed": "-"}
    shown = [f"{signs[change.kind]} {change.path}" for change in event.changes[:_SHOWN_CHANGES]]
    more = event.total - len(shown)
    return "  ".join(shown) + (f"  and {more:,} more" if more > 0 else "")
