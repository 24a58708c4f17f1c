"""The model interface: take a conversation, stream one turn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from agent.util.stop import Stop

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "other"]
ReasoningField = Literal["reasoning_content", "reasoning", "reasoning_text"]
ToolCallStyle = Literal["native", "text"]
ApiName = Literal["chat", "responses", "messages"]
API = Literal["auto", "chat", "responses", "messages"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Verbosity = Literal["low", "medium", "high"]
Images = Literal["auto", "on", "off"]
PartialCount = Literal["cached", "reasoning", "cache_written"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call by the model; ``arguments`` is the raw text, valid JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The system prompt."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that the model gets, stored without metadata in its run's outputs."""

    file: str  # name: SHA-256 of the bytes in hex, and ``.png`` or ``.jpg``
    media_type: str  # image/png or image/jpeg
    width: int  # pixels, as sent
    height: int
    size: int  # bytes, as sent
    source: str  # what it shows: "output/chart.png", "input/scan.pdf, page 37"
    tokens: int  # an estimate of what it takes in the model's context

    @property
    def description(self) -> str:
        """What it shows, and its size."""
        return f"{self.source} ({self.width} × {self.height} pixels)"


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """What pictures a model takes; ``family`` decides on how many tokens one takes."""

    family: str = ""
    side: int = 1568  # pixels of the longest side
    bytes: int = 1_000_000  # of one
    count: int = 16  # kept in the conversation
    tokens: int = 32_000  # of all kept


ReadPicture = Callable[[Picture], bytes]
"""Returns a picture's bytes; raises ``RunError`` if they are lost."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message from the user, or from the loop on the user's behalf."""

    text: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class OpaqueParts:
    """Signatures, encrypted reasoning and the like, given back unchanged to their family only.

    ``family`` is API, model family and endpoint, as ``messages/claude@anthropic``; ``parts`` are
    JSON in the form of the API's package, without the answer's texts and calls.
    """

    family: str
    parts: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """The model's answer in one turn; its reasoning goes back in the field in which it came."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning_field: ReasoningField = "reasoning_content"
    opaque: OpaqueParts | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call with id ``call_id``."""

    call_id: str
    name: str
    text: str
    pictures: tuple[Picture, ...] = ()


