"""What a model is to the loop: it is given a conversation and streams one turn.

Every implementation passes ``tests/contract/model_suite.py``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent.stop import Stop

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "other"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it. ``arguments`` is the raw text, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class System:
    """The system prompt."""

    text: str


@dataclass(frozen=True, slots=True)
class User:
    """What a person, or the loop in a person's place, says."""

    text: str


@dataclass(frozen=True, slots=True)
class Assistant:
    """What the model said in one turn."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one tool call, by its id."""

    call_id: str
    name: str
    text: str


Message = System | User | Assistant | ToolResult


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as it is described to the model; ``parameters`` is JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One turn asked of a model. ``max_tokens`` is sent only where it is set."""

    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them: the whole prompt, its cached part, the answer."""

    prompt: int
    generated: int
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A fragment of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """A fragment of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A fragment of a tool call; ``id`` and ``name`` come with its first fragment.

    Fragments of one call share ``index``. An id that the model left out is made up by the
    adapter, so that every call can be answered.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Adapted:
    """The request was changed once to what the endpoint takes; a sentence for the person."""

    text: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """A turn as token ids, so that what is trained on is what was sampled.

    A run's sequence after the turn is its first ``kept`` ids, then ``read``, then ``generated``.

    Attributes:
        kept: Ids of the run's sequence so far that still stand in front: all of them, unless
            the conversation was cut.
        read: Ids after those and before the answer. The environment's, never trained on.
        generated: The answer's ids as they were sampled, the one that ends the turn included.
        logprobs: The log-probability of each generated id, at the temperature of sampling.
    """

    kept: int
    read: tuple[int, ...]
    generated: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a turn; always the last piece.

    Attributes:
        reason: Why it ended.
        usage: The turn's tokens as they were counted, where they were.
        tokens: The turn's ids, where the model works with them (``agent.models.tokenwise``).
    """

    reason: FinishReason
    usage: Usage | None = None
    tokens: Tokens | None = None


Piece = TextPiece | ReasoningPiece | CallPiece | Adapted | Finish


class Model(Protocol):
    """Anything that answers a conversation."""

    @property
    def name(self) -> str:
        """The name that a person sees, e.g. ``Qwen3-Coder-30B``."""

    @property
    def metered(self) -> bool:
        """Whether tokens are counted (False for scripted turns, which use none)."""

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream one turn, ending in exactly one ``Finish``.

        After ``stop`` the iterator ends within a second, without a ``Finish``.

        Raises:
            ModelError: see ``agent.errors`` for the branches and what each means.
        """


@dataclass(frozen=True)
class ModelConfig:
    """Which endpoint and how; made by settings, the page or the command line.

    Attributes:
        base_url: The endpoint, ``…/v1``.
        model: The model's name there.
        api_key: Kept in memory only; never shown by ``repr``.
        temperature: Sampling temperature; not sent where None.
        top_p: Nucleus sampling; not sent where None.
        max_tokens: Budget of one answer; not sent where None.
        extra_body: Further fields of the request's body.
        calls: ``native`` tool calls, or read from the ``text`` (``agent.models.text_calls``).
        send_reasoning: Whether earlier reasoning is sent back to the endpoint.
        silence: Seconds without a byte after which a stream counts as broken.
        public: Whether only the public internet may be reached: somebody entered the address
            who is not the operator.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    calls: Literal["native", "text"] = "native"
    send_reasoning: bool = True
    silence: float = 120.0
    public: bool = False
