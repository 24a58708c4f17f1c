"""A run to take along: its steps as CSV, its conversation as Markdown."""

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
)
from agent.fold import RunPicture, StepHead
from agent.legible import legible
from agent.terminal import totals_line

COLUMNS = (
    "step", "round", "began", "text", "calls", "exit_codes", "model_seconds", "sandbox_seconds",
    "prompt_tokens", "cached_tokens", "generated_tokens", "tokens_estimated", "files_changed",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def steps_csv(picture: RunPicture) -> str:
    """One row a step; the heads of its calls, their exit codes, tokens and seconds.

    Text that a spreadsheet would take for a formula begins with an apostrophe.
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
        "" if usage is None else usage.generated,
        step.estimated,
        step.changed,
    ]


def _cell(text: str) -> str:
    text = legible(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def conversation_markdown(events: Iterable[Event]) -> Iterator[str]:
    """The whole run as Markdown, a piece at a time: what was said, done, seen and answered."""
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
            case _:
                pass


def _said(event: ModelAnswered) -> str:
    reasoning = "".join(f"> {line}\n" for line in legible(event.reasoning).strip().splitlines())
    parts = [reasoning, legible(event.text).strip()]
    return "".join(f"{part}\n\n" for part in parts if part)


def _asked(event: ToolStarted) -> str:
    command = event.arguments.get("command")
    return f"$ {command}" if event.name == "execute_bash" else event.head


def _ending(event: RunEnded) -> str:
    reason = f": {_line(event.reason)}" if event.reason else ""
    answer = f"{legible(event.answer)}\n\n" if event.answer else ""
    return f"## {event.status}{reason}\n\n{answer}*{totals_line(event.totals)}*\n\n"


def _fenced(text: str) -> str:
    """A code block that the text cannot end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{legible(text)}\n{fence}\n\n"


def _line(text: str) -> str:
    return " ".join(legible(text).split())
