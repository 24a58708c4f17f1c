"""The API for programs with an event loop: the same calls, awaited.

Each call is carried out in a thread, so that the loop is never blocked.
"""

import asyncio
import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from agent.api.files import Files
from agent.api.models import ModelArgument
from agent.api.run import Run, RunResult
from agent.api.sandbox import Sandbox
from agent.api.studio import Opener, Studio, containers
from agent.events import Event
from agent.limits import Limits
from agent.loop.steering import Steering
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from agent.util.stop import Stop

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", Run, Sandbox, Studio)


async def _in_thread(call: Callable[[], R]) -> R:
    """Call a function in a thread of its own, however many calls are being waited for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[R] = loop.create_future()

    def tell(result: R | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as failure:  # noqa: BLE001 - raised where it is awaited
            error = failure
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=work, name="awaited", daemon=True).start()
    return await done


def _awaited(
    method: Callable[Concatenate[S, P], R], *, stoppable: bool = False
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the twin of a method of ``sync``; cancelling a stoppable one ends what it does."""

    @functools.wraps(method)
    async def twin(self: Any, /, *args: P.args, **named: P.kwargs) -> R:
        stop: Any = named.get("stop") or Stop()
        options: Any = {**named, "stop": stop} if stoppable else named
        try:
            return await _in_thread(lambda: method(self.sync, *args, **options))
        except asyncio.CancelledError:
            stop.set()
            raise

    return twin


def _created(
    method: Callable[Concatenate[Studio, P], Run],
) -> "Callable[Concatenate[Any, P], Coroutine[Any, Any, AsyncRun]]":
    @functools.wraps(method)
    async def twin(self: Any, /, *args: P.args, **named: P.kwargs) -> AsyncRun:
        return AsyncRun(await _in_thread(lambda: method(self.sync, *args, **named)))

    return twin


class AsyncSandbox:
    """A ``Sandbox`` whose methods are awaited.

    Cancelling ``run`` or ``shell`` ends the command.

    Attributes:
        sync: The sandbox.
        files: The files of ``/workspace`` by path.
    """

    def __init__(self, sync: Sandbox) -> None:
        self.sync = sync
        self.files: Files = sync.files

    run = _awaited(Sandbox.run, stoppable=True)
    shell = _awaited(Sandbox.shell, stoppable=True)
    read = _awaited(Sandbox.read)
    write = _awaited(Sandbox.write)
    remove = _awaited(Sandbox.remove)
    list = _awaited(Sandbox.list)
    kind = _awaited(Sandbox.kind)
    close = _awaited(Sandbox.close)


class AsyncRun:
    """A ``Run`` that is iterated with ``async for`` or awaited; cancelling that stops it.

    Attributes:
        sync: The run, whose properties can be used as they are.
        files: Its files by path.
    """

    def __init__(self, sync: Run) -> None:
        self.sync = sync
        self.files: Files = sync.files
        self._thread = ThreadPoolExecutor(1, "run")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Carry out the round and yield its events as they happen; see ``Run.__iter__``."""
        events = iter(self.sync)
        while (event := await self._carried_out(lambda: next(events, None))) is not None:
            yield event

    async def wait(self) -> RunResult:
        """Carry out the round to its end and return the result."""
        return await self._carried_out(self.sync.wait)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.sync.id

    @property
    def result(self) -> RunResult:
        """See ``Run.result``."""
        return self.sync.result

    @property
    def sandbox(self) -> AsyncSandbox:
        """See ``Run.sandbox``."""
        return AsyncSandbox(self.sync.sandbox)

    async def send(
        self,
        text: str,
        *,
        images: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
        model: ModelArgument = None,
        limits: Limits | None = None,
    ) -> Self:
        """Begin another round; see ``Run.send``."""
        await _in_thread(lambda: self.sync.send(text, images=images, model=model, limits=limits))
        return self

    def stop(self) -> None:
        """End the round early; see ``Run.stop``."""
        self.sync.stop()

    def pause(self) -> None:
        """Let the round wait before its next model turn; see ``Run.pause``."""
        self.sync.pause()

    def resume(self) -> None:
        """Let a paused round go on; see ``Run.resume``."""
        self.sync.resume()

    def step(self) -> None:
        """Let a paused round take one step; see ``Run.step``."""
        self.sync.step()

    @property
    def steering(self) -> Steering:
        """See ``Run.steering``; its methods do not wait."""
        return self.sync.steering

    async def fork(self, step: int, message: str = "", **options: Any) -> "AsyncRun":
        """Create a run that starts from a step of this one; see ``Run.fork``."""
        return AsyncRun(await _in_thread(lambda: self.sync.fork(step, message, **options)))

    save = _awaited(Run.save)
    report = _awaited(Run.report)

    async def close(self) -> None:
        """End the round and the sandbox, keeping the files."""
        self.sync.stop()
        await _in_thread(self.sync.close)
        self._thread.shutdown(wait=False)

    async def _carried_out(self, call: Callable[[], R]) -> R:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except asyncio.CancelledError:
            self.sync.stop()
            raise


class AsyncStudio:
    """A ``Studio`` for ``async with``; it takes the same arguments.

    Attributes:
        sync: The studio.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        source: Opener = containers,
        *,
        data: "str | os.PathLike[str] | None" = None,
    ) -> None:
        self.sync = Studio(settings, source, data=data)

    async def __aenter__(self) -> Self:
        await _in_thread(self.sync.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await _in_thread(self.sync.__exit__)

    run = _created(Studio.run)
    fork = _created(Studio.fork)
    compare = _awaited(Studio.compare, stoppable=True)

    @asynccontextmanager
    async def sandbox(
        self,
        *,
        network: "NetworkPolicy | str" = "none",
        inputs: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
    ) -> AsyncIterator[AsyncSandbox]:
        """Start a sandbox without a model for the block; see ``Studio.sandbox``."""
        box = AsyncSandbox(
            await _in_thread(lambda: self.sync.sandbox(network=network, inputs=inputs))
        )
        try:
            yield box
        finally:
            await box.close()
