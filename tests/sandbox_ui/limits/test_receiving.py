"""Files that are being received: counted, limited, and ended where nothing arrives."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.types import Message, Receive

from agent.errors import StorageFull, TraceError
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.user import User
from sandbox_ui.limits.quota import Quota
from sandbox_ui.limits.receiving import (
    MAX_RECEIVED_PER_USER,
    STALL_BYTES,
    Receiver,
    Receiving,
    UploadStalled,
)
from tests.support.server import run_coroutine

QUOTA = 100_000


class Used:
    """A catalog of users who have stored 40 kB each."""

    def measured_bytes(self, _owner: str) -> int:
        return 40_000


@pytest.fixture
def quota(tmp_path: Path) -> Quota:
    catalog: Any = Used()
    return Quota(catalog, QUOTA, tmp_path)


@pytest.fixture
def receiver(tmp_path: Path, quota: Quota) -> Receiver:
    return Receiver(tmp_path, quota, stall_seconds=0.2)


def access(name: str) -> Access:
    return Access(User(name), (), lambda _: pytest.fail("no run is asked for"), cast(Any, None))


def chunks(*sizes: int) -> Receive:
    """Return the ``receive`` of a body that arrives in these chunks, and has no end."""
    waiting = list(sizes)

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": bytes(waiting.pop(0)), "more_body": True}

    return receive


def receive_by(
    receiver: Receiver, user: str, receive: Receive, limit: int = 1_000_000
) -> AbstractAsyncContextManager[Receiving]:
    request = Request({"type": "http", "headers": []}, receive)
    return receiver.receive(request, access(user), limit, lambda: TraceError("too large"))


def test_what_arrives_counts_for_the_quota_until_it_is_stored(
    receiver: Receiver, quota: Quota, tmp_path: Path
) -> None:
    async def receive_beside_another() -> None:
        async with receive_by(receiver, "ann", chunks(20_000, 20_000)) as receiving:
            assert receiving.folder.parent == tmp_path / "imports"
            with quota.reserve("ann") as other:
                other.grow(30_000)
                await receiving.request.receive()
                assert quota.remaining("ann") == QUOTA - 40_000 - 50_000
                with pytest.raises(StorageFull, match="larger than the storage"):
                    await receiving.request.receive()
            assert quota.remaining("ann") == QUOTA - 40_000 - 20_000
            assert quota.remaining("bob") == QUOTA - 40_000

    run_coroutine(receive_beside_another())
    assert quota.remaining("ann") == QUOTA - 40_000
    assert not list((tmp_path / "imports").iterdir())


@pytest.mark.parametrize("body", [chunks(), chunks(*[1] * STALL_BYTES)])
def test_an_upload_that_nothing_or_too_little_arrives_of_ends(
    receiver: Receiver, tmp_path: Path, body: Receive
) -> None:
    async def slowly() -> Message:
        await asyncio.sleep(0.01)
        return await body()

    async def receive_all() -> None:
        async with receive_by(receiver, "ann", slowly) as receiving:
            async for _ in receiving.request.stream():
                pass

    with pytest.raises(UploadStalled):
        run_coroutine(receive_all())
    assert not list((tmp_path / "imports").iterdir())


def test_a_body_may_be_as_large_as_its_route_allows(receiver: Receiver) -> None:
    async def receive_all() -> None:
        async with receive_by(receiver, "ann", chunks(10, 10), limit=15) as receiving:
            async for _ in receiving.request.stream():
                pass

    with pytest.raises(TraceError, match="too large"):
        run_coroutine(receive_all())


def test_one_user_receives_a_few_files_at_once_and_others_do_not_wait(receiver: Receiver) -> None:
    begun = list[str]()

    async def hold(user: str) -> None:
        async with receive_by(receiver, user, chunks()):
            begun.append(user)
            await asyncio.Event().wait()

    async def receive_many() -> None:
        tasks = [asyncio.create_task(hold("ann")) for _ in range(MAX_RECEIVED_PER_USER + 2)]
        await wait_for(lambda: len(begun) == MAX_RECEIVED_PER_USER)
        tasks.append(asyncio.create_task(hold("bob")))
        await wait_for(lambda: "bob" in begun)
        assert begun.count("ann") == MAX_RECEIVED_PER_USER
        tasks[0].cancel()
        await wait_for(lambda: begun.count("ann") == MAX_RECEIVED_PER_USER + 1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_coroutine(receive_many())


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_client_that_leaves_is_noticed(receiver: Receiver) -> None:
    async def disconnected() -> Message:
        return {"type": "http.disconnect"}

    async def leave() -> None:
        async with (
            receive_by(receiver, "ann", disconnected) as receiving,
            receiving.client_left() as left,
        ):
            await wait_for(left.is_set)

    run_coroutine(leave())
