"""Streaming client for OpenAI-compatible chat endpoints (``openai`` package).

Of the environment, only network variables are used (proxies, ``SSL_CERT_FILE``); proxies are not
used for loopback addresses. Redirects are never followed, so that the key and the conversation
are sent only to the configured URL.
"""

import asyncio
import concurrent.futures
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import cast

import httpx2
from openai import APIConnectionError, APIError, APIStatusError, AsyncOpenAI, AsyncStream, Omit

from agent.errors import ModelError, ModelRefused, ModelUnavailable
from agent.models.base import Adapted, ModelConfig, Piece, Request
from agent.models.openai.base_url import Address, read_address
from agent.models.openai.compat import Adaptation
from agent.models.openai.connection_errors import CONNECT_SECONDS, unreachable
from agent.models.openai.errors import (
    Endpoint,
    Failure,
    error_of,
    failure_inside,
    not_an_answer,
    too_much,
)
from agent.models.openai.redaction import Withholder
from agent.models.openai.request import Body, request_body
from agent.models.openai.stream import AnswerReader
from agent.models.openai.transport.bounds import TooMuch, read_whole
from agent.models.openai.transport.http_client import connections
from agent.models.parsing.coalesce import joined, same_kind
from agent.util import background_loop
from agent.util.cancellation import Stop
from agent.util.channel import Channel

# Seconds to wait for the usage after an answer's end, and then for the end of the stream, which
# allows reuse of the connection; some servers never end it.
_FOR_USAGE, _FOR_CLOSE = 5.0, 0.25
# Pieces buffered for a slow reader before reading from the endpoint is throttled.
_AHEAD = 10_000
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    A request field that the endpoint rejects is dropped or renamed; an ``Adapted`` piece reports
    this once, and this object remembers it. Other failures are not retried. Text, reasoning and
    arguments that arrive within 25 ms are merged into one piece.

    Args:
        config: Endpoint and request options.

    Raises:
        ModelRefused: the URL or the key cannot be used.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = replace(config, api_key=config.api_key.strip())
        self._connection = _Connection(self._config)
        self._adaptation = Adaptation()

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._config.model

    @property
    def metered(self) -> bool:
        """Whether tokens are counted: always."""
        return True

    def stream(self, request: Request, stop: Stop) -> Iterator[Piece]:
        """Stream one turn; see ``Model.stream``."""
        if stop.is_set:
            return
        channel = Channel(same_kind, joined)
        turn = background_loop.start(self._turn(request, channel))
        turn.add_done_callback(lambda done: channel.close(_error(done)))
        try:
            with stop.calling(channel.abandon):
                yield from channel
        finally:
            channel.abandon()
            turn.cancel()

    async def _turn(self, request: Request, channel: Channel[Piece]) -> None:
        """Send the request, adapting it after each refusal that names a rejected field."""
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
        """Stream the answer into ``channel``; return the failure if the endpoint refused."""
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
        self._connection.answered = True
        return answer.end()


def _until(answer: AnswerReader) -> float | None:
    """Return the loop time at which reading stops; None if the answer is unfinished."""
    if not answer.finished:
        return None
    wait = _FOR_CLOSE if answer.usage else _FOR_USAGE
    return asyncio.get_running_loop().time() + wait


def _error(turn: "concurrent.futures.Future[None]") -> BaseException | None:
    return None if turn.cancelled() else turn.exception()


async def fetch_models(config: ModelConfig) -> object:
    """Fetch ``/models`` from an endpoint; return the JSON, which may have any shape.

    Raises:
        ModelError: the request failed.
    """
    connection = _Connection(config)
    try:
        return await connection.get("/models")
    except _Refusal as refusal:
        failure = refusal.failure
    raise error_of(failure, connection.endpoint)


class _Refusal(Exception):
    """The endpoint returned an error, before or during an answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class _Client(AsyncOpenAI):
    """A client that sends only the necessary headers, and a key only if there is one.

    The package would add the environment's organization, project and custom headers, and
    details of the machine.
    """

    @property
    def default_headers(self) -> dict[str, str | Omit]:
        return {
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "llm-in-sandbox-studio",
            "Authorization": f"Bearer {self.api_key}" if self.api_key else Omit(),
        }

    def _validate_headers(self, headers: object, custom_headers: object) -> None:
        """Allow requests without a key: many endpoints need none."""


class _Connection:
    """A connection to one endpoint that classifies every failure.

    It does not use the package's typed models, which accept any shape without validation;
    responses are checked where they are read.

    Attributes:
        endpoint: The endpoint's description for error messages.
        answered: Whether the endpoint has ever sent a valid answer.
    """

    def __init__(self, config: ModelConfig) -> None:
        address = read_address(config.base_url)
        self.answered = False
        self._silence = config.silence
        self.endpoint = Endpoint(address.shown, config.model, config.api_key)
        self._client = _client(address, config)

    @asynccontextmanager
    async def post(self, body: Body) -> AsyncIterator[AsyncIterator[object]]:
        """Send a chat request and yield the chunks of its response, which is closed after.

        Raises:
            _Refusal: the endpoint returned an error.
            ModelError: the endpoint is unreachable, or its response is not an answer.
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
        """Return the JSON at ``path``; raises the same errors as ``post``."""
        with _told_apart(self.endpoint, self._silence):
            response = await self._client.get(path, cast_to=httpx2.Response)
            return self._parsed(response.text)

    async def _chunks(self, stream: AsyncStream[object]) -> AsyncGenerator[object]:
        """Yield the stream's chunks; only one if the server sent a single JSON body."""
        if read_whole(stream.response):
            whole = self._parsed((await stream.response.aread()).decode("utf-8", "replace"))
            if failure := failure_inside(whole):
                raise _Refusal(failure)
            if not isinstance(whole, dict) or not whole.get("choices"):
                raise self._not_an_answer()
            yield whole
            return
        count = 0
        # Close the inner iterator explicitly: it and the stream form a reference cycle, and the
        # garbage collector would finalize the suspended generator in an arbitrary thread.
        async with aclosing(cast(AsyncGenerator[object], stream._iterator)) as parts:
            async for chunk in parts:
                count += 1
                yield chunk
        kind = stream.response.headers.get("content-type", "").lower()
        if not count and "event-stream" not in kind:
            raise self._not_an_answer()

    def _parsed(self, text: str) -> object:
        try:
            parsed: object = json.loads(text)
        except (ValueError, RecursionError):
            raise self._not_an_answer() from None
        return parsed

    def _not_an_answer(self) -> ModelError:
        return not_an_answer(self.endpoint, answered_before=self.answered)


@contextmanager
def _told_apart(endpoint: Endpoint, silence: float) -> Iterator[None]:
    """Convert exceptions of the package into ``_Refusal`` and ``ModelError``."""
    try:
        yield
    except APIConnectionError as error:
        if isinstance(error.__cause__, ModelRefused):
            raise error.__cause__ from None
        if isinstance(error.__cause__, TooMuch):
            raise too_much(endpoint, str(error.__cause__)) from None
        raise unreachable(error, endpoint, silence) from None
    except TooMuch as error:
        raise too_much(endpoint, str(error)) from None
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
            http_client=connections(address.loopback, config.public),
        )
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        # An unusable host, or an unusable proxy or certificate file from the environment.
        raise ModelRefused(f"The endpoint cannot be used: {error}") from None
