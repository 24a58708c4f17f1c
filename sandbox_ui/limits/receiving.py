"""Receive uploads into the data folder, with limits on quota, concurrency and stalling."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from anyio import CancelScope
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.types import Message

from agent.errors import StudioError
from agent.traces.importing import SCRATCH
from sandbox_ui.auth.access import Access
from sandbox_ui.limits.quota import Quota, Reservation
from sandbox_ui.scheduling.limiter import PerUserLimiter

MAX_RECEIVED, MAX_RECEIVED_PER_USER = 32, 4
"""Files received at once, in total and per user; further ones wait."""

STALL_SECONDS = 60.0
STALL_BYTES = 16 * 1024
"""An upload of which less than this arrives within ``STALL_SECONDS`` is ended."""


class UploadStalled(StudioError):
    """An upload stopped arriving, or arrives too slowly."""


class Receiving:
    """A file that is being received into a folder, which is removed afterwards."""

    def __init__(
        self,
        request: Request,
        folder: Path,
        reservation: Reservation,
        limit: int,
        too_large: Callable[[], StudioError],
        stall_seconds: float,
    ) -> None:
        self.request = Request(request.scope, self._receive)
        self.folder = folder
        self.reservation = reservation
        self._inner = request
        self._left, self._too_large = limit, too_large
        self._stall_seconds = self._patience = stall_seconds
        self._fresh = 0

    async def _receive(self) -> Message:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._patience):
                message = await self._inner.receive()
        except TimeoutError:
            raise UploadStalled("The upload stalled and was ended. Send the file again.") from None
        size = len(message.get("body", b""))
        self._patience -= loop.time() - began
        self._fresh += size
        self._left -= size
        if self._left < 0:
            raise self._too_large()
        if self._fresh >= STALL_BYTES:
            self._patience, self._fresh = self._stall_seconds, 0
        self.reservation.grow(size)
        return message

    @asynccontextmanager
    async def client_left(self) -> AsyncIterator[threading.Event]:
        """Yield an event that is set when the client leaves; after the whole body arrived."""
        left = threading.Event()

        async def watch() -> None:
            while (await self._inner.receive())["type"] != "http.disconnect":
                pass
            left.set()

        watching = asyncio.create_task(watch())
        try:
            yield left
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching


class Receiver:
    """Receives files of all users."""

    def __init__(self, data: Path, quota: Quota, stall_seconds: float = STALL_SECONDS) -> None:
        self._folder = data / SCRATCH
        self._quota = quota
        self._stall_seconds = stall_seconds
        self._limiter = PerUserLimiter(MAX_RECEIVED, MAX_RECEIVED_PER_USER)
        shutil.rmtree(self._folder, ignore_errors=True)  # of a process that was killed

    @asynccontextmanager
    async def receive(
        self, request: Request, access: Access, limit: int, too_large: Callable[[], StudioError]
    ) -> AsyncIterator[Receiving]:
        """Wait for a slot, and hold it during the block; nothing of the file is left then.

        Reading ``Receiving.request`` raises ``StorageFull`` or ``UploadStalled``.
        """
        async with self._limiter.slot(access.limiter_key):
            with await run_sync(self._quota.reserve, access.user.id) as reservation:
                folder = await run_sync(self._create_folder)
                try:
                    yield Receiving(
                        request, folder, reservation, limit, too_large, self._stall_seconds
                    )
                finally:
                    with CancelScope(shield=True):
                        await run_sync(partial(shutil.rmtree, folder, ignore_errors=True))

    def _create_folder(self) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._folder))
