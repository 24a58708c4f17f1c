"""A connection to one endpoint, which classifies every failure."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2

from agent.errors import ModelError, ModelRefused
from agent.models.base import ApiName, ModelConfig
from agent.models.endpoint.api import Api
from agent.models.errors.connection_errors import CONNECT_TIMEOUT_SECONDS, connection_error
from agent.models.errors.failures import (
    Endpoint,
    Failure,
    failure_in_event,
    invalid_response_error,
    too_large_error,
)
from agent.models.transport.base_url import BaseUrl, check_key, parse_base_url
from agent.models.transport.bounds import ResponseTooLarge
from agent.models.transport.event_stream import END_OF_STREAM, EventStreamDecoder, ServerEvent
from agent.models.transport.http_client import shared_client
from agent.models.transport.sdk_client import SdkClient

_DECODE_ERRORS = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)
_DRAIN_SECONDS = 0.25


class EndpointRefused(Exception):
    """The endpoint returned an error, before or during an answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class EndpointConnection:
    """A connection to one endpoint through the official packages, whose types validate nothing."""

    def __init__(self, config: ModelConfig, api_name: ApiName) -> None:
        self.address = parse_base_url(config.base_url)
        self.has_answered = False
        self._config = config
        self.endpoint = Endpoint(self.address.display_url, config.model, config.api_key)
        check_key(config.api_key)
        self._base_path = urlsplit(self.address.display_url).path
        self._clients: dict[bool, SdkClient] = {}
        self._client_of(api_name)

    def url(self, api: Api, path: str = "") -> str:
        """Return the address of an API's path, without the query; by default of its requests."""
        return f"{self.address.display_url}{api.root(self._base_path)}{path or api.path}"

    @asynccontextmanager
    async def post(
        self, api: Api, content: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[object]]:
        """Send a body; yield the events of the response. Raises ``EndpointRefused``."""
        client = self._client_of(api.name)
        with _convert_errors(client.package, self.endpoint, self._config.read_timeout):
            stream = await client.post(self.url(api), content, headers)
            async with stream, aclosing(self._events(api, stream)) as events:
                yield events

    async def get(self, api: Api, path: str) -> object:
        """Return the JSON at a path of an API; raises the same errors as ``post``."""
        client = self._client_of(api.name)
        with _convert_errors(client.package, self.endpoint, self._config.read_timeout):
            response = await client.get(self.url(api, path), api.headers, httpx2.Response)
            return self._parse_json(response.text)

    def _client_of(self, api_name: ApiName) -> SdkClient:
        """Return the client for an API, made when it is first needed."""
        of_anthropic = api_name == "messages"
        if of_anthropic not in self._clients:
            self._clients[of_anthropic] = _create_client(
                self.address, self._config, of_anthropic=of_anthropic
            )
        return self._clients[of_anthropic]

    async def _events(self, api: Api, stream: Any) -> AsyncGenerator[object]:
        """Yield the stream's events; only one if the server sent a single JSON body."""
        count = 0
        async with aclosing(_server_events(stream.response)) as events:
            async for event in events:
                if event.data.startswith("[DONE]"):
                    yield END_OF_STREAM
                    await _drain(events)
                    return
                data = self._parse_event(api, event)
                count += 1
                yield data
        kind = stream.response.headers.get("content-type", "").lower()
        if not count and "event-stream" not in kind:
            raise self._invalid_response()

    def _parse_event(self, api: Api, event: ServerEvent) -> object:
        try:
            data: object = json.loads(event.data)
        except (ValueError, RecursionError):
            if event.name == "error":
                raise EndpointRefused(Failure(None, event.data, {}, streaming=True)) from None
            if event.is_body:
                raise self._invalid_response() from None
            raise
        if failure := api.failure(data) or failure_in_event(event.name, data):
            raise EndpointRefused(failure)
        if event.is_body and not (isinstance(data, Mapping) and api.is_answer(data)):
            raise self._invalid_response()
        return data

    def _parse_json(self, text: str) -> object:
        try:
            parsed: object = json.loads(text)
        except (ValueError, RecursionError):
            raise self._invalid_response() from None
        return parsed

    def _invalid_response(self) -> ModelError:
        return invalid_response_error(self.endpoint, answered_before=self.has_answered)


@contextmanager
def _convert_errors(package: Any, endpoint: Endpoint, read_timeout: float) -> Iterator[None]:
    """Convert exceptions of a package into ``EndpointRefused`` and ``ModelError``."""
    try:
        yield
    except package.APIConnectionError as error:
        cause = error.__cause__
        if isinstance(cause, ModelRefused):
            raise cause from None
        if isinstance(cause, ResponseTooLarge):
            raise too_large_error(endpoint, str(cause)) from None
        raise connection_error(error, endpoint, read_timeout) from None
    except ResponseTooLarge as error:
        raise too_large_error(endpoint, str(error)) from None
    except package.APIStatusError as error:
        response = error.response
        headers = {name.lower(): value for name, value in response.headers.items()}
        raise EndpointRefused(Failure(response.status_code, error.body, headers)) from None
    except (httpx2.HTTPError, *_DECODE_ERRORS) as error:
        raise connection_error(error, endpoint, read_timeout) from None
    except package.APIError as error:
        raise EndpointRefused(Failure(None, error.body, {}, streaming=True)) from None


async def _server_events(response: httpx2.Response) -> AsyncGenerator[ServerEvent]:
    decoder = EventStreamDecoder()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            for event in decoder.feed(chunk):
                yield event
    for event in decoder.flush():
        yield event


async def _drain(events: AsyncIterator[ServerEvent]) -> None:
    """Read a stream to its end, which allows reuse of the connection; some never end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass


def _create_client(address: BaseUrl, config: ModelConfig, *, of_anthropic: bool) -> SdkClient:
    """Return the client of a package, which is imported now: that takes a second."""
    if of_anthropic:
        from agent.models.transport.anthropic_client import create_anthropic_client as create
    else:
        from agent.models.transport.openai_client import create_openai_client as create
    connect = min(CONNECT_TIMEOUT_SECONDS, config.read_timeout)
    timeout = httpx2.Timeout(config.read_timeout, connect=connect)
    try:
        http = shared_client(address.is_loopback, config.public_only)
        return create(address, config, timeout, http)
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        # An unusable host, or an unusable proxy or certificate file from the environment.
        raise ModelRefused(f"The endpoint cannot be used: {error}") from None
