"""The asynchronous API: concurrent runs and commands, and their cancellation."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent import AsyncStudio, Settings, UsageError
from agent.events import ApprovalRequested, Paused, RunEnded, RunStarted, ToolStarted
from agent.experiments.folder import ExperimentFolder
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.agent.api.conftest import bash, script
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import Body, Turn
from tests.support.server import wait_until

pytestmark = [pytest.mark.contract, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def studio(settings: Settings) -> AsyncIterator[AsyncStudio]:
    async with AsyncStudio(settings, ProcessSandboxProvider) as studio:
        yield studio


async def test_runs_are_iterated_and_awaited(studio: AsyncStudio, tmp_path: Path) -> None:
    run = await studio.run("Go.", model=script(bash("x=7; echo a > output/answer.txt")))
    events = [event async for event in run]
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert (run.result.answer, await run.wait()) == ("a", run.result)
    assert (await run.sandbox.shell("echo $x")).stdout == "7\n"
    await run.send("More.", model=script(bash("echo b > output/b")))
    assert (await run.wait()).ok
    assert run.files["output/b"].text() == "b\n"
    assert (await run.save(tmp_path / "out")).skipped == []
    await run.close()
    with pytest.raises(UsageError, match="task is empty"):
        await studio.run("")


@pytest.mark.nightly
async def test_eight_runs_work_concurrently(studio: AsyncStudio, tmp_path: Path) -> None:
    async def work(number: int) -> str:
        wait = f"until [ $(ls {tmp_path}/here.* | wc -l) = 8 ]; do sleep 0.05; done"
        command = f"touch {tmp_path}/here.{number}; {wait}; echo {number} > output/answer.txt"
        async with await studio.run("Go.", model=script(bash(command))) as run:
            return (await run.wait()).answer

    answers = await asyncio.gather(*map(work, range(8)))
    assert answers == [str(number) for number in range(8)]


async def test_a_run_is_steered(studio: AsyncStudio) -> None:
    run = await studio.run("Go.", model=script(bash("echo a")), approve=["every"])
    run.pause()
    async for event in run:
        if isinstance(event, Paused):
            run.step() if event.step == 0 else run.resume()
        if isinstance(event, ApprovalRequested):
            run.steering.allow(event.call_id)
    assert run.result.ok


async def test_cancelling_stops_a_run(studio: AsyncStudio) -> None:
    started = asyncio.Event()
    run = await studio.run("Go.", model=script(bash("sleep 600")))

    async def work() -> None:
        async for event in run:
            if isinstance(event, ToolStarted):
                started.set()

    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await run.close()
    assert run.result.status == "stopped"


async def test_a_sandbox_without_a_run_is_awaited(studio: AsyncStudio) -> None:
    async with studio.sandbox(network="open") as sandbox:
        meet = "touch $N; until [ -e a ] && [ -e b ]; do sleep 0.02; done; echo $N"
        results = await asyncio.gather(*(sandbox.run(meet, env={"N": name}) for name in "ab"))
        assert [each.stdout for each in results] == ["a\n", "b\n"]
        await sandbox.write("c", b"1")
        assert await sandbox.read("c") == b"1"
        with pytest.raises(FileNotFoundError):
            await sandbox.read("d")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sandbox.run("touch late; sleep 600.7"), 1.0)
        assert (await sandbox.run("ls late")).ok
        assert (await sandbox.run("pgrep -f '^sleep 600.7$'")).exit_code == 1
        assert sandbox.files["c"].read() == b"1"


async def test_a_comparison_is_awaited_and_cancelling_stops_it(
    studio: AsyncStudio, settings: Settings
) -> None:
    def respond(body: Body) -> Turn:
        hangs = body.get("temperature") is None
        return Turn(text="12", fault="silent at=0" if hangs else "")

    with Endpoint(respond) as endpoint:
        member = f"plain,model=m,base-url={endpoint.url}"
        cold = [f"{member},temperature={value}" for value in (0, 1)]
        result = await studio.compare("How many?", members=cold)
        assert result.verdict == "All members give the same answer."
        task = asyncio.create_task(studio.compare("How many?", members=[member, cold[0]]))
        await asyncio.to_thread(endpoint.wait_for_requests, 4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    (_, stopped) = ExperimentFolder.all(settings.data, "comparison")
    folders = [RunFolder.open(settings.data, each.run) for each in stopped.runs()]
    assert len(folders) == 2
    wait_until(lambda: all(journal.ends_with(each.journal, RunEnded) for each in folders))