Message = SystemMessage | UserMessage | AssistantMessage | ToolResult


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """The description of a tool for the model; ``parameters`` is JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as in OpenAI's API."""
        values = {"name": self.name, "description": self.description}
        return {"type": "function", "function": values | {"parameters": dict(self.parameters)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """What a model sends to an endpoint, without the conversation, the key or the URL's query.

    Of the ``parameters``, those that the API writes from conversation and tools are None;
    ``left_out`` are requested settings that were not sent.
    """

    url: str
    has_query: bool = False
    has_key: bool = False
    public_only: bool = False
    parameters: Mapping[str, Any]
    sha256: str
    size: int
    tool_call_style: ToolCallStyle = "native"
    send_reasoning: bool = True
    message_changes: tuple[str, ...] = ()
    api: ApiName = "chat"
    family: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


class RequestRecorder(Protocol):
    """A recorder of one attempt's requests; thread-safe, and never raises."""

    def sent(self, request: SentRequest) -> None:
        """Record a request; called for each one that the attempt sends, before it is sent."""

    def responded(self, status: int, content_type: str) -> None:
        """Record that the last request is being answered."""

    def received(self, data: bytes) -> None:
        """Record a part of the response, without the key."""

    def withhold(self) -> None:
        """Record nothing of the response: it contained the key in parts."""


@dataclass(slots=True)
class EncodedMessages:
    """Encoded messages that the requests of a growing conversation repeat.

    ``how`` is what else their bytes depend on, ``head`` what precedes them in the last body, and
    ``digest`` the hash of both, None before the first request.
    """

    how: object = None
    messages: list[Message] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)
    head: bytes = b""
    digest: Any = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for one turn; only its first message may be a ``SystemMessage``.

    Without ``read_picture``, the model gets the descriptions of the pictures instead.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    max_tokens: int | None = None
    recorder: RequestRecorder | None = field(default=None, compare=False, repr=False)
    encoded: EncodedMessages | None = field(default=None, compare=False, repr=False)
    read_picture: ReadPicture | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts reported by the endpoint; ``generated`` includes the reasoning.

    ``reported`` names those of the last three that were reported, even as 0; the others are 0
    for unknown. Records of earlier versions name none.
    """

    prompt: int
    generated: int
    cached: int = 0
    reasoning: int = 0
    cache_written: int = 0
    reported: tuple[PartialCount, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, prompt: int, generated: int, **parts: int | None) -> "Usage":
        """Return counts of which some of the last three may not be reported: None."""
        counts = {name: parts.get(name) for name in get_args(PartialCount)}
        known = {name: count for name, count in counts.items() if count is not None}
        return cls(prompt, generated, **known, reported=tuple(known))

    def known(self, count: PartialCount) -> int | None:
        """Return a count, or None if the endpoint did not report it."""
        value: int = getattr(self, count)
        return value if value or count in self.reported else None


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A fragment of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """A fragment of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class TextWasReasoning:
    """The turn's text so far is reasoning: the tag that begins it was in the prompt."""


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A fragment of a tool call; only the first has ``id`` and ``name``, all share ``index``."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ModelNotice:
    """A notice for the user, such as that the request was adapted to the endpoint."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """A turn as token ids, so that training uses exactly the sampled tokens.

    After the turn, the run's sequence is its first ``kept`` ids, then ``read``, never trained on,
    then ``generated``. ``logprobs``, at the sampling temperature, are empty if they are not known.
    """

    kept: int
    read: tuple[int, ...]
    generated: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a turn; always the last piece."""

    reason: FinishReason
    usage: Usage | None = None
    tokens: TurnTokens | None = None
    reasoning_field: ReasoningField = "reasoning_content"
    opaque: OpaqueParts | None = None
    left_out: tuple[str, ...] = ()


Piece = TextPiece | ReasoningPiece | TextWasReasoning | CallPiece | ModelNotice | Finish


class Model(Protocol):
    """Anything that answers a conversation."""

    @property
    def name(self) -> str:
        """The display name, e.g. ``Qwen3-Coder-30B``."""

    @property
    def metered(self) -> bool:
        """Whether tokens are counted; False for scripted turns, which use none."""

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream one turn, ending in exactly one ``Finish``.

        After ``stop`` the iterator ends within a second, without a ``Finish``.

        Raises:
            ModelError: see ``agent.errors`` for the subclasses and what each means.
        """


@runtime_checkable
class SeeingModel(Protocol):
    """A model that may take pictures."""

    @property
    def picture_limits(self) -> PictureLimits | None:
        """What pictures it takes; None if it takes none."""


def picture_limits_of(model: Model) -> PictureLimits | None:
    """Return what pictures a model takes; None if it takes none."""
    return model.picture_limits if isinstance(model, SeeingModel) else None


@runtime_checkable
class Preloadable(Protocol):
    """A model that takes time to load."""

    def preload(self) -> None:
        """Begin to load in the background what the first turn needs, which reports failures."""


@dataclass(frozen=True)
class ModelConfig:
    """Endpoint and request options, from the settings, the page or the command line.

    Attributes:
        base_url: The endpoint's URL, ``…/v1``.
        model: The model's name at the endpoint.
        api_key: Kept in memory only; never shown by ``repr``.
        temperature: Sampling temperature; not sent if None.
        top_p: Nucleus sampling; not sent if None.
        max_tokens: Token budget of one answer; not sent if None.
        extra_body: Additional fields of the request body.
        tool_call_style: ``native`` for native tool calls, ``text`` to parse calls from the text.
        send_reasoning: Whether to send earlier reasoning back to the endpoint.
        read_timeout: Read timeout: seconds without a byte after which a stream counts as broken.
        public_only: Whether to connect only to the public internet; set if a user other than the
            operator entered the URL.
        api: How the endpoint is spoken to: Chat Completions, Responses or Messages; ``auto``
            chooses by address and model, and follows a refusal that names another one.
        effort: How much the model reasons; ``none`` switches reasoning off where that is possible.
            Not sent if None.
        thinking: Whether the model reasons before it answers; None for the endpoint's default.
        verbosity: How long the answers are; not sent if None.
        seed: Seed of the sampling; not sent if None.
        images: Whether the model gets pictures; ``auto`` decides by what is known of it.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    tool_call_style: ToolCallStyle = "native"
    send_reasoning: bool = True
    read_timeout: float = 120.0
    public_only: bool = False
    api: API = "auto"
    effort: Effort | None = None
    thinking: bool | None = None
    verbosity: Verbosity | None = None
    seed: int | None = None
    images: Images = "auto"
