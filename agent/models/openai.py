"""Any OpenAI-compatible chat endpoint, streamed, through the ``openai`` package.

Of the environment only the network's own variables count (proxies, ``SSL_CERT_FILE``),
and those not for this machine's own addresses. Redirects are never followed: a key, and a
conversation, go to the address that was entered and nowhere else.
"""

import asyncio
import concurrent.futures
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cache
from typing import cast

import httpx2
from openai import APIConnectionError, APIError, APIStatusError, AsyncOpenAI, AsyncStream, Omit

from agent.channel import Channel
from agent.errors import ModelRefused, ModelUnavailable
from agent.models import background
from agent.models.adapting import Adaptation
from agent.models.address import Address, read_address
from agent.models.answer import AnswerReader
from agent.models.base import Adapted, ModelConfig, Piece, Request
from agent.models.faults import Endpoint, Failure, error_of, failure_inside, not_an_answer
from agent.models.merging import joined, same_kind
from agent.models.public import PublicTransport, refuse_private
from agent.models.unreachable import CONNECT_SECONDS, unreachable
from agent.models.wire import Body, request_body
from agent.models.withholding import Withholder
from agent.stop import Stop

# Seconds for the usage after an answer's end, and then for the stream's own end, which
# lets the connection be used again; some servers never close.
_FOR_USAGE, _FOR_CLOSE = 5.0, 0.25
# Pieces that a slow reader may be behind before the endpoint is read more slowly.
_AHEAD = 10_000
_IDLE_CONNECTIONS = 16
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    What the endpoint turns out not to take is left out or renamed, told once by an
    ``Adapted`` piece and remembered by this object. Nothing is retried. Text, reasoning
    and arguments that come within 25 ms are one piece.

    Args:
        config: Which endpoint and how.

    Raises:
        ModelRefused: the address or the key can't be used.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = replace(config, api_key=config.api_key.strip())
        self._connection = _Connection(self._config)
        self._adaptation = Adaptation()

    @property
    def name(self) -> str:
        """The model's name at its endpoint."""
        return self._config.model

    @property
    def metered(self) -> bool:
        """Tokens count."""
        return True

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream one turn; see ``Model.stream``."""
        if stop.is_set:
            return
        channel = Channel(same_kind, joined)
        turn = background.start(self._turn(request, channel))
        turn.add_done_callback(lambda done: channel.close(_error(done)))
        try:
            with stop.calling(channel.abandon):
                yield from channel
        finally:
            channel.abandon()
            turn.cancel()

    async def _turn(self, request: Request, channel: Channel[Piece]) -> None:
        """Ask until the endpoint takes the request; each refusal must teach something."""
        wanted = request_body(self._config, request)
        while True:
            body = self._adaptation.apply(wanted)
            failure = await self._ask(body, channel)
            if failure is None:
                return
            change = self._adaptation.learn(failure, body)
            if not change:
                raise error_of(failure, self._connection.endpoint)
            channel.put(Adapted(change))

    async def _ask(self, body: Body, channel: Channel[Piece]) -> Failure | None:
        """Stream the answer into ``channel``; return what the endpoint said against it."""
        answer = AnswerReader(text_calls=self._config.calls == "text")
        keyless = Withholder(self._config.api_key)
        try:
            async with asyncio.timeout(None) as patience, self._connection.post(body) as chunks:
                async for chunk in chunks:
                    for piece in keyless.through(answer.feed(chunk)):
                        channel.put(piece)
                    patience.reschedule(_until(answer))
                    while len(channel) > _AHEAD:
                        await asyncio.sleep(0.01)
        except _Refusal as refusal:
            return refusal.failure
        except (ModelUnavailable, TimeoutError):
            if not answer.finished:
                raise
        for piece in keyless.through(self._ended(answer)):
            channel.put(piece)
        return None

    def _ended(self, answer: AnswerReader) -> Iterator[Piece]:
        where = self._connection.endpoint.where
        if answer.broken:
            raise ModelUnavailable(f"The endpoint {where} ended the answer: “{answer.broken}”.")
        if not answer.finished:
            raise ModelUnavailable(f"The endpoint {where} broke the answer off before its end.")
        return answer.end()


def _until(answer: AnswerReader) -> float | None:
    """When, by the loop's clock, a stream needs no longer be read; None for no end in sight."""
    if not answer.finished:
        return None
    wait = _FOR_CLOSE if answer.usage else _FOR_USAGE
    return asyncio.get_running_loop().time() + wait


def _error(turn: "concurrent.futures.Future[None]") -> BaseException | None:
    return None if turn.cancelled() else turn.exception()


async def fetch_models(config: ModelConfig) -> object:
    """What an endpoint answers to ``/models``, as JSON of any shape.

    Raises:
        ModelError: it did not.
    """
    connection = _Connection(config)
    try:
        return await connection.get("/models")
    except _Refusal as refusal:
        failure = refusal.failure
    raise error_of(failure, connection.endpoint)


