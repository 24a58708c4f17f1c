"""A model driven by token ids, so that its output is never tokenized again.

Tokenizing a generated text does not always give the ids that were sampled. For training on the
answers, and for reuse of an engine's prompt cache, the conversation must continue with exactly
the sampled ids: ``TokenModel`` stores them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent.errors import ContextTooLong, ModelRefused
from agent.models.base import (
    Assistant,
    CallPiece,
    Finish,
    Message,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
    Tokens,
    ToolCall,
    Usage,
    User,
)
from agent.models.openai.request import clean
from agent.models.parsing.content import Spoken, SpokenReader
from agent.models.tokens import chatml
from agent.models.tokens.chatml import Control, Part
from agent.util.cancellation import Stop

# With fewer tokens left, no useful answer is possible.
_SMALLEST_ANSWER = 16


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled tokens of an answer.

    Attributes:
        ids: The token ids.
        logprobs: The log-probability of each token, at the sampling temperature.
        text: The text that they add to the answer. The end-of-turn token adds none; the bytes
            of an incomplete character are added by the tokens that complete it.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str


class Sampler(Protocol):
    """An inference engine over token ids; thread-safe if conversations share it."""

    @property
    def context(self) -> int:
        """The context length in tokens, including the answer."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a plain text.

        Text that looks like a control token stays text, and no start token is added.
        """

    def control(self, name: str) -> int:
        """Return the id of a control token, ``<|im_start|>`` or ``<|im_end|>``.

        Raises:
            ModelRefused: the model has no such token.
        """

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[Sampled]:
        """Continue ``ids`` up to and including ``<|im_end|>``, or up to ``max_tokens``.

        Sampling ends within a second after ``stop``, and when the iterator is dropped. An
        answer that does not end in ``<|im_end|>`` counts as truncated.

        Raises:
            ModelError: see ``agent.errors``.
        """


class TokenModel:
    """A ChatML model over a ``Sampler``, for one conversation at a time.

    If a request continues from the last answer, only its new messages are encoded and appended.
    Any other request (older messages were replaced, or the conversation is new) is encoded
    completely, and ``Tokens.kept`` is the length of the prefix that did not change.

    Args:
        name: The display name.
        sampler: The inference engine.
        max_tokens: Token budget of an answer if the request sets none; None for the rest of
            the context.
        describe: Whether to describe the tools in the prompt, which takes about 900 tokens;
            unnecessary for a model trained with these tools.
    """

    def __init__(
        self,
        name: str,
        sampler: Sampler,
        *,
        max_tokens: int | None = None,
        describe: bool = False,
    ) -> None:
        self._name = name
        self._sampler = sampler
        self._max_tokens = max_tokens
        self._describe = describe
        self._past = _Past(sampler)

    @property
    def name(self) -> str:
        """The display name, as given."""
        return self._name

    @property
    def metered(self) -> bool:
        """Whether tokens are counted: always."""
        return True

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream one turn; see ``Model.stream``."""
        if not stop.is_set:
            yield from self._turn(request, stop)

    def _turn(self, request: Request, stop: Stop) -> Iterator[Piece]:
        messages = request.messages
        if self._describe:
            messages = chatml.described(messages, request.tools)
        kept, read = self._past.prompt(messages)
        ids = [*self._past.ids[:kept], *read]
        budget = self._budget(request, len(ids))
        answer, reader = _Answer(), SpokenReader(calls=True)
        for sampled in self._sampler.sample(ids, budget, stop):
            answer.take(sampled)
            yield from answer.heard(reader.feed(clean(sampled.text)))
            if stop.is_set:
                return
        if stop.is_set:
            return
        yield from answer.heard(reader.flush())
        tokens = Tokens(kept, tuple(read), tuple(answer.ids), tuple(answer.logprobs))
        usage = Usage(len(ids), len(answer.ids), cached=kept)
        yield Finish(self._reason(answer), usage, tokens)
        # After the last yield: a caller that abandoned the stream did not take the answer.
        self._past.keep(messages, [*ids, *answer.ids], answer.message())

    def _budget(self, request: Request, used: int) -> int:
        context = self._sampler.context
        room = context - used
        if room < _SMALLEST_ANSWER:
            told = f"The conversation has {used} tokens; the model takes {context}."
            raise ContextTooLong(told, context, used)
        wanted = request.max_tokens if request.max_tokens is not None else self._max_tokens
        return room if wanted is None else min(wanted, room)

    def _reason(self, answer: "_Answer") -> Literal["stop", "tool_calls", "length"]:
        if answer.ids[-1:] != [self._sampler.control(chatml.END.name)]:
            return "length"
        return "tool_calls" if answer.calls else "stop"


