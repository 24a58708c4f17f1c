"""The pool of sandboxes: refill, single use of each sandbox, and closing."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from agent.errors import SandboxError
from agent.sandbox import pool as pool_module
from agent.sandbox.pool import Pool
from agent.sandbox.process import ProcessSandbox
from tests.contract.sandbox_helpers import check_output

pytestmark = pytest.mark.contract

Create = Callable[[], ProcessSandbox]


@pytest.fixture
def create(tmp_path: Path) -> Iterator[Create]:
    numbers = itertools.count()
    with ExitStack() as sandboxes:
        yield lambda: sandboxes.enter_context(
            closing(ProcessSandbox(tmp_path / str(next(numbers))))
        )


def open_pool(create: Create, size: int) -> Pool[ProcessSandbox]:
    return Pool(create, size, dispose=ProcessSandbox.close, lost=lambda each: each.lost)


def test_a_sandbox_is_handed_out_once_and_replaced(create: Create) -> None:
    with closing(open_pool(create, 0)) as empty, closing(open_pool(create, 1)) as pool:
        assert empty.take() is None
        assert pool.wait_full(20)
        first = pool.take()
        assert pool.wait_full(20)
        second = pool.take()
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert check_output(first, "echo on") == "on"


def test_a_failed_creation_is_retried(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_RETRY_SECONDS", 0.0)
    failures = iter([OSError(28, "No space left on device"), SandboxError("no")])

    def create_after_errors() -> ProcessSandbox:
        for error in failures:
            raise error
        return create()

    with closing(open_pool(create_after_errors, 1)) as pool:
        assert pool.wait_full(20)


def test_closing_ends_only_idle_sandboxes(create: Create) -> None:
    sandboxes: list[ProcessSandbox] = []

    def create_and_keep() -> ProcessSandbox:
        sandboxes.append(create())
        return sandboxes[-1]

    pool = open_pool(create_and_keep, 2)
    assert pool.wait_full(20)
    taken = pool.take()
    pool.close()
    pool.close()
    assert pool.take() is None
    for sandbox in sandboxes:
        if sandbox is not taken:
            with pytest.raises(SandboxError, match="closed"):
                sandbox.kind("input")
    assert taken is not None
    assert check_output(taken, "echo on") == "on"


def test_closing_does_not_wait_for_a_retry() -> None:
    failed = threading.Event()

    def fail() -> ProcessSandbox:
        failed.set()
        raise SandboxError("no engine")

    pool = open_pool(fail, 1)
    assert failed.wait(5)
    pool.close()
