"""Write a request's body to disk in large pieces, while receiving the next one."""

import asyncio
from collections.abc import Callable

from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request

_PIECE = 1024**2


async def pour(request: Request, write: Callable[..., None]) -> bool:
    """Pass a body's bytes to ``write``, in a thread, about a megabyte at a time.

    Receiving pauses while writing is slower: at most three megabytes are buffered.

    Args:
        request: The request.
        write: Takes any number of bytes objects; an exception that it raises propagates.

    Returns:
        Whether the body is complete; false if the client disconnected, in which case all
        received bytes are written.
    """
    writing: asyncio.Task[None] | None = None
    gathered: list[bytes] = []
    size = 0
    whole = True
    try:
        async for chunk in request.stream():
            gathered.append(chunk)
            size += len(chunk)
            if size < _PIECE:
                continue
            if writing is not None:
                await writing
            writing = asyncio.create_task(run_sync(write, *gathered))
            gathered, size = [], 0
    except ClientDisconnect:
        whole = False
    finally:
        if writing is not None:
            await writing
    if size:
        await run_sync(write, *gathered)
    return whole
