"""The conversation of a report: rounds, steps, calls and outputs, one step at a time."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from agent.capabilities.usage import CAPABILITIES, CapabilityUsage, combine
from agent.events import (
    ApprovalRequested,
    CallReviewed,
    Event,
    Forked,
    MessageDelivered,
    ModelAnswered,
    Notice,
    ObservationEdited,
    ObservationsCleared,
    ReasoningDelta,
    Reminder,
    ReplayStarted,
    Resumed,
    Retrying,
    RunContinued,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    StepVerified,
    SummaryEnded,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    UnreadableEvent,
    WorkspaceChanged,
)
from agent.models.base import ToolCall
from agent.report import markdown
from agent.report.budget import CappedText, TextMeter
from agent.report.charts import CAPABILITY_LABELS
from agent.report.html import Html, el, join
from agent.report.overview import left_out, shortened
from agent.report.source import Source
from agent.report.words import seconds, status_label, status_tone
from agent.runs.state import describe_summary
from agent.tools.actions import BASH, EDITOR, SUBMIT
from agent.util.text import mark_hidden, plural

_MAX_PARTS = 2_000
_MAX_CHANGES = 40
_REPLAY = "Replay: the recorded calls are executed again, without a model."
_VERDICTS = {
    "same": "the same",
    "volatile": "differs only in volatile parts",
    "differs": "differs",
    "unverified": "not verified",
}
_END_REASONS = {
    "timeout": "time limit", "stop": "stopped", "lost": "sandbox lost", "full": "disk full",
    "cut": "interrupted",
}  # fmt: skip


class Conversation:
    """Writes a run's events as HTML.

    Attributes:
        steps: What the player shows of each step: its number, its seconds and what it used.

    Args:
        source: The run.
        meter: The characters that are left.
        began: When the run began: the times in the report count from it.
    """

    def __init__(self, source: Source, meter: TextMeter, began: float) -> None:
        self._source = source
        self._meter = meter
        self._began = began
        self._step: _Step | None = None
        self.steps: list[dict[str, Any]] = []

    def render(self, events: Iterable[Event]) -> Iterator[Html]:
        """Yield the rounds and steps in order; only one step is held in memory."""
        for event in events:
            yield from self._apply(event)
        yield from self._flush()

    def _apply(self, event: Event) -> Iterator[Html]:
        match event:
            case RunStarted() | RunContinued() | StepStarted():
                yield from self._flush()
                if isinstance(event, StepStarted):
                    self._step = _Step(event, len(self.steps) + 1, self._meter, self._began)
                else:
                    yield self._opening(event)
            case StepEnded():
                if self._step is not None:
                    self._step.ended = event.at
            case RunEnded():
                yield from self._flush()
                yield self._end(event)
            case Forked():
                yield from self._flush()
                yield el("p", f"Fork: steps up to {event.step} are those of run {event.parent}.",
                         class_="notice")  # fmt: skip
            case _:
                if self._step is not None:
                    self._step.apply(event, self._source)
                elif isinstance(event, UnreadableEvent | Notice):
                    yield el("p", event.text, class_="notice")
                elif isinstance(event, ReplayStarted):
                    yield el("p", " ".join((_REPLAY, *event.notes)), class_="notice")

    def _flush(self) -> Iterator[Html]:
        step, self._step = self._step, None
        if step is not None:
            self.steps.append(step.data())
            yield step.element()

    def _opening(self, event: RunStarted | RunContinued) -> Html:
        first = isinstance(event, RunStarted)
        text = event.task if isinstance(event, RunStarted) else event.text
        extra: list[Html | None] = []
        if isinstance(event, RunStarted):
            extra = [
                *(self._folded(f"Earlier, {each.role}", each.text) for each in event.history),
                self._folded("System prompt", event.system) if event.system else None,
                self._folded("The message as sent", event.user) if event.user != text else None,
                _chips("Inputs", event.inputs),
            ]
        return el(
            "section",
            el("h2", "Task" if first else "Message", class_="visually-hidden"),
            el("div", *self._shown(text), class_="task") if text else None,
            *extra,
            class_="round",
            data_step=str(len(self.steps) + 1),
        )

    def _folded(self, title: str, text: str) -> Html:
        return el("details", el("summary", title), *self._shown(text), class_="folded")

    def _shown(self, text: str) -> Iterator[Html]:
        head, tail, omitted = self._meter.shorten(text)
        yield shortened(head, tail, omitted, class_="words")

    def _end(self, event: RunEnded) -> Html:
        label = el("span", status_label(event.status), class_="pill",
                   data_tone=status_tone(event.status))  # fmt: skip
        reason = el("p", event.reason, class_="problem") if event.reason else None
        at = f"{event.at - self._began:.3f}"
        return el("div", el("p", label), reason, class_="round-end",
                  data_step=str(len(self.steps)), data_from=at)  # fmt: skip


class _Step:
    """One step while its events arrive."""

    def __init__(self, event: StepStarted, index: int, meter: TextMeter, began: float) -> None:
        self.index = index
        self.began = self.ended = event.at
        self._origin = began
        self._meter = meter
        self._parts: list[Html] = []
        self._left_out = 0
        self._calls: dict[str, _Call] = {}
        self._used: CapabilityUsage | None = None
        self._failed = False
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._raw: dict[str, ToolCall] = {}
        self._footer: list[str] = []
        self._sandbox = 0.0
        self._changes: list[Html] = []
        self._asked: ApprovalRequested | None = None

    def apply(self, event: Event, source: Source) -> None:
        """Take in an event of the step."""
        self.ended = max(self.ended, event.at)
        match event:
            case ReasoningDelta() | TextDelta():
                self._first.setdefault(event.kind, event.at)
                self._last[event.kind] = event.at
            case Retrying():
                self._first.clear()
                text = f"Attempt {event.attempt} failed: {event.reason}"
                self._add(el("p", text, class_="notice bad"), event.at)
            case Notice() | UnreadableEvent() | Reminder():
                name = "The loop: " if isinstance(event, Reminder) else ""
                self._add(el("p", f"{name}{event.text}", class_="notice"), event.at)
            case (
                MessageDelivered() | Resumed() | ApprovalRequested() | CallReviewed()
                | ObservationEdited()
            ):  # fmt: skip
                self._steered(event)
            case ObservationsCleared() | SummaryEnded():
                self._freed(event)
            case ModelAnswered():
                self._answer(event)
            case ToolStarted() | ToolOutput() | ToolEnded():
                self._call_event(event, source)
            case WorkspaceChanged():
                self._changed(event)
            case StepVerified():
                text = " ".join((f"Replay: {_VERDICTS[event.verdict]}.", *event.notes))
                bad = event.verdict in ("differs", "unverified")
                self._add(el("p", text, class_="notice bad" if bad else "notice"), event.at)
            case _:
                pass

    def _steered(
        self,
        event: MessageDelivered | Resumed | ApprovalRequested | CallReviewed | ObservationEdited,
    ) -> None:
        """Show what the user did."""
        match event:
            case MessageDelivered():
                self._add(el("div", self._words(event.text), class_="task"), event.at)
            case Resumed():
                text = f"The user paused the run here for {seconds(event.seconds)}."
                self._add(el("p", text, class_="notice"), event.at)
            case ApprovalRequested():
                self._asked = event
            case CallReviewed():
                self._reviewed(event)
            case ObservationEdited():
                title = el("summary", "The user edited this result. What the model saw")
                text = self._words(event.observation)
                self._add(el("details", title, text, class_="folded", open_=True), event.at)

    def _reviewed(self, event: CallReviewed) -> None:
        """Show the user's decision, and the call as the model made it unless it was executed."""
        text = f"The user {event.decision} this call." + f" {event.reason}" * bool(event.reason)
        self._add(el("p", text, class_="notice"), event.at)
        asked, self._asked = self._asked, None
        if asked is not None and event.decision != "allowed":
            arguments = json.dumps(asked.arguments, ensure_ascii=False, indent=2)
            title = el("summary", f"The call as the model made it: {asked.name}")
            self._add(el("details", title, self._words(arguments), class_="folded"), event.at)

    def _freed(self, event: ObservationsCleared | SummaryEnded) -> None:
        """Show what was replaced for the model; the report has it as it was."""
        if isinstance(event, ObservationsCleared):
            count = plural(len(event.call_ids), "older observation")
            self._add(el("p", f"{count} cleared: {event.note}", class_="notice"), event.at)
            return
        text = describe_summary(event)
        if event.text:
            self._add(
                el("details", el("summary", text), self._words(event.text), class_="folded"),
                event.at,
            )
        else:
            self._add(el("p", text, class_="notice bad"), event.at)

    def _words(self, text: str) -> Html:
        head, tail, omitted = self._meter.shorten(text)
        return shortened(head, tail, omitted, class_="words")

    def _answer(self, event: ModelAnswered) -> None:
        sent = event.at - event.seconds
        if event.reasoning.strip():
            start = self._first.get("reasoning_delta", sent)
            end = max(
                start, self._last.get("reasoning_delta", self._first.get("text_delta", start))
            )
            head, tail, omitted = self._meter.shorten(event.reasoning.strip())
            body = shortened(head, tail, omitted, class_="words")
            title = f"Thought for {seconds(max(0.0, end - start))}"
            self._add(
                el("details", el("summary", title), body, class_="reasoning"),
                start,
                end,
                typed=True,
            )
        if event.text.strip():
            start = self._first.get("text_delta", sent)
            head, tail, omitted = self._meter.shorten(event.text.strip())
            shown = markdown.render(head)
            if omitted:
                shown = join(shown, left_out(omitted, " here"), markdown.render(tail))
            self._add(el("div", shown, class_="text"), start, event.at, typed=True)
        if event.usage is not None:
            about = "≈ " if event.estimated else ""
            read = plural(event.usage.prompt, "token")
            self._footer.append(f"{about}{read} in, {about}{event.usage.generated:,} out")
        self._footer.append(f"model {seconds(max(0.0, event.seconds))}")
        self._raw = {call.id: call for call in event.calls}

    def _call_event(self, event: ToolStarted | ToolOutput | ToolEnded, source: Source) -> None:
        call = self._calls.get(event.call_id)
        if isinstance(event, ToolStarted):
            if len(self._calls) < _MAX_PARTS:
                self._calls[event.call_id] = _Call(event, self._meter)
        elif isinstance(event, ToolOutput):
            if call is not None:
                call.output(event)
        else:
            raw = self._raw.get(event.call_id)
            self._used = combine(self._used, event.used)
            started = call.started if call else event.at
            call = self._calls.pop(event.call_id, None) or _Call.refused(event, raw, self._meter)
            self._failed = self._failed or call.failed(event)
            self._add(call.element(event, source), started, event.at, typed=True)
            self._sandbox += max(0.0, event.seconds)

    def _changed(self, event: WorkspaceChanged) -> None:
        for change in event.changes:
            if len(self._changes) < _MAX_CHANGES:
                self._changes.append(el("span", change.path, class_=f"chip {change.kind}"))
        more = event.total - len(event.changes)
        if more > 0:
            self._changes.append(el("span", f"{more:,} more", class_="chip more"))

    def _add(
        self, part: Html, start: float, end: float | None = None, *, typed: bool = False
    ) -> None:
        if len(self._parts) >= _MAX_PARTS:
            self._left_out += 1
            return
        end = start if end is None else max(start, end)
        self._parts.append(
            el("div", part, class_="part", data_from=f"{start - self._origin:.3f}",
               data_to=f"{end - self._origin:.3f}", data_typed=typed)
        )  # fmt: skip

    def data(self) -> dict[str, Any]:
        """Return what the player's track shows."""
        used = self._used
        return {
            "step": self.index,
            "from": round(self.began - self._origin, 3),
            "seconds": round(max(0.0, self.ended - self.began), 3),
            "used": used and {name: used.evidence(name) for name in CAPABILITIES},
            "failed": self._failed,
        }

    def element(self) -> Html:
        """Return the step."""
        for call in self._calls.values():  # cut off by the end of the round
            self._add(call.unfinished(), call.started)
        if self._sandbox:
            self._footer.append(f"sandbox {seconds(self._sandbox)}")
        footer = el("p", " · ".join(self._footer), class_="usage num") if self._footer else None
        return el(
            "article",
            el("a", str(self.index), class_="step-number num", href=f"#step-{self.index}",
               aria_label=f"Step {self.index}"),
            el("div", *self._parts,
               left_out_parts(self._left_out),
               el("p", *self._changes, class_="changes") if self._changes else None,
               el("div", footer, _strip(self._used), class_="footer"),
               class_="step-body"),
            class_="step",
            id=f"step-{self.index}",
            data_step=str(self.index),
        )  # fmt: skip