@dataclass
class _Answer:
    """An answer being received: its ids and the pieces parsed from its text."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    calls: dict[int, ToolCall] = field(default_factory=dict)

    def take(self, sampled: Sampled) -> None:
        """Add sampled tokens. Raise ``ModelRefused`` if a log-probability is not finite."""
        if len(sampled.ids) != len(sampled.logprobs) or not all(
            map(math.isfinite, sampled.logprobs)
        ):
            raise ModelRefused("The model's probabilities are no numbers: its weights are broken.")
        self.ids += sampled.ids
        self.logprobs += sampled.logprobs

    def heard(self, pieces: Iterable[Spoken]) -> Iterator[Spoken]:
        """Record the pieces and yield them."""
        for piece in pieces:
            match piece:
                case TextPiece(text):
                    self.text += text
                case ReasoningPiece(text):
                    self.reasoning += text
                case CallPiece():
                    self._add_call(piece)
            yield piece

    def _add_call(self, piece: CallPiece) -> None:
        old = self.calls.get(piece.index, ToolCall("", "", ""))
        arguments = old.arguments + piece.arguments
        self.calls[piece.index] = ToolCall("", old.name + piece.name, arguments)

    def message(self) -> Assistant:
        """Return the answer as it will be in the conversation, except for the call ids."""
        return Assistant(self.text, self.reasoning, tuple(self.calls.values()))


class _Past:
    """The conversation so far, as ids and as the messages that they encode."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._messages: tuple[Message, ...] = ()
        self._answer = Assistant("")
        self.ids: list[int] = []

    def keep(self, messages: Sequence[Message], ids: list[int], answer: Assistant) -> None:
        """Store the messages of a request and its answer, and the ids of both."""
        self._messages, self._answer, self.ids = tuple(messages), answer, ids

    def prompt(self, messages: Sequence[Message]) -> tuple[int, list[int]]:
        """Return how many stored ids are a prefix of the request, and its remaining ids."""
        new = self._new(messages)
        if new is not None:
            return len(self.ids), self._encoded([*self._rest_of_answer(), *chatml.prompt(new)])
        whole = self._encoded(chatml.prompt(messages))
        kept = _common(self.ids, whole)
        return kept, whole[kept:]

    def _new(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """Return the messages after the last answer; None if it is not continued."""
        known = len(self._messages)
        if not known or tuple(messages[: known - 1]) != self._messages[:-1]:
            return None
        answer, follows = self._answer, messages[known:]
        asked = _said_since(self._messages[-1], messages[known - 1])
        if asked is None:
            return None
        if follows and not asked and _same(follows[0], answer):
            return follows[1:]
        # Conversations omit an empty answer and merge the user messages around it.
        silent = not answer.text and not answer.calls
        return [*asked, *follows] if silent and (asked or follows) else None

    def _rest_of_answer(self) -> Iterator[Part]:
        if self.ids[-1] != self._sampler.control(chatml.END.name):
            yield chatml.END
        yield chatml.AFTER_END

    def _encoded(self, parts: Iterable[Part]) -> list[int]:
        return encoded(parts, self._sampler)


def encoded(parts: Iterable[Part], sampler: Sampler) -> list[int]:
    """Return the ids of a conversation's parts, each encoded separately."""
    ids: list[int] = []
    for part in parts:
        if isinstance(part, Control):
            ids.append(sampler.control(part.name))
        elif part:
            ids += sampler.encode(clean(part))
    return ids


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _said_since(before: Message, now: Message) -> Sequence[Message] | None:
    """Return the user text appended to a message since; None if the message differs."""
    if now == before:
        return ()
    both = isinstance(before, User) and isinstance(now, User)
    if both and now.text.startswith(f"{before.text}\n\n"):
        return (User(now.text[len(before.text) + 2 :]),)
    return None


def _same(message: Message, answer: Assistant) -> bool:
    """Return whether a message equals an answer, ignoring call ids."""
    return isinstance(message, Assistant) and _bare(message) == _bare(answer)


def _bare(answer: Assistant) -> tuple[str, ...]:
    """Return the compared texts of an answer, with lone surrogates replaced by ``?``.

    A lone surrogate in a call's JSON arrives as ``?`` in the conversation.
    """
    calls = (each for call in answer.calls for each in (call.name, call.arguments))
    said = (answer.text, answer.reasoning, *calls)
    return tuple(text.encode("utf-8", "replace").decode() for text in said)
