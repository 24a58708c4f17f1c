"""A model driven by token ids: tokenizing its text again may not give the sampled ids."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent.errors import ContextTooLong, ModelRefused
from agent.models import chatml
from agent.models.base import (
    AssistantMessage,
    CallPiece,
    Finish,
    Message,
    ModelRequest,
    Piece,
    ReasoningPiece,
    TextPiece,
    TextWasReasoning,
    ToolCall,
    TurnTokens,
    Usage,
    UserMessage,
)
from agent.models.chatml import ControlToken, Part
from agent.models.parsing.content import ContentParser, ContentPiece
from agent.util.stop import Stop
from agent.util.text import common_prefix_length, plural, replace_surrogates

# With fewer tokens left, no useful answer is possible.
_MIN_ANSWER_TOKENS = 16


@dataclass(frozen=True, slots=True)
class SampledTokens:
    """Sampled tokens, log-probabilities at the temperature, and the text that they complete."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str


class Sampler(Protocol):
    """An inference engine over token ids; thread-safe if conversations share it."""

    @property
    def context(self) -> int:
        """The context length in tokens, including the answer."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a plain text; control tokens stay text, no start token is added."""

    def control_token_id(self, name: str) -> int:
        """Return the id of ``<|im_start|>`` or ``<|im_end|>``, or raise ``ModelRefused``."""

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[SampledTokens]:
        """Continue ``ids`` up to and including ``<|im_end|>``, or up to ``max_tokens``.

        Sampling ends within a second after ``stop``, and when the iterator is dropped. An answer
        that does not end in ``<|im_end|>`` counts as truncated.
        """


class TokenModel:
    """A ChatML model over a ``Sampler``, for one conversation at a time; encodes what is new."""

    metered = True

    def __init__(
        self,
        name: str,
        sampler: Sampler,
        *,
        max_tokens: int | None = None,
        describe_tools: bool = False,
    ) -> None:
        self.name = name
        self._sampler = sampler
        self._max_tokens = max_tokens
        self._describe_tools = describe_tools
        self._history = _TokenHistory(sampler)

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream one turn; see ``Model.stream``."""
        if not stop.is_set:
            yield from self._stream_turn(request, stop)

    def _stream_turn(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        messages = request.messages
        if self._describe_tools:
            messages = chatml.with_tool_descriptions(messages, request.tools)
        kept, read = self._history.encode_request(messages)
        ids = [*self._history.ids[:kept], *read]
        budget = self._max_answer_tokens(request, len(ids))
        answer, reader = _AnswerBuilder(), ContentParser(described=True)
        for sampled in self._sampler.sample(ids, budget, stop):
            answer.add_tokens(sampled)
            yield from answer.record(reader.feed(replace_surrogates(sampled.text)))
            if stop.is_set:
                return
        if stop.is_set:
            return
        yield from answer.record(reader.flush())
        tokens = TurnTokens(kept, tuple(read), tuple(answer.ids), tuple(answer.logprobs))
        usage = Usage.of(len(ids), len(answer.ids), cached=kept)
        yield Finish(self._finish_reason(answer), usage, tokens)
        # After the last yield: a caller that abandoned the stream did not take the answer.
        self._history.store(messages, [*ids, *answer.ids], answer.message())

    def _max_answer_tokens(self, request: ModelRequest, used: int) -> int:
        context = self._sampler.context
        room = context - used
        if room < _MIN_ANSWER_TOKENS:
            tokens = plural(used, "token")
            message = f"The conversation has {tokens}; the model's context has {context:,}."
            raise ContextTooLong(message, context, used)
        requested = request.max_tokens if request.max_tokens is not None else self._max_tokens
        return room if requested is None else min(requested, room)

    def _finish_reason(self, answer: "_AnswerBuilder") -> Literal["stop", "tool_calls", "length"]:
        if answer.ids[-1:] != [self._sampler.control_token_id(chatml.END_TOKEN.name)]:
            return "length"
        return "tool_calls" if answer.calls else "stop"


@dataclass
class _AnswerBuilder:
    """An answer being received: its ids and the pieces parsed from its text."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    calls: dict[int, ToolCall] = field(default_factory=dict)

    def add_tokens(self, sampled: SampledTokens) -> None:
        """Add sampled tokens. Raise ``ModelRefused`` if a log-probability is not finite."""
        if len(sampled.ids) != len(sampled.logprobs) or not all(
            map(math.isfinite, sampled.logprobs)
        ):
            raise ModelRefused("The model's probabilities are not finite: its weights are damaged.")
        self.ids += sampled.ids
        self.logprobs += sampled.logprobs

    def record(self, pieces: Iterable[ContentPiece]) -> Iterator[ContentPiece]:
        """Record the pieces and yield them."""
        for piece in pieces:
            match piece:
                case TextPiece(text):
                    self.text += text
                case ReasoningPiece(text):
                    self.reasoning += text
                case TextWasReasoning():
                    self.text, self.reasoning = "", self.text + self.reasoning
                case CallPiece():
                    self._add_call(piece)
            yield piece

    def _add_call(self, piece: CallPiece) -> None:
        old = self.calls.get(piece.index, ToolCall("", "", ""))
        arguments = old.arguments + piece.arguments
        self.calls[piece.index] = ToolCall("", old.name + piece.name, arguments)

    def message(self) -> AssistantMessage:
        """Return the answer as it will be in the conversation, except for the call ids."""
        return AssistantMessage(self.text, self.reasoning, tuple(self.calls.values()))