def left_out_parts(count: int) -> Html | None:
    """Return the sentence on parts of a step that are too many."""
    return (
        el("p", f"{plural(count, 'further part')} left out", class_="left-out") if count else None
    )


class _Call:
    """A tool call while its output arrives."""

    def __init__(self, event: ToolStarted, meter: TextMeter) -> None:
        self.started = event.at
        self._name = event.name
        self._summary = mark_hidden(event.summary)
        self._arguments: dict[str, Any] = event.arguments
        self._raw = ""
        self._meter = meter
        self._text = CappedText(meter.limit())
        self._files: dict[str, str] = {}

    @classmethod
    def refused(cls, event: ToolEnded, raw: ToolCall | None, meter: TextMeter) -> "_Call":
        """Return a call that was never started, since it was not understood."""
        started = ToolStarted(step=event.step, call_id=event.call_id, name=event.name,
                              arguments={}, summary=event.name, at=event.at)  # fmt: skip
        call = cls(started, meter)
        call._raw = raw.arguments if raw else ""
        return call

    def output(self, event: ToolOutput) -> None:
        """Take in output; a long one is read from its file at the end."""
        if event.output_file:
            self._files[event.stream] = event.output_file
        elif event.stream not in self._files:
            self._text.leave_out(max(0, event.skipped))
            self._text.add(event.stream, event.text)

    def failed(self, event: ToolEnded) -> bool:
        """Return whether the call failed."""
        return not event.ok or bool(event.exit_code) or event.end_reason != "exit"

    def element(self, event: ToolEnded, source: Source) -> Html:
        """Return the call with its result."""
        failed = self.failed(event)
        reason = _END_REASONS.get(event.end_reason) or (
            f"exit {event.exit_code}" if event.exit_code else "failed" if failed else "✓"
        )
        took = f" · {seconds(event.seconds)}" if event.seconds >= 0.05 else ""
        state = el("span", reason + took, class_=f"state num {'bad' if failed else 'ok'}")
        outputs = [*self._outputs(source)]
        silent = not failed and (
            self._name == SUBMIT
            or (self._name == BASH and event.exit_code is not None)
            or (self._name == EDITOR and self._arguments.get("command") != "view")
        )
        if not outputs and not silent and event.observation:
            outputs = [self._short(event.observation, "output")]
        return self._card(state, outputs, failed=failed, storage=event.storage_note)

    def unfinished(self) -> Html:
        """Return a call whose result is not known."""
        return self._card(el("span", "interrupted", class_="state bad"), [], failed=True)

    def _card(self, state: Html, outputs: list[Html], *, failed: bool, storage: str = "") -> Html:
        summary = el("summary", el("code", self._summary or self._name), state)
        note = el("p", storage, class_="notice bad") if storage else None
        program = self._program()
        if program is None and not outputs and note is None:
            return el("div", el("div", *[el("code", self._summary or self._name), state],
                                class_="summary"), class_="card")  # fmt: skip
        return el("details", summary, program, *outputs, note, open_=True,
                  class_="card failed" if failed else "card")  # fmt: skip

    def _program(self) -> Html | None:
        """Return what the call executes or writes."""
        if self._raw:
            return self._program_text(self._raw)
        texts = {key: text for key, text in self._arguments.items() if isinstance(text, str)}
        if self._name == BASH:
            return self._program_text(f"$ {texts.get('command', '')}")
        if self._name == EDITOR:
            parts = [texts["file_text"]] if "file_text" in texts else []
            parts += [_signed(texts[name], sign) for name, sign in _SIGNS if name in texts]
            return self._program_text("\n".join(parts)) if parts else None
        if self._name == SUBMIT or not self._arguments:
            return None
        text = json.dumps(self._arguments, indent=2, ensure_ascii=False, default=str)
        return self._program_text(text)

    def _program_text(self, text: str) -> Html:
        return self._short(mark_hidden(text), "program")

    def _short(self, text: str, class_: str) -> Html:
        head, tail, omitted = self._meter.shorten(text)
        return shortened(head, tail, omitted, class_=class_, tabindex="0")

    def _outputs(self, source: Source) -> Iterator[Html]:
        first, last = self._text.pieces()
        for pieces, omitted in ((first, self._text.omitted), (last, 0)):
            shown = [(kind, text) for kind, text in pieces if kind not in self._files]
            if shown:
                self._meter.count(sum(len(text) for _, text in shown))
                yield el("pre", *(_piece(kind, text) for kind, text in shown),
                         class_="output", tabindex="0")  # fmt: skip
            if omitted and not self._files:
                yield left_out(omitted, " here")
        for stream, name in self._files.items():
            yield self._file(stream, name, source)

    def _file(self, stream: str, name: str, source: Source) -> Html:
        """Return a long output: the beginning and the end of its file."""
        half = self._meter.limit() // 2
        file = source.long_output(name)
        if file is None:
            return el("p", f"The output ({stream}) was not kept.", class_="left-out")
        with file:
            size = file.seek(0, 2)
            file.seek(0)
            head = file.read(half).decode("utf-8", "replace")
            file.seek(max(file.tell(), size - half))
            tail = file.read(half).decode("utf-8", "replace")
        self._meter.count(len(head) + len(tail))
        omitted = max(0, size - 2 * half)
        kind = "output error" if stream == "stderr" else "output"
        if not omitted:
            return el("pre", head + tail, class_=kind, tabindex="0")
        missing = el("p", f"{omitted:,} bytes left out here", class_="left-out")
        return join(el("pre", head, class_=kind, tabindex="0"), missing,
                    el("pre", tail, class_=kind, tabindex="0"))  # fmt: skip


_SIGNS = (("old_str", "-"), ("new_str", "+"))


def _signed(text: str, sign: str) -> str:
    return "\n".join(f"{sign} {line}" for line in text.splitlines())


def _piece(kind: str, text: str) -> Html:
    return el("span", text, class_="error") if kind == "stderr" else join(text)


def _chips(title: str, names: Iterable[str]) -> Html | None:
    shown = [*names][:_MAX_CHANGES]
    if not shown:
        return None
    return el("p", f"{title}: ", *(el("span", each, class_="chip") for each in shown),
              class_="changes")  # fmt: skip


def _strip(used: CapabilityUsage | None) -> Html | None:
    found = [name for name in CAPABILITIES if used is not None and used.evidence(name)]
    if used is None or not found:
        return None
    label = ", ".join(f"{CAPABILITY_LABELS[name]} ({used.evidence(name)})" for name in found)
    bars = (el("i", class_=f"{name} {used.evidence(name)}") for name in found)
    return el(
        "span", *bars, class_="step-used", role="img", aria_label=f"Used: {label}", title=label
    )
