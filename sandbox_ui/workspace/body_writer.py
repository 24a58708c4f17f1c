"""Write a request's body to disk in large pieces, while receiving the next one."""

import asyncio
from collections.abc import Callable

from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request

_CHUNK_BYTES = 1024**2


async def write_body(request: Request, write: Callable[..., None]) -> bool:
    """Write a body in a thread, a megabyte at a time; return whether it is complete."""
    writing: asyncio.Task[None] | None = None
    chunks: list[bytes] = []
    size = 0
    complete = True
    try:
        async for chunk in request.stream():
            chunks.append(chunk)
            size += len(chunk)
            if size < _CHUNK_BYTES:
                continue
            if writing is not None:
                await writing
            writing = asyncio.create_task(run_sync(write, *chunks))
            chunks, size = [], 0
    except ClientDisconnect:
        complete = False
    finally:
        if writing is not None:
            await writing
    if size:
        await run_sync(write, *chunks)
    return complete
