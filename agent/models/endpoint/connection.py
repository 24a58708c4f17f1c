"""A connection to one endpoint, which classifies every failure."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from urllib.parse import urlsplit

import anyio
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
from agent.models.transport.base_url import check_key, parse_base_url
from agent.models.transport.bounds import ResponseTooLarge
from agent.models.transport.event_stream import END_OF_STREAM, EventStreamDecoder, ServerEvent
from agent.models.transport.http_client import shared_client

_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "llm-in-sandbox-studio",
}
_FAILURES = (
    httpx2.HTTPError,
    ssl.SSLError,  # httpx2 passes these two on, of TLS
    anyio.EndOfStream,
    json.JSONDecodeError,
    UnicodeDecodeError,
    RecursionError,
)
_DRAIN_SECONDS = 0.25
_OFFICIAL_HOST = "api.anthropic.com"


class EndpointRefused(Exception):
    """The endpoint returned an error, before or during an answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class EndpointConnection:
    """A connection to one endpoint. What an answer holds is checked where it is read."""

    def __init__(self, config: ModelConfig) -> None:
        self.address = parse_base_url(config.base_url)
        self.has_answered = False
        self._config = config
        self.endpoint = Endpoint(self.address.display_url, config.model, config.api_key)
        check_key(config.api_key)
        self._base_path = urlsplit(self.address.display_url).path
        connect = min(CONNECT_TIMEOUT_SECONDS, config.read_timeout)
        self._timeout = httpx2.Timeout(config.read_timeout, connect=connect)
        try:
            httpx2.URL(self.address.display_url)
            self._http = shared_client(self.address.is_loopback, config.public_only)
        except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
            # An unusable host, or an unusable proxy or certificate file from the environment.
            raise ModelRefused(f"The endpoint cannot be used: {error}") from None

    def url(self, api: Api, path: str = "") -> str:
        """Return the address of an API's path, without the query; by default of its requests."""
        return f"{self.address.display_url}{api.root(self._base_path)}{path or api.path}"

    @asynccontextmanager
    async def post(
        self, api: Api, content: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[object]]:
        """Send a body; yield the events of the response. Raises ``EndpointRefused``."""
        request = self._request("POST", self.url(api), api, headers, content)
        with _convert_errors(self.endpoint, self._config.read_timeout):
            async with aclosing(await self._http.send(request, stream=True)) as response:
                await _check_status(response)
                async with aclosing(self._events(api, response)) as events:
                    yield events

    async def get(self, api: Api, path: str) -> object:
        """Return the JSON at a path of an API; raises the same errors as ``post``."""
        request = self._request("GET", self.url(api, path), api, api.headers)
        with _convert_errors(self.endpoint, self._config.read_timeout):
            response = await self._http.send(request)
            await _check_status(response)
            return self._parse_json(response.text)

    def _request(
        self, method: str, url: str, api: Api, headers: Mapping[str, str], content: bytes = b""
    ) -> httpx2.Request:
        return self._http.build_request(
            method,
            url,
            params=self.address.query or None,
            headers={**_HEADERS, **self._credentials(api.name), **headers},
            content=content,
            timeout=self._timeout,
        )

    def _credentials(self, api_name: ApiName) -> dict[str, str]:
        """Return the headers of the key: gateways to Messages expect it in one or the other."""
        key = self._config.api_key
        if not key:
            return {}
        bearer = {"Authorization": f"Bearer {key}"}
        if api_name != "messages":
            return bearer
        official = urlsplit(self.address.display_url).hostname == _OFFICIAL_HOST
        return {"x-api-key": key} if official else {"x-api-key": key, **bearer}

    async def _events(self, api: Api, response: httpx2.Response) -> AsyncGenerator[object]:
        """Yield the stream's events; only one if the server sent a single JSON body."""
        count = 0
        async with aclosing(_server_events(response)) as events:
            async for event in events:
                if event.data.startswith("[DONE]"):
                    yield END_OF_STREAM
                    await _drain(events)
                    return
                data = self._parse_event(api, event)
                count += 1
                yield data
        kind = response.headers.get("content-type", "").lower()
        if not count and "event-stream" not in kind:
            raise self._invalid_response()

    def _parse_event(self, api: Api, event: ServerEvent) -> object:
        try:
            data = json.loads(event.data)
        except (ValueError, RecursionError):
            if event.name == "error":
                raise EndpointRefused(Failure(None, event.data, {}, streaming=True)) from None
            if event.is_body:
                raise self._invalid_response() from None
            raise
        if failure := api.failure(data) or failure_in_event(event.name, data):
            raise EndpointRefused(failure)
        if event.is_body and not api.is_answer(data):
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
def _convert_errors(endpoint: Endpoint, read_timeout: float) -> Iterator[None]:
    """Convert exceptions of a request into ``ModelError``."""
    try:
        yield
    except ResponseTooLarge as error:
        raise too_large_error(endpoint, str(error)) from None
    except _FAILURES as error:
        raise connection_error(error, endpoint, read_timeout) from None


async def _check_status(response: httpx2.Response) -> None:
    """Raise ``EndpointRefused`` for an error status, with the body, parsed if it is JSON."""
    if response.is_success:
        return
    await response.aread()
    body: object = response.text.strip()
    with suppress(ValueError, RecursionError):
        body = json.loads(response.text)
    raise EndpointRefused(Failure(response.status_code, body, dict(response.headers)))


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
