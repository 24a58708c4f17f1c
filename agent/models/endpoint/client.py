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

from agent.errors import ModelError, ModelRefused, ModelUnavailable
from agent.models.base import ModelConfig, ModelNotice, ModelRequest, Piece
from agent.models.chat.compat import Adaptation
from agent.models.chat.request import Body, encode_body, request_body
from agent.models.chat.stream import StreamParser
from agent.models.errors.connection_errors import CONNECT_TIMEOUT_SECONDS, connection_error
from agent.models.errors.failures import (
    Endpoint,
    Failure,
    failure_in_chunk,
    invalid_response_error,
    to_model_error,
    too_large_error,
)
from agent.models.parsing.coalesce import can_merge, merge
from agent.models.transport.base_url import BaseUrl, check_key, parse_base_url
from agent.models.transport.bounds import ResponseTooLarge, is_single_body
from agent.models.transport.http_client import shared_client
from agent.models.transport.recording import describe_request, record_request
from agent.models.transport.redaction import KeyRedactor
from agent.models.transport.sdk import (
    APIConnectionError,
    APIError,
    APIStatusError,
    AsyncOpenAI,
    AsyncStream,
    Omit,
)
from agent.util import event_loops
from agent.util.cancellation import Stop
from agent.util.channel import Channel

# Seconds to wait for the usage after an answer's end, and then for the end of the stream, which
# allows reuse of the connection; some servers never end it.
_USAGE_TIMEOUT_SECONDS, _CLOSE_TIMEOUT_SECONDS = 5.0, 0.25
# Pieces buffered for a slow reader before reading from the endpoint is throttled.
_MAX_BUFFERED_PIECES = 10_000
_COMPLETIONS = "/chat/completions"
_DECODE_ERRORS = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


class EndpointModel:
    """A model behind an OpenAI-compatible endpoint.

    A request field that the endpoint rejects is dropped or renamed; a ``ModelNotice`` piece
    reports this once, and this object remembers it. Other failures are not retried. Text, reasoning
    and arguments that arrive within 25 ms are merged into one piece.

    Args:
        config: Endpoint and request options.

    Raises:
        ModelRefused: the URL or the key cannot be used.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = replace(config, api_key=config.api_key.strip())
        self._connection = _EndpointConnection(self._config)
        self._adaptation = Adaptation()

    @property
    def name(self) -> str:
        """The model's name at the endpoint."""
        return self._config.model

    @property
    def metered(self) -> bool:
        """Whether tokens are counted: always."""
        return True

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        """Stream one turn; see ``Model.stream``."""
        if stop.is_set:
            return
        channel = Channel(can_merge, merge)
        turn = event_loops.submit(self._stream_turn(request, channel))
        turn.add_done_callback(lambda done: channel.close(_task_error(done)))
        try:
            with stop.on_set(channel.abandon):
                yield from channel
        finally:
            channel.abandon()
            turn.cancel()

    async def _stream_turn(self, request: ModelRequest, channel: Channel[Piece]) -> None:
        """Send the request, adapting it after each refusal that names a rejected field."""
        original = request_body(self._config, request)
        while True:
            body = self._adaptation.apply(original)
            failure = await self._request(request, body, channel)
            if failure is None:
                return
            notice = self._adaptation.learn(failure, body)
            if not notice:
                raise to_model_error(failure, self._connection.endpoint)
            channel.put(ModelNotice(notice))

    async def _request(
        self, request: ModelRequest, body: Body, channel: Channel[Piece]
    ) -> Failure | None:
        """Send a body, recording it and the response; return the failure if refused."""
        content, config = encode_body(body), self._config
        url, changes = self._connection.completions_url, self._adaptation.message_changes
        sent = describe_request(config, request, body, content, changes, url)
        with record_request(request, sent, config.api_key) as redactor:
            return await self._answer(content, channel, redactor)

    async def _answer(
        self, content: bytes, channel: Channel[Piece], redactor: KeyRedactor
    ) -> Failure | None:
        """Stream the answer into ``channel``; return the failure if the endpoint refused."""
        parser = StreamParser(text_calls=self._config.tool_call_style == "text")
        try:
            async with asyncio.timeout(None) as deadline, self._connection.post(content) as chunks:
                async for chunk in chunks:
                    for piece in redactor.redact_stream(parser.feed(chunk)):
                        channel.put(piece)
                    deadline.reschedule(_read_deadline(parser))
                    while len(channel) > _MAX_BUFFERED_PIECES:
                        await asyncio.sleep(0.01)
        except _EndpointRefused as refusal:
            return refusal.failure
        except (ModelUnavailable, TimeoutError):
            if not parser.is_complete:
                raise
        for piece in redactor.redact_stream(self._finish(parser)):
            channel.put(piece)
        return None

    def _finish(self, parser: StreamParser) -> Iterator[Piece]:
        url = self._connection.endpoint.display_url
        if parser.failure_reason:
            raise ModelUnavailable(
                f"The endpoint {url} ended the answer: “{parser.failure_reason}”."
            )
        if not parser.is_complete:
            raise ModelUnavailable(f"The endpoint {url} ended the answer early.")
        self._connection.has_answered = True
        return parser.finish()


