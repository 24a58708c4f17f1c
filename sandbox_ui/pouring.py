"""A request's body on its way to a disk: in large pieces, one written while the next comes."""

import asyncio
from collections.abc import Callable

from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request

_PIECE = 1024**2


async def pour(request: Request, write: Callable[..., None]) -> bool:
    """Hand a body's bytes to ``write``, in a thread, about a megabyte at a time.

    Reading stops where writing does not keep up: three megabytes are held at most.

    Args:
        request: The request.
        write: Takes any number of bytes objects; what it raises ends this.

    Returns:
        Whether the body came whole; false where the connection broke, and all that had come
        was written.
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
