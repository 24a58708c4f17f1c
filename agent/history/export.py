"""Export a run: its steps as CSV, its conversation as Markdown."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from agent.events import (
    Event,
    ModelAnswered,
    RunContinued,
    RunEnded,
    RunStarted,
    Told,
    ToolEnded,
    ToolStarted,
    Unreadable,
)
from agent.runs.state import RunPicture, StepHead, totals_line
from agent.util.text import legible

COLUMNS = (
    "step", "round", "began", "text", "calls", "exit_codes", "model_seconds", "sandbox_seconds",
    "prompt_tokens", "cached_tokens", "cache_written_tokens", "generated_tokens",
    "tokens_estimated", "files_changed",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def steps_csv(picture: RunPicture) -> str:
    """Return a row per step: the heads of its calls, exit codes, tokens, seconds.

    Text that a spreadsheet would interpret as a formula gets a leading apostrophe.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    writer.writerows(_row(step) for step in picture.steps)
    return out.getvalue()


def _row(step: StepHead) -> list[object]:
    usage = step.usage
    return [
        step.step,
        step.round,
        datetime.fromtimestamp(step.began, UTC).isoformat(timespec="milliseconds"),
        _cell(step.text),
        _cell("; ".join(call.head for call in step.calls)),
        "; ".join("" if call.exit_code is None else str(call.exit_code) for call in step.calls),
        round(step.model_seconds, 3),
        round(sum(call.seconds for call in step.calls), 3),
        "" if usage is None else usage.prompt,
        "" if usage is None else usage.cached,
        "" if usage is None else usage.cache_written,
        "" if usage is None else usage.generated,
        step.estimated,
        step.changed,
    ]


def _cell(text: str) -> str:
    text = legible(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def conversation_markdown(events: Iterable[Event]) -> Iterator[str]:
    """Yield the run as Markdown: messages, calls, observations, answers."""
    for event in events:
        match event:
            case RunStarted():
                yield f"# {_line(event.task)}\n\n*{event.model}, {event.mode}*\n\n"
            case RunContinued():
                yield f"## {_line(event.text)}\n\n"
            case ModelAnswered():
                yield f"### Step {event.step}\n\n" + _said(event)
            case ToolStarted():
                yield _fenced(_asked(event))
            case ToolEnded():
                yield _fenced(event.observation)
            case Told():
                yield f"*The loop:* {_line(event.text)}\n\n"
            case RunEnded():
                yield _ending(event)
            case Unreadable():
                yield f"*{_line(event.text)}*\n\n"
            case _:
                pass


def _said(event: ModelAnswered) -> str:
    reasoning = "".join(f"> {line}\n" for line in legible(event.reasoning).strip().splitlines())
    parts = [reasoning, legible(event.text).strip()]
    return "".join(f"{part}\n\n" for part in parts if part)


def _asked(event: ToolStarted) -> str:
    """Return a call's command, or its summary line and the text that it writes."""
    given = {name: text for name, text in event.arguments.items() if isinstance(text, str)}
    if event.name == "execute_bash":
        return f"$ {given.get('command')}"
    parts = [event.head, given.get("file_text", "")]
    for name, mark in (("old_str", "-"), ("new_str", "+")):
        parts.append("\n".join(f"{mark}{line}" for line in given.get(name, "").splitlines()))
    return "\n".join(filter(None, parts))


def _ending(event: RunEnded) -> str:
    reason = f": {_line(event.reason)}" if event.reason else ""
    answer = f"{legible(event.answer)}\n\n" if event.answer else ""
    return f"## {event.status}{reason}\n\n{answer}*{totals_line(event.totals)}*\n\n"


def _fenced(text: str) -> str:
    """Return a code block with a fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{legible(text)}\n{fence}\n\n"


def _line(text: str) -> str:
    return " ".join(legible(text).split())
