"""A summary of older steps by the same model, which frees space in its context."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from agent.errors import ModelError
from agent.events import (
    CallDelta,
    Event,
    ModelAnswered,
    ReasoningDelta,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
)
from agent.limits import Limits
from agent.loop.conversation import Conversation, OlderSteps, estimate_messages
from agent.loop.meter import UsageMeter, estimate_tokens
from agent.loop.turn import Recording, TurnRunner, TurnTimeout
from agent.models.base import Model, ToolSchema
from agent.util.stop import Stop

INSTRUCTION = (
    "The context is nearly full. Your next message will replace all messages above except the "
    "task, so that the work can go on. Write a summary from which someone who has only the task "
    "and the summary can continue: what was done and found; decisions and their reasons; exact "
    "file paths, names, numbers, commands and error messages that are still needed; the state of "
    "the files; what remains to be done. Answer with the text of the summary only. Do not call a "
    "tool."
)
_REPLACEMENT = (
    "[To free space in the context, {steps} replaced by your summary:]\n\n{summary}\n\n"
    "[End of the summary.{user_texts}]"
)
_USER_TEXTS = (
    " What the user said in these steps, in full:\n\n{texts}\n\nEnd of what the user said."
)

CALLED_A_TOOL = "the model called a tool instead of writing it"
CUT_OFF = "it was cut off at the token limit of an answer"
EMPTY = "the model wrote no text"
TOO_LONG = "it is not shorter than the steps"
STOPPED = "the run was stopped"
OUT_OF_TIME = "the time limit was reached"


class Summariser:
    """Summarises older steps until that fails once; the caller applies each event it yields."""

    def __init__(
        self,
        model: Model,
        conversation: Conversation,
        tools: Sequence[ToolSchema],
        limits: Limits,
        stop: Stop,
        recording: Recording | None,
        meter: UsageMeter,
    ) -> None:
        self._conversation = conversation
        self._stop = stop
        self._meter = meter
        # Cleared observations would not shorten what is summarised.
        self._turn = TurnRunner(
            model, conversation, tools, limits, stop, recording, clears_observations=False
        )
        self._enabled = limits.summarise

    @property
    def is_due(self) -> bool:
        """Whether the context is nearly full and there are steps to summarise."""
        return (
            self._enabled
            and self._meter.needs_summary
            and self._conversation.older_steps() is not None
        )

    def summarise(self, step: int, seconds: float | None) -> Generator[Event, None, bool]:
        """Replace older steps by a summary; return whether any were.

        ``seconds`` is a wall time limit, whose end raises ``TurnTimeout``.
        """
        older = self._conversation.older_steps() if self._enabled else None
        if older is None:
            return False
        replaced = self._replaced_tokens(older)
        yield SummaryStarted(
            step=step, first_step=older.first_step, last_step=older.last_step,
            instruction=INSTRUCTION,
        )  # fmt: skip
        try:
            written = yield from self._write(step, seconds)
        except TurnTimeout:
            yield self._ended(step, older, _Written(problem=OUT_OF_TIME), replaced)
            raise
        ended = self._ended(step, older, written, replaced)
        self._enabled = not ended.reason
        yield ended
        return not ended.reason

    def _write(self, step: int, seconds: float | None) -> Generator[Event, None, "_Written"]:
        try:
            for event in self._turn.run(step, seconds):
                if isinstance(event, ModelAnswered):
                    return _Written(event)
                if not isinstance(event, TextDelta | ReasoningDelta | CallDelta):
                    yield event
        except ModelError as error:
            return _Written(problem=str(error))
        return _Written(problem=STOPPED)

    def _replaced_tokens(self, older: OlderSteps) -> int:
        """Return the tokens of the steps: their share of what the endpoint has counted."""
        total = estimate_messages(self._conversation.messages)
        known = self._meter.context_tokens or total
        return round(older.tokens * known / max(1, total))

    def _ended(
        self, step: int, older: OlderSteps, written: "_Written", replaced: int
    ) -> SummaryEnded:
        """Return the event of a summary, counted, or of the reason why there is none."""
        text, problem, answer = "", written.problem, written.answer
        if answer is not None:
            problem = _problem_of(answer)
            text = "" if problem else _replacement(older, answer.text)
        tokens = estimate_tokens(text)
        if text and tokens >= min(older.tokens, replaced):
            text, problem, tokens = "", TOO_LONG, 0
        ended = SummaryEnded(
            step=step, first_step=older.first_step, last_step=older.last_step, text=text,
            reason=problem, usage=answer.usage if answer else None,
            estimated=answer.estimated if answer else False,
            seconds=answer.seconds if answer else 0.0,
            replaced_tokens=replaced if text else 0, summary_tokens=tokens,
        )  # fmt: skip
        self._meter.count_summary(
            ended.usage, estimated=ended.estimated, seconds=ended.seconds,
            freed_tokens=ended.replaced_tokens - ended.summary_tokens,
        )  # fmt: skip
        return ended


@dataclass(frozen=True, slots=True)
class _Written:
    """The model's answer, or why there is none."""

    answer: ModelAnswered | None = None
    problem: str = ""


def _problem_of(answer: ModelAnswered) -> str:
    if answer.calls:
        return CALLED_A_TOOL
    if answer.finish == "length":
        return CUT_OFF
    return "" if answer.text.strip() else EMPTY


def _replacement(older: OlderSteps, summary: str) -> str:
    """Return what the model sees in place of the steps."""
    steps = f"steps {older.first_step} to {older.last_step} were"
    texts = "\n\n".join(older.user_texts)
    return _REPLACEMENT.format(
        steps=steps, summary=summary.strip(),
        user_texts=_USER_TEXTS.format(texts=texts) if texts else "",
    )  # fmt: skip
