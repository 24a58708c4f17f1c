"""Size limits on endpoint responses.

The limits apply to the decompressed bytes, which are counted before the client parses them, so
that no response can take more memory.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import cast

import httpx2

from agent.errors import ModelRefused, ModelUnavailable

MOST_BYTES = 8 * 1024**2
"""Maximum bytes of a non-streamed body and of one event; maximum characters of an answer."""

MOST_STREAMED = 256 * 1024**2
"""Maximum bytes of a stream; one token takes a few hundred bytes."""

MOST_OF_AN_ERROR = 64 * 1024
"""Maximum bytes read of an error body; the rest is not read."""

MOST_CALLS = 128
"""Maximum tool calls in one answer."""

_PART = 256 * 1024
_INFLATED = {"gzip", "x-gzip", "deflate"}
_BLANK_LINES = (b"\n\n", b"\r\r", b"\n\r\n")


class TooMuch(Exception):
    """A response exceeds a limit, which the message names, phrased to follow “sent”."""


class AnswerSize:
    """Counter of the characters of one answer.

    Args:
        most: The maximum number of characters.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._left = most

    def add(self, text: str) -> str:
        """Count ``text`` and return it unchanged.

        Raises:
            ModelRefused: the answer is too long.
        """
        self._left -= len(text)
        if self._left < 0:
            raise ModelRefused(
                f"The model's answer was longer than {MOST_BYTES // 1024**2} MB and was cut off. "
                "Set a limit on the tokens of one answer, or choose another model."
            )
        return text


def check_calls(count: int) -> None:
    """Check the number of calls in an answer.

    Raises:
        ModelUnavailable: there are too many; the model may succeed if asked again.
    """
    if count > MOST_CALLS:
        raise ModelUnavailable(
            f"The model made more than {MOST_CALLS} tool calls in one answer, which was cut off. "
            "If this happens again, choose another model or a lower temperature."
        )


async def bound(response: httpx2.Response) -> None:
    """Limit the readable size of ``response``; a hook for ``httpx2.AsyncClient``.

    Raises:
        httpx2.DecodingError: the content encoding is neither gzip nor deflate.
    """
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity", *_INFLATED}:
        raise httpx2.DecodingError(f"The response is encoded as {encoding!r}.")
    stream = cast(httpx2.AsyncByteStream, response.stream)
    inflater = _Inflater() if encoding in _INFLATED else None
    response.stream = _Bounded(stream, inflater, _limits_of(response))


def read_whole(response: httpx2.Response) -> bool:
    """Return whether the response is a single body rather than an event stream."""
    kind = response.headers.get("content-type", "").lower()
    return response.request.method == "GET" or "json" in kind or "html" in kind


class _Limits:
    """Counter of the bytes of one response."""

    def __init__(self, most: int, *, events: bool) -> None:
        self._most = most
        self._left = most
        self._events = events
        self._event = 0
        self._tail = b""

    def count(self, data: bytes) -> None:
        """Count the next bytes; raise ``TooMuch`` if they exceed a limit."""
        self._left -= len(data)
        if self._left < 0:
            raise TooMuch(f"more than {self._most // 1024**2} MB in one answer")
        if self._events:
            self._count_event(data)

    def _count_event(self, data: bytes) -> None:
        joined = self._tail + data
        end = max(joined.rfind(blank) for blank in _BLANK_LINES)
        self._event = len(joined) - end if end >= 0 else self._event + len(data)
        self._tail = joined[-2:]
        if self._event > MOST_BYTES:
            raise TooMuch(f"more than {MOST_BYTES // 1024**2} MB in one event of its stream")


def _limits_of(response: httpx2.Response) -> _Limits | None:
    """Return the limits of a response; None for an error, which is truncated instead."""
    if not response.is_success:
        return None
    if read_whole(response):
        return _Limits(MOST_BYTES, events=False)
    return _Limits(MOST_STREAMED, events=True)


class _Bounded(httpx2.AsyncByteStream):
    """A response's bytes, decompressed and counted."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, inflater: "_Inflater | None", limits: _Limits | None
    ) -> None:
        self._stream = stream
        self._inflater = inflater
        self._limits = limits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._unpacked()) as parts:
            left = MOST_OF_AN_ERROR
            async for part in parts:
                if self._limits is not None:
                    self._limits.count(part)
                    yield part
                    continue
                yield part[:left]
                left -= len(part)
                if left <= 0:
                    return

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def _unpacked(self) -> AsyncGenerator[bytes]:
        async with aclosing(cast(AsyncGenerator[bytes], aiter(self._stream))) as blocks:
            async for data in blocks:
                if self._inflater is None:
                    yield data
                    continue
                for part in self._inflater.feed(data):
                    yield part
                    await asyncio.sleep(0)  # one read may expand a lot: let other requests run


class _Inflater:
    """Incremental decompressor of gzip and zlib with parts of bounded size."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompress ``data``; yield parts of at most 256 KiB."""
        while not self._inner.eof:
            try:
                part = self._inner.decompress(data, _PART)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from error
            if part:
                yield part
            data = self._inner.unconsumed_tail
            if not data and len(part) < _PART:
                return