class _Refusal(Exception):
    """The endpoint said something against the request, before an answer or inside it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class _Client(AsyncOpenAI):
    """A client that sends the headers it needs, and a key only where there is one.

    The package would add organisation, project and custom headers of the environment, and
    particulars of the machine.
    """

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        return {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "User-Agent": "llm-in-sandbox-studio",
            "Authorization": f"Bearer {self.api_key}" if self.api_key else Omit(),
        }

    def _validate_headers(self, headers: object, custom_headers: object) -> None:
        """Let requests without a key pass: many endpoints ask for none."""


class _Connection:
    """One endpoint: requests to it, with every failure told apart.

    The package's typed layer is left aside: it lets any shape pass as any type, and what
    servers send is checked where it is read.
    """

    def __init__(self, config: ModelConfig) -> None:
        address = read_address(config.base_url)
        self._silence = config.silence
        self.endpoint = Endpoint(address.shown, config.model, config.api_key)
        self._client = _client(address, config)

    @asynccontextmanager
    async def post(self, body: Body) -> AsyncIterator[AsyncIterator[object]]:
        """The chunks that answer a chat request; the response is closed at the end.

        Raises:
            _Refusal: the endpoint answered with an error.
            ModelError: it is unreachable, or answered with something else.
        """
        with _told_apart(self.endpoint, self._silence):
            stream = await self._client.post(
                "/chat/completions",
                cast_to=object,
                body=body,
                stream=True,
                stream_cls=AsyncStream[object],
            )
            async with stream, aclosing(self._chunks(stream)) as chunks:
                yield chunks

    async def get(self, path: str) -> object:
        """The JSON at ``path``; raises as ``post`` does."""
        with _told_apart(self.endpoint, self._silence):
            response = await self._client.get(path, cast_to=httpx2.Response)
            return self._parsed(response.text)

    async def _chunks(self, stream: AsyncStream[object]) -> AsyncGenerator[object]:
        """The stream's chunks; one, where the server answered with a whole JSON body."""
        kind = stream.response.headers.get("content-type", "").lower()
        if "json" in kind or "html" in kind:
            whole = self._parsed((await stream.response.aread()).decode("utf-8", "replace"))
            if failure := failure_inside(whole):
                raise _Refusal(failure)
            if not isinstance(whole, dict) or not whole.get("choices"):
                raise not_an_answer(self.endpoint)
            yield whole
            return
        count = 0
        async with aclosing(cast(AsyncGenerator[object], aiter(stream))) as parts:
            async for chunk in parts:
                count += 1
                yield chunk
        if not count and "event-stream" not in kind:
            raise not_an_answer(self.endpoint)

    def _parsed(self, text: str) -> object:
        try:
            parsed: object = json.loads(text)
        except (ValueError, RecursionError):
            raise not_an_answer(self.endpoint) from None
        return parsed


@contextmanager
def _told_apart(endpoint: Endpoint, silence: float) -> Iterator[None]:
    """Turn what the package raises into refusals and ``ModelUnavailable``."""
    try:
        yield
    except APIConnectionError as error:
        if isinstance(error.__cause__, ModelRefused):
            raise error.__cause__ from None
        raise unreachable(error, endpoint, silence) from None
    except APIStatusError as error:
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        raise _Refusal(Failure(error.status_code, error.body, headers)) from None
    except (httpx2.HTTPError, *_UNREADABLE) as error:
        raise unreachable(error, endpoint, silence) from None
    except APIError as error:
        raise _Refusal(
            failure_inside({"error": error.body}) or Failure(None, "", {}, True)
        ) from None


def _client(address: Address, config: ModelConfig) -> _Client:
    key, silence = config.api_key, config.silence
    if not key.isascii() or not key.isprintable():
        raise ModelRefused("The API key holds characters that no key has. Enter it again.")
    try:
        return _Client(
            api_key=key,
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=address.shown,
            default_query=address.query,
            max_retries=0,
            timeout=httpx2.Timeout(silence, connect=min(CONNECT_SECONDS, silence)),
            http_client=_connections(address.loopback, config.public),
        )
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        # A proxy or a certificate file of the environment that can't be used, or a host.
        raise ModelRefused(f"The endpoint cannot be used: {error}") from None


@cache
def _connections(loopback: bool, public: bool) -> httpx2.AsyncClient:
    """The process's connections, shared by all models; idle ones are few and closed soon."""
    limits = httpx2.Limits(max_keepalive_connections=_IDLE_CONNECTIONS, keepalive_expiry=30.0)
    hooks = [_without_cookies, refuse_private] if public else [_without_cookies]
    client = httpx2.AsyncClient(
        trust_env=not loopback,  # proxies
        verify=httpx2.create_ssl_context(),
        follow_redirects=False,
        limits=limits,
        event_hooks={"request": hooks},
    )
    if public:
        # Given to the constructor, it would turn off the proxies of the environment.
        client._transport = PublicTransport(httpx2.create_ssl_context(), limits)
    return client


async def _without_cookies(request: httpx2.Request) -> None:
    """One run's cookies are no business of another's: the connections are shared."""
    request.headers.pop("cookie", None)
