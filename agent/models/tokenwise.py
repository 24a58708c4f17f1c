"""A model that is spoken to in token ids, so that nothing it wrote is ever tokenised again.

Ids that a model generated and ids of the same text differ now and then. Where answers are
trained on, and where what was read before is kept (the cache of an engine), the conversation
has to go on with the very ids that were sampled: ``TokenModel`` remembers them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent.errors import ContextTooLong, ModelRefused
from agent.models import chatml
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
from agent.models.chatml import Control, Part
from agent.models.spoken import Spoken, SpokenReader
from agent.models.wire import clean
from agent.stop import Stop

# Fewer tokens than this are no answer.
_SMALLEST_ANSWER = 16


@dataclass(frozen=True, slots=True)
class Sampled:
    """Some tokens of an answer, as they were sampled.

    Attributes:
        ids: Their ids.
        logprobs: The log-probability of each, at the temperature of sampling.
        text: What they add to the answer's text. The token that ends the turn adds nothing; the
            bytes of a character that is not whole yet come with the piece that completes it.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str


class Sampler(Protocol):
    """An engine that continues ids. Where several conversations share it, safe for threads."""

    @property
    def context(self) -> int:
        """How many ids it takes at most, those of the answer included."""

    def encode(self, text: str) -> list[int]:
        """The ids of a plain text.

        What looks like a control token is text all the same, and nothing is put in front.
        """

    def control(self, name: str) -> int:
        """The id of a control token, ``<|im_start|>`` or ``<|im_end|>``.

        Raises:
            ModelRefused: the model has no such token.
        """

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[Sampled]:
        """Continue ``ids``, up to ``<|im_end|>`` (its id is the last one) or ``max_tokens``.

        It ends within a second after ``stop``, and when its iterator is dropped. An answer
        that does not end in ``<|im_end|>`` counts as cut.

        Raises:
            ModelError: see ``agent.errors``.
        """


class TokenModel:
    """A model over a ``Sampler``, in ChatML; one conversation at a time.

    A request that goes on from the last answer adds only its new messages to the ids. Any other
    (older messages were replaced, the conversation is a new one) is written anew, and its
    ``Tokens.kept`` says how much of what stood there still does.

    Args:
        name: The name that a person sees.
        sampler: The engine.
        max_tokens: Budget of an answer where the request sets none; None for what fits.
        describe: Whether it is told of its tools, which takes some 900 tokens; one that was
            trained on them knows them.
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
        """As given."""
        return self._name

    @property
    def metered(self) -> bool:
        """Tokens count."""
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
        # Only now: whoever was out of time at the end has not taken the answer.
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
    """One answer as it comes: its ids, and what was said with them."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    calls: dict[int, ToolCall] = field(default_factory=dict)

    def take(self, sampled: Sampled) -> None:
        """Add ids; those that no model of sane weights samples are refused."""
        if len(sampled.ids) != len(sampled.logprobs) or not all(
            map(math.isfinite, sampled.logprobs)
        ):
            raise ModelRefused("The model's probabilities are no numbers: its weights are broken.")
        self.ids += sampled.ids
        self.logprobs += sampled.logprobs

    def heard(self, pieces: Iterable[Spoken]) -> Iterator[Spoken]:
        """The pieces, noted as they pass."""
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
        """The answer as the conversation will hold it, but for the calls' ids."""
        return Assistant(self.text, self.reasoning, tuple(self.calls.values()))


class _Past:
    """The conversation as ids, and the messages that they stand for."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._messages: tuple[Message, ...] = ()
        self._answer = Assistant("")
        self.ids: list[int] = []

    def keep(self, messages: Sequence[Message], ids: list[int], answer: Assistant) -> None:
        """The conversation stands so: it was asked this, and answered."""
        self._messages, self._answer, self.ids = tuple(messages), answer, ids

    def prompt(self, messages: Sequence[Message]) -> tuple[int, list[int]]:
        """How many of the ids stand in front of a request, and the ids that follow them."""
        new = self._new(messages)
        if new is not None:
            return len(self.ids), self._encoded([*self._rest_of_answer(), *chatml.prompt(new)])
        whole = self._encoded(chatml.prompt(messages))
        kept = _common(self.ids, whole)
        return kept, whole[kept:]

    def _new(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """The messages after the last answer; None where the request does not go on from it."""
        known = len(self._messages)
        if not known or tuple(messages[: known - 1]) != self._messages[:-1]:
            return None
        answer, follows = self._answer, messages[known:]
        asked = _said_since(self._messages[-1], messages[known - 1])
        if asked is None:
            return None
        if follows and not asked and _same(follows[0], answer):
            return follows[1:]
        # Conversations leave an answer out that says nothing, and join what was said around it.
        silent = not answer.text and not answer.calls
        return [*asked, *follows] if silent and (asked or follows) else None

    def _rest_of_answer(self) -> Iterator[Part]:
        if self.ids[-1] != self._sampler.control(chatml.END.name):
            yield chatml.END
        yield chatml.AFTER_END

    def _encoded(self, parts: Iterable[Part]) -> list[int]:
        return encoded(parts, self._sampler)


def encoded(parts: Iterable[Part], sampler: Sampler) -> list[int]:
    """The ids of a conversation's parts, each part encoded for itself."""
    ids: list[int] = []
    for part in parts:
        if isinstance(part, Control):
            ids.append(sampler.control(part.name))
        elif part:
            ids += sampler.encode(clean(part))
    return ids


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How long the beginning is that both have."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _said_since(before: Message, now: Message) -> Sequence[Message] | None:
    """What a person said after a message, now in one with it; None where it is another one."""
    if now == before:
        return ()
    both = isinstance(before, User) and isinstance(now, User)
    if both and now.text.startswith(f"{before.text}\n\n"):
        return (User(now.text[len(before.text) + 2 :]),)
    return None


def _same(message: Message, answer: Assistant) -> bool:
    """Whether a message is an answer; its calls may have been given other ids."""
    return isinstance(message, Assistant) and _bare(message) == _bare(answer)


def _bare(answer: Assistant) -> tuple[str, ...]:
    """What is compared of an answer. Half a character in a call's JSON becomes ``?`` on its way."""
    calls = (each for call in answer.calls for each in (call.name, call.arguments))
    said = (answer.text, answer.reasoning, *calls)
    return tuple(text.encode("utf-8", "replace").decode() for text in said)