def _read_deadline(parser: StreamParser) -> float | None:
    """Return the loop time at which reading stops; None if the answer is unfinished."""
    if not parser.is_complete:
        return None
    wait = _CLOSE_TIMEOUT_SECONDS if parser.usage else _USAGE_TIMEOUT_SECONDS
    return asyncio.get_running_loop().time() + wait


def _task_error(turn: "concurrent.futures.Future[None]") -> BaseException | None:
    return None if turn.cancelled() else turn.exception()


async def fetch_models(config: ModelConfig) -> object:
    """Fetch ``/models`` from an endpoint; return the JSON, which may have any shape.

    Raises:
        ModelError: the request failed.
    """
    connection = _EndpointConnection(config)
    try:
        return await connection.get("/models")
    except _EndpointRefused as refusal:
        failure = refusal.failure
    raise to_model_error(failure, connection.endpoint)


class _EndpointRefused(Exception):
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


class _EndpointConnection:
    """A connection to one endpoint that classifies every failure.

    It does not use the package's typed models, which accept any shape without validation;
    responses are checked where they are read.

    Attributes:
        endpoint: The endpoint's description for error messages.
        completions_url: The address of chat requests, without its query.
        has_answered: Whether the endpoint has ever sent a valid answer.
    """

    def __init__(self, config: ModelConfig) -> None:
        address = parse_base_url(config.base_url)
        self.has_answered = False
        self._read_timeout = config.read_timeout
        self.endpoint = Endpoint(address.display_url, config.model, config.api_key)
        self._client = _create_client(address, config)
        self.completions_url = f"{address.display_url}{_COMPLETIONS}"

    @asynccontextmanager
    async def post(self, content: bytes) -> AsyncIterator[AsyncIterator[object]]:
        """Send a chat request's body and yield the chunks of its response, which is closed after.

        Raises:
            _EndpointRefused: the endpoint returned an error.
            ModelError: the endpoint is unreachable, or its response is not an answer.
        """
        with _convert_errors(self.endpoint, self._read_timeout):
            stream = await self._client.post(
                _COMPLETIONS,
                cast_to=object,
                content=content,
                stream=True,
                stream_cls=AsyncStream[object],
            )
            async with stream, aclosing(self._chunks(stream)) as chunks:
                yield chunks

    async def get(self, path: str) -> object:
        """Return the JSON at ``path``; raises the same errors as ``post``."""
        with _convert_errors(self.endpoint, self._read_timeout):
            response = await self._client.get(path, cast_to=httpx2.Response)
            return self._parse_json(response.text)

    async def _chunks(self, stream: AsyncStream[object]) -> AsyncGenerator[object]:
        """Yield the stream's chunks; only one if the server sent a single JSON body."""
        if is_single_body(stream.response):
            body = self._parse_json((await stream.response.aread()).decode("utf-8", "replace"))
            if failure := failure_in_chunk(body):
                raise _EndpointRefused(failure)
            if not isinstance(body, dict) or not body.get("choices"):
                raise self._invalid_response()
            yield body
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
            raise self._invalid_response()

    def _parse_json(self, text: str) -> object:
        try:
            parsed: object = json.loads(text)
        except (ValueError, RecursionError):
            raise self._invalid_response() from None
        return parsed

    def _invalid_response(self) -> ModelError:
        return invalid_response_error(self.endpoint, answered_before=self.has_answered)


@contextmanager
def _convert_errors(endpoint: Endpoint, read_timeout: float) -> Iterator[None]:
    """Convert exceptions of the package into ``_EndpointRefused`` and ``ModelError``."""
    try:
        yield
    except APIConnectionError as error:
        if isinstance(error.__cause__, ModelRefused):
            raise error.__cause__ from None
        if isinstance(error.__cause__, ResponseTooLarge):
            raise too_large_error(endpoint, str(error.__cause__)) from None
        raise connection_error(error, endpoint, read_timeout) from None
    except ResponseTooLarge as error:
        raise too_large_error(endpoint, str(error)) from None
    except APIStatusError as error:
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        raise _EndpointRefused(Failure(error.status_code, error.body, headers)) from None
    except (httpx2.HTTPError, *_DECODE_ERRORS) as error:
        raise connection_error(error, endpoint, read_timeout) from None
    except APIError as error:
        raise _EndpointRefused(
            failure_in_chunk({"error": error.body}) or Failure(None, "", {}, True)
        ) from None


def _create_client(address: BaseUrl, config: ModelConfig) -> _Client:
    key, read_timeout = config.api_key, config.read_timeout
    check_key(key)
    try:
        return _Client(
            api_key=key,
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=address.display_url,
            default_query=address.query,
            max_retries=0,
            timeout=httpx2.Timeout(
                read_timeout, connect=min(CONNECT_TIMEOUT_SECONDS, read_timeout)
            ),
            http_client=shared_client(address.is_loopback, config.public_only),
        )
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        # An unusable host, or an unusable proxy or certificate file from the environment.
        raise ModelRefused(f"The endpoint cannot be used: {error}") from None
