"""Export a run: its steps as CSV, its conversation as Markdown."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from agent.events import (
    Event,
    ModelAnswered,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolStarted,
    UnreadableEvent,
)
from agent.runs.state import RunState, StepSummary, format_totals
from agent.util.text import sanitize

COLUMNS = (
    "step", "round", "began", "text", "calls", "exit_codes", "model_seconds", "sandbox_seconds",
    "prompt_tokens", "cached_tokens", "cache_written_tokens", "generated_tokens",
    "tokens_estimated", "files_changed",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def steps_csv(state: RunState) -> str:
    """Return a row per step: the heads of its calls, exit codes, tokens, seconds.

    Text that a spreadsheet would interpret as a formula gets a leading apostrophe.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    writer.writerows(_row(step) for step in state.steps)
    return out.getvalue()


def _row(step: StepSummary) -> list[object]:
    usage = step.usage
    return [
        step.step,
        step.round,
        datetime.fromtimestamp(step.began, UTC).isoformat(timespec="milliseconds"),
        _cell(step.text),
        _cell("; ".join(call.summary for call in step.calls)),
        "; ".join("" if call.exit_code is None else str(call.exit_code) for call in step.calls),
        round(step.model_seconds, 3),
        round(sum(call.seconds for call in step.calls), 3),
        "" if usage is None else usage.prompt,
        "" if usage is None else usage.cached,
        "" if usage is None else usage.cache_written,
        "" if usage is None else usage.generated,
        step.estimated,
        step.total_changes,
    ]


def _cell(text: str) -> str:
    text = sanitize(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def conversation_markdown(events: Iterable[Event]) -> Iterator[str]:
    """Yield the run as Markdown: messages, calls, observations, answers."""
    for event in events:
        match event:
            case RunStarted():
                yield f"# {_one_line(event.task)}\n\n*{event.model}, {event.mode}*\n\n"
            case RunContinued():
                yield f"## {_one_line(event.text)}\n\n"
            case ModelAnswered():
                yield f"### Step {event.step}\n\n" + _format_answer(event)
            case ToolStarted():
                yield _code_block(_format_call(event))
            case ToolEnded():
                yield _code_block(event.observation)
            case Reminder():
                yield f"*The loop:* {_one_line(event.text)}\n\n"
            case RunEnded():
                yield _format_end(event)
            case UnreadableEvent():
                yield f"*{_one_line(event.text)}*\n\n"
            case _:
                pass


def _format_answer(event: ModelAnswered) -> str:
    reasoning = "".join(f"> {line}\n" for line in sanitize(event.reasoning).strip().splitlines())
    parts = [reasoning, sanitize(event.text).strip()]
    return "".join(f"{part}\n\n" for part in parts if part)


def _format_call(event: ToolStarted) -> str:
    """Return a call's command, or its summary line and the text that it writes."""
    texts = {name: text for name, text in event.arguments.items() if isinstance(text, str)}
    if event.name == "execute_bash":
        return f"$ {texts.get('command')}"
    parts = [event.summary, texts.get("file_text", "")]
    for name, mark in (("old_str", "-"), ("new_str", "+")):
        parts.append("\n".join(f"{mark}{line}" for line in texts.get(name, "").splitlines()))
    return "\n".join(filter(None, parts))


def _format_end(event: RunEnded) -> str:
    reason = f": {_one_line(event.reason)}" if event.reason else ""
    answer = f"{sanitize(event.answer)}\n\n" if event.answer else ""
    return f"## {event.status}{reason}\n\n{answer}*{format_totals(event.totals)}*\n\n"


def _code_block(text: str) -> str:
    """Return a code block with a fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{sanitize(text)}\n{fence}\n\n"


def _one_line(text: str) -> str:
    return " ".join(sanitize(text).split())