class _TokenHistory:
    """The conversation so far, as ids and as the messages that they encode."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._messages: tuple[Message, ...] = ()
        self._answer = AssistantMessage("")
        self.ids: list[int] = []

    def store(self, messages: Sequence[Message], ids: list[int], answer: AssistantMessage) -> None:
        """Store the messages of a request and its answer, and the ids of both."""
        self._messages, self._answer, self.ids = tuple(messages), answer, ids

    def encode_request(self, messages: Sequence[Message]) -> tuple[int, list[int]]:
        """Return how many stored ids are a prefix of the request, and its remaining ids."""
        new = self._new_messages(messages)
        if new is not None:
            return len(self.ids), self._encode(
                [*self._answer_end_parts(), *chatml.prompt_parts(new)]
            )
        complete = self._encode(chatml.prompt_parts(messages))
        kept = common_prefix_length(self.ids, complete)
        return kept, complete[kept:]

    def _new_messages(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """Return the messages after the last answer; None if it is not continued."""
        known = len(self._messages)
        if not known or tuple(messages[: known - 1]) != self._messages[:-1]:
            return None
        answer, following = self._answer, messages[known:]
        appended = _appended_user_text(self._messages[-1], messages[known - 1])
        if appended is None:
            return None
        if following and not appended and _is_same_answer(following[0], answer):
            return following[1:]
        # Conversations omit an empty answer and merge the user messages around it.
        silent = not answer.text and not answer.calls
        return [*appended, *following] if silent and (appended or following) else None

    def _answer_end_parts(self) -> Iterator[Part]:
        if self.ids[-1] != self._sampler.control_token_id(chatml.END_TOKEN.name):
            yield chatml.END_TOKEN
        yield chatml.MESSAGE_SEPARATOR

    def _encode(self, parts: Iterable[Part]) -> list[int]:
        return encode_parts(parts, self._sampler)


def encode_parts(parts: Iterable[Part], sampler: Sampler) -> list[int]:
    """Return the ids of a conversation's parts, each encoded separately."""
    ids: list[int] = []
    for part in parts:
        if isinstance(part, ControlToken):
            ids.append(sampler.control_token_id(part.name))
        elif part:
            ids += sampler.encode(replace_surrogates(part))
    return ids


def _appended_user_text(before: Message, now: Message) -> Sequence[Message] | None:
    """Return the user text appended to a message since; None if the message differs."""
    if now == before:
        return ()
    both = isinstance(before, UserMessage) and isinstance(now, UserMessage)
    if both and now.text.startswith(f"{before.text}\n\n"):
        return (UserMessage(now.text[len(before.text) + 2 :]),)
    return None


def _is_same_answer(message: Message, answer: AssistantMessage) -> bool:
    """Return whether a message equals an answer, ignoring call ids."""
    return isinstance(message, AssistantMessage) and _comparable_texts(
        message
    ) == _comparable_texts(answer)


def _comparable_texts(answer: AssistantMessage) -> tuple[str, ...]:
    """Return an answer's texts for comparison, with lone surrogates as ``?``."""
    calls = (each for call in answer.calls for each in (call.name, call.arguments))
    texts = (answer.text, answer.reasoning, *calls)
    return tuple(text.encode("utf-8", "replace").decode() for text in texts)
