"""Reduction of a round's events to what a client of the API sees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.events import (
    Event,
    Mode,
    ModelAnswered,
    Notice,
    ReasoningDelta,
    Retrying,
    RunEnded,
    Status,
    SummaryEnded,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from agent.models.base import FinishReason, PartialCount, Usage
from agent.runs.state import remark
from sandbox_ui.openai_api.errors import NO_RETRY, ApiError
from sandbox_ui.openai_api.files import ProducedFile

_COMPLETE: tuple[Status, ...] = ("submitted", "answered")
_MAX_NOTICES = 20
_INTERRUPTED = (
    "The endpoint interrupted its answer and would begin again, but its first half was already "
    "sent. Send the request again."
)


@dataclass(frozen=True, slots=True)
class ReasoningText:
    """More of what the model thinks and says before its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolBegan:
    """A tool is called in the sandbox."""

    call_id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolDone:
    """A tool's result, as the model sees it."""

    call_id: str
    name: str
    output: str
    ok: bool


@dataclass(frozen=True, slots=True)
class AnswerText:
    """More of the answer."""

    text: str


Piece = ReasoningText | ToolBegan | ToolDone | AnswerText


@dataclass(frozen=True, slots=True)
class RoundUsage:
    """Tokens of a round; None is what an endpoint did not report in each step."""

    prompt: int
    generated: int
    cached: int | None
    reasoning: int | None


@dataclass
class RoundProgress:
    """The state of a round; ``stop`` texts end its answer, ``param`` holds the messages."""

    run: str
    mode: Mode
    stop: Sequence[str] = ()
    param: str = "messages"
    started_at: float = 0.0
    ended_at: float = 0.0
    status: Status | None = None
    reason: str = ""
    answer: str = ""
    notices: list[str] = field(default_factory=list)
    _answers: list[tuple[Usage | None, FinishReason]] = field(default_factory=list)
    _summaries: list[Usage | None] = field(default_factory=list)
    _last: str = ""

    def apply(self, event: Event) -> Iterator[Piece]:
        """Apply an event; yield what the client sees of it."""
        self.started_at = self.started_at or event.at
        match event:
            case ReasoningDelta():
                yield from self._think(event.text, "reasoning")
            case TextDelta() if self.mode == "plain":
                self.answer += event.text
                yield AnswerText(event.text)
            case TextDelta():
                yield from self._think(event.text, "text")
            case Retrying():
                yield from self._retry(event)
            case ToolStarted():
                self._last = "tool"
                yield ToolBegan(event.call_id, event.name, event.arguments)
            case ToolEnded():
                self._last = "tool"
                yield ToolDone(event.call_id, event.name, event.observation, event.ok)
            case Notice() | SummaryEnded():
                self._notify(event)
            case ModelAnswered():
                self._answers.append((None if event.estimated else event.usage, event.finish))
            case RunEnded():
                yield from self._end(event)
            case _:
                pass

    @property
    def steps(self) -> int:
        """The number of the model's answers."""
        return len(self._answers)

    @property
    def is_complete(self) -> bool:
        """Whether the round ended with a complete answer."""
        return self.status in _COMPLETE

    @property
    def is_filtered(self) -> bool:
        """Whether the endpoint withheld the last answer."""
        return bool(self._answers) and self._answers[-1][1] == "content_filter"

    @property
    def error(self) -> ApiError | None:
        """The error that the client gets instead of an answer; None if there is an answer."""
        if self.status == "failed":
            return self._failure(self.reason)
        if self.status == "stopped":
            reason = self.reason or "The run was stopped."
            return ApiError(
                reason, 409, kind="server_error", code="run_stopped", headers=self._headers
            )
        if self.status == "token_limit" and not self._answers:
            return ApiError(self.reason, param=self.param, code="context_length_exceeded")
        return None

    @property
    def _headers(self) -> dict[str, str]:
        return {**NO_RETRY, "X-Request-Id": self.run}

    def _failure(self, reason: str) -> ApiError:
        return ApiError(reason, 502, code="run_failed", headers=self._headers)

    def describe(self, links: Sequence[ProducedFile]) -> dict[str, Any]:
        """Return the field ``sandbox`` of an answer: what OpenAI's fields have no place for."""
        return {
            "run": self.run,
            "mode": self.mode,
            "status": self.status,
            "reason": self.reason or None,
            "steps": self.steps,
            "notices": self.notices,
            "files": [
                {
                    "id": link.ref.id,
                    "filename": link.name,
                    "bytes": link.size,
                    "url": link.url,
                }
                for link in links
            ],
        }

    @property
    def usage(self) -> RoundUsage | None:
        """The tokens; None if the endpoint did not report those of each step."""
        counts = [*(usage for usage, _ in self._answers), *self._summaries]
        usages = [usage for usage in counts if usage is not None]
        if not usages or len(usages) < len(counts):
            return None
        return RoundUsage(
            prompt=sum(usage.prompt for usage in usages),
            generated=sum(usage.generated for usage in usages),
            cached=_total(usages, "cached"),
            reasoning=_total(usages, "reasoning"),
        )

    def _think(self, text: str, kind: str) -> Iterator[Piece]:
        separator = "\n\n" if self._last in ("reasoning", "text") and self._last != kind else ""
        self._last = kind
        yield ReasoningText(separator + text)

    def _notify(self, event: Notice | SummaryEnded) -> None:
        if isinstance(event, SummaryEnded) and event.usage is not None:
            self._summaries.append(None if event.estimated else event.usage)
        if len(self.notices) < _MAX_NOTICES:
            self.notices.append(remark(event))

    def _retry(self, event: Retrying) -> Iterator[Piece]:
        if self.answer:
            raise self._failure(_INTERRUPTED)
        self._last = "retry"
        yield ReasoningText(f"\n[{event.reason}]\n")

    def _end(self, event: RunEnded) -> Iterator[Piece]:
        self.status, self.reason, self.ended_at = event.status, event.reason, event.at
        if self.mode == "plain" or self.error is not None:
            return
        self.answer = shorten(event.answer, self.stop)
        if self.answer:
            yield AnswerText(self.answer)


def shorten(answer: str, stop: Sequence[str]) -> str:
    """Return an answer up to the first of the texts that end it."""
    ends = [position for text in stop if (position := answer.find(text)) >= 0]
    return answer[: min(ends)] if ends else answer


def _total(usages: Sequence[Usage], count: PartialCount) -> int | None:
    known = [usage.known(count) for usage in usages]
    return None if None in known else sum(each or 0 for each in known)
