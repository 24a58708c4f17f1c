"""Export a run: its steps as CSV, its conversation as Markdown."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from agent.capabilities.usage import CAPABILITIES, Capability, CapabilityUsage
from agent.events import (
    Annotation,
    ApprovalRequested,
    CallReviewed,
    Event,
    Forked,
    MessageDelivered,
    ModelAnswered,
    Reminder,
    RunContinued,
    RunEnded,
    RunStarted,
    SummaryEnded,
    ToolStarted,
    UnreadableEvent,
)
from agent.runs.outputs.pictures import is_picture_name, pictures_of
from agent.runs.state import RunState, StepSummary, format_totals, remark
from agent.runs.transcript import Call, Part, parts_of
from agent.util.text import mark_hidden, plural, sanitize

COLUMNS = (
    "step", "round", "began", "text", "calls", "exit_codes", "model_seconds", "sandbox_seconds",
    "prompt_tokens", "cached_tokens", "cache_written_tokens", "generated_tokens",
    "tokens_estimated", "files_changed", "external", "file", "compute", "paper_patterns",
    "cpu_seconds", "programs", "hosts", "packages",
)  # fmt: skip
_CAPABILITY_NAMES: dict[Capability, str] = {
    "external": "external resources",
    "file": "file management",
    "compute": "computation",
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def steps_csv(state: RunState) -> str:
    """Return a row per step; texts that look like formulas get a leading apostrophe."""
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
        "" if usage is None else usage.known("cached"),
        "" if usage is None else usage.known("cache_written"),
        "" if usage is None else usage.generated,
        step.estimated,
        step.total_changes,
        *_capabilities(step.used),
    ]


def _capabilities(used: CapabilityUsage | None) -> list[object]:
    if used is None:
        return [""] * 8
    return [
        *(used.evidence(name) or "no" for name in CAPABILITIES),
        "; ".join(used.paper),
        "" if used.cpu_seconds is None else round(used.cpu_seconds, 3),
        *(_cell("; ".join(names)) for names in (used.programs, used.hosts, used.packages)),
    ]


def _cell(text: str) -> str:
    text = sanitize(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def conversation_markdown(events: Iterable[Event]) -> Iterator[str]:
    """Yield the run as Markdown: messages, calls, observations, answers."""
    for part in parts_of(events):
        yield from _format_part(part)


def _format_part(part: Part) -> Iterator[str]:
    match part:
        case RunStarted():
            yield _format_begin(part)
        case RunContinued() | Forked():
            yield _format_continuation(part) + _format_pictures(part)
        case ModelAnswered():
            yield f"### Step {part.step}\n\n" + _format_answer(part)
        case Call():
            yield _format_call(part)
        case Reminder():
            yield f"*The loop:* {_one_line(part.text)}\n\n"
        case MessageDelivered():
            yield f"**The user, while the model worked:** {sanitize(part.text)}\n\n"
            yield _format_pictures(part)
        case SummaryEnded() | UnreadableEvent() | Annotation():
            yield f"*{_one_line(remark(part))}*\n\n"
            if isinstance(part, SummaryEnded) and part.text:
                yield _code_block(part.text)
        case RunEnded():
            yield _format_end(part)
        case _:
            pass


def _format_begin(event: RunStarted) -> str:
    title = f"# {_one_line(event.task)}\n\n*{event.model}, {event.mode}*\n\n"
    earlier = (f"*Earlier, {each.role}:* {_one_line(each.text)}\n\n" for each in event.history)
    return title + _format_passport(event) + "".join(earlier) + _format_pictures(event)


def _format_pictures(event: Event) -> str:
    """Return the pictures that the model got with an event; their files are in ``run.zip``."""
    return "".join(
        f"![{_alternative(each.source)}](outputs/{each.file})\n\n"
        f"*{_one_line(each.source)}, {each.width} × {each.height} pixels, "
        f"about {plural(each.tokens, 'token')}*\n\n"
        for each in pictures_of(event)
        if is_picture_name(each.file)
    )


def _alternative(text: str) -> str:
    return "".join(f"\\{char}" if char in "[]\\!" else char for char in _one_line(text))


def _format_passport(event: RunStarted) -> str:
    facts = (event.passport or {}).get("facts", ())
    known = [f"{each['label']}: {each['text']}" for each in facts if each.get("known")]
    return f"*Known of the model:* {_one_line('; '.join(known))}\n\n" if known else ""


def _format_answer(event: ModelAnswered) -> str:
    reasoning = "".join(f"> {line}\n" for line in sanitize(event.reasoning).strip().splitlines())
    parts = [reasoning, sanitize(event.text).strip()]
    return "".join(f"{part}\n\n" for part in parts if part)


def _format_capabilities(used: CapabilityUsage | None) -> str:
    """Return what a call used, in one line; empty if nothing or unknown."""
    found = [
        f"{_CAPABILITY_NAMES[name]} ({used.evidence(name)})"
        for name in CAPABILITIES
        if used is not None and used.evidence(name)
    ]
    return f"*Used: {', '.join(found)}*\n\n" if found else ""


def _format_call(call: Call) -> str:
    """Return a call with the user's decision on it, and its result."""
    parts = [_format_review(call.reviewed, call.requested)] if call.reviewed else []
    if call.started:
        parts.append(_code_block(_format_action(call.started)))
    if call.ended:
        parts.append(_code_block(call.ended.observation) + _format_pictures(call.ended))
        parts.append(_format_capabilities(call.ended.used))
    if call.edited:
        seen = _code_block(call.edited.observation)
        parts.append(f"*The user edited this result. The model saw:*\n\n{seen}")
    return "".join(parts)


def _format_review(event: CallReviewed, call: ApprovalRequested | None) -> str:
    """Return what the user decided on a call; an edited or denied one is not shown elsewhere."""
    if event.decision == "allowed":
        return "*The user allowed this call:*\n\n"
    asked = _code_block(_format_action(call)) if call else ""
    if event.decision == "edited":
        return f"{asked}*The user edited this call. Executed:*\n\n"
    reason = f": {_one_line(event.reason)}" if event.reason else ""
    return f"{asked}*The user denied this call{reason}*\n\n"


def _format_action(event: ToolStarted | ApprovalRequested) -> str:
    """Return a call's command, or its summary line and the text that it writes."""
    texts = {name: text for name, text in event.arguments.items() if isinstance(text, str)}
    if event.name == "execute_bash":
        return mark_hidden(f"$ {texts.get('command')}")
    parts = [event.summary, texts.get("file_text", "")]
    for name, mark in (("old_str", "-"), ("new_str", "+")):
        parts.append("\n".join(f"{mark}{line}" for line in texts.get(name, "").splitlines()))
    return mark_hidden("\n".join(filter(None, parts)))


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


def _format_continuation(event: RunContinued | Forked) -> str:
    if isinstance(event, Forked):
        copied = "Step 1 is" if event.step == 1 else f"Steps 1 to {event.step} are"
        return f"*{copied} a copy. The fork begins here.*\n\n"
    return f"## {_one_line(event.text)}\n\n" if event.text else ""


def _one_line(text: str) -> str:
    return " ".join(sanitize(text).split())
