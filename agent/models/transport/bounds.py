"""Size limits on endpoint responses: decompressed bytes, counted before the client parses them."""

import asyncio
import json
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from contextvars import ContextVar
from typing import cast

import httpx2

from agent.errors import ModelRefused, ModelUnavailable

# Maximum bytes of a non-streamed body and of one event; maximum characters of an answer
MAX_BODY_BYTES = 8 * 1024**2
MAX_STREAM_BYTES = 256 * 1024**2  # bytes of a stream; one token takes a few hundred bytes
MAX_ERROR_BYTES = 64 * 1024  # bytes read of an error body; the rest is not read
MAX_CALLS = 128  # tool calls in one answer
_PART_BYTES = 256 * 1024
_SLICE_BYTES = 4 * 1024
_GZIP_MAGIC = b"\x1f"
_COMPRESSED_ENCODINGS = {"gzip", "x-gzip", "deflate"}
_BLANK_LINES = (b"\n\n", b"\r\r", b"\n\r\n")


class ResponseListener:
    """Listener to the response of the current task's request; this one ignores it."""

    def responded(self, status: int, content_type: str) -> None:
        """Take in the beginning of the response."""

    def received(self, data: bytes) -> None:
        """Take in a decompressed part of it."""


response_listener: ContextVar[ResponseListener] = ContextVar(
    "response_listener",
    default=ResponseListener(),  # noqa: B039 - it has no state
)
"""The listener of the current task's request."""


class ResponseTooLarge(Exception):
    """A response exceeds a limit, which the message names, phrased to follow “sent”."""


class AnswerSizeCounter:
    """Counter of the characters of one answer."""

    def __init__(self, limit: int = MAX_BODY_BYTES) -> None:
        self._remaining = limit

    def add(self, text: str) -> str:
        """Count ``text`` and return it; raise ``ModelRefused`` if the answer is too long."""
        self._remaining -= len(text)
        if self._remaining < 0:
            raise ModelRefused(
                f"The model's answer was longer than {MAX_BODY_BYTES // 1024**2} MB and was cut "
                "off. "
                "Set a limit on the tokens of one answer, or choose another model."
            )
        return text


class KeptSizeCounter(AnswerSizeCounter):
    """Counter of the characters, as JSON, of what an answer keeps besides its text."""

    def add_json(self, value: object) -> str:
        """Count a value and return it as JSON; raises the same error as ``add``."""
        return self.add(json.dumps(value, ensure_ascii=False))


def check_call_count(count: int) -> None:
    """Raise ``ModelUnavailable`` for too many calls: the model may succeed if asked again."""
    if count > MAX_CALLS:
        raise ModelUnavailable(
            f"The model's answer was cut off because it contained more than {MAX_CALLS} tool "
            "calls. If this happens again, choose another model or a lower temperature."
        )


async def limit_response(response: httpx2.Response) -> None:
    """Limit the readable size of ``response``; a hook for ``httpx2.AsyncClient``."""
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity", *_COMPRESSED_ENCODINGS}:
        raise httpx2.DecodingError(f"The response is encoded as {encoding!r}.")
    stream = cast(httpx2.AsyncByteStream, response.stream)
    inflater = _Decompressor() if encoding in _COMPRESSED_ENCODINGS else None
    listener = response_listener.get()
    listener.responded(response.status_code, response.headers.get("content-type", ""))
    response.stream = _LimitedStream(stream, inflater, _counter_for(response), listener.received)


class _ByteCounter:
    """Counter of the bytes of one response."""

    def __init__(self, limit: int, *, count_events: bool) -> None:
        self._limit = limit
        self._remaining = limit
        self._count_events = count_events
        self._event_bytes = 0
        self._tail = b""

    def count(self, data: bytes) -> None:
        """Count the next bytes; raise ``ResponseTooLarge`` if they exceed a limit."""
        self._remaining -= len(data)
        if self._remaining < 0:
            raise ResponseTooLarge(f"more than {self._limit // 1024**2} MB in one answer")
        if self._count_events:
            self._count_event(data)

    def _count_event(self, data: bytes) -> None:
        joined = self._tail + data
        end = max(joined.rfind(blank) for blank in _BLANK_LINES)
        self._event_bytes = len(joined) - end if end >= 0 else self._event_bytes + len(data)
        self._tail = joined[-2:]
        if self._event_bytes > MAX_BODY_BYTES:
            raise ResponseTooLarge(
                f"more than {MAX_BODY_BYTES // 1024**2} MB in one event of its stream"
            )


def _counter_for(response: httpx2.Response) -> _ByteCounter | None:
    """Return a response's byte counter; None for an error, which is truncated instead."""
    if not response.is_success:
        return None
    if response.request.method == "GET":
        return _ByteCounter(MAX_BODY_BYTES, count_events=False)
    return _ByteCounter(MAX_STREAM_BYTES, count_events=True)


class _LimitedStream(httpx2.AsyncByteStream):
    """A response's bytes, decompressed and counted."""

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        inflater: "_Decompressor | None",
        counter: _ByteCounter | None,
        received: Callable[[bytes], None],
    ) -> None:
        self._stream = stream
        self._inflater = inflater
        self._counter = counter
        self._received = received

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._decompressed()) as parts:
            left = MAX_ERROR_BYTES
            async for part in parts:
                if self._counter is not None:
                    self._counter.count(part)
                    self._received(part)
                    yield part
                    continue
                self._received(part[:left])
                yield part[:left]
                left -= len(part)
                if left <= 0:
                    return

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def _decompressed(self) -> AsyncGenerator[bytes]:
        async with aclosing(cast(AsyncGenerator[bytes], aiter(self._stream))) as blocks:
            async for data in blocks:
                if self._inflater is None:
                    yield data
                    continue
                for part in self._inflater.feed(data):
                    yield part
                    await asyncio.sleep(0)  # one read may expand a lot: let other requests run


class _Decompressor:
    """Incremental gzip and zlib decompressor with chunks of bounded size."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompress ``data``; yield parts of at most 256 KiB."""
        # In slices, since each member copies what follows it in its slice.
        for at in range(0, len(data), _SLICE_BYTES):
            rest = data[at : at + _SLICE_BYTES]
            while rest:
                if self._inner.eof and not rest.startswith(_GZIP_MAGIC):
                    break
                if self._inner.eof:
                    self._inner = zlib.decompressobj(zlib.MAX_WBITS | 32)
                yield from self._member(rest)
                rest = self._inner.unused_data

    def _member(self, data: bytes) -> Iterator[bytes]:
        while not self._inner.eof:
            try:
                part = self._inner.decompress(data, _PART_BYTES)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from error
            if part:
                yield part
            data = self._inner.unconsumed_tail
            if not data and len(part) < _PART_BYTES:
                return
