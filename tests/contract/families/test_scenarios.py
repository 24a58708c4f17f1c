"""The same scenarios against the strict server of every family.

The servers check what comes back; ``assert_nothing_lost`` asks them. A server may refuse a request
once to teach something.
"""

import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent import Limits, Run, Studio
from agent.api.models import select_model
from agent.events import ObservationsCleared, SummaryEnded, ToolEnded, ToolStarted
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun
from agent.runs.requests.body import EXACT, rebuild_request
from agent.runs.requests.records import read_log
from tests.contract.families.conftest import open_studio
from tests.contract.families.scripts import bash, by_last_user, counting, in_order, submit
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.turns import Turn
from tests.support.servers.families import FAMILIES, Family
from tests.support.servers.server import Script, Seen, StrictServer

pytestmark = pytest.mark.contract

NAMES = list(FAMILIES)
PRINT = "seq -f 'Line %g of an output that takes a lot of room in the context'"
# 200 steps take seconds: one family of each API in every run, the others by night.
LONG = {"openai-compatible", "gemini-3", "openai-responses", "anthropic-4.7"}
LONG_NAMES = [
    name if name in LONG else pytest.param(name, marks=pytest.mark.nightly) for name in NAMES
]
API = {"openai-responses": "responses", "anthropic-4.7": "messages"}
"""The API that the user has to name where the address does not."""


@pytest.fixture(params=NAMES)
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[str(request.param)]


def assert_nothing_lost(server: StrictServer, connections: int = 1) -> None:
    """Assert that all came back as it was sent, and that each connection was taught only once."""
    assert server.losses == []
    for refusal, count in Counter(server.refusals).items():
        assert count <= connections, f"taught nothing: {refusal}"


@contextmanager
def serve(family: Family, script: Script, connections: int = 1) -> Iterator[StrictServer]:
    """Serve a script to so many connections, to which nothing may be lost."""
    with family.serve(script) as server:
        yield server
    assert_nothing_lost(server, connections)


def submitted(run: Run) -> list[str]:
    """Wait until a run has submitted; return what its commands put out meanwhile."""
    events = list(run)
    assert (run.result.status, run.result.reason) == ("submitted", "")
    return [event.observation for event in events if isinstance(event, ToolEnded)]


@pytest.mark.parametrize("name", [name for name in NAMES if FAMILIES[name].host])
def test_a_follow_up_behind_a_gateway(studio: Studio, name: str) -> None:
    """The address says nothing of the family: what it needs is learned."""
    family = FAMILIES[name].behind_a_gateway
    script = by_last_user(FIRST=in_order("echo one"), SECOND=in_order("echo two"))
    with serve(family, script) as server:
        run = studio.run("FIRST", model=family.config(server, api=API.get(name, "auto")))
        submitted(run)
        submitted(run.send("SECOND"))


def test_parallel_calls_and_reasoning_on_some_turns_only(studio: Studio, family: Family) -> None:
    def script(seen: Seen) -> Turn:
        number = len(seen.commands)
        reasoning = f"Thought {number}." if number % 4 else ""
        commands = f"echo x{number}", f"echo x{number + 1}"
        return bash(*commands, reasoning=reasoning) if number < 6 else submit()

    with serve(family, script) as server:
        run = studio.run("Do it.", model=family.config(server))
        outputs = submitted(run)
    assert [f"x{number}" in output for number, output in enumerate(outputs[:6])] == [True] * 6
    assert run.result.totals.steps == 4


def check_rebuilt(folder: RunFolder, steps: int) -> None:
    """Check that each request can be built again from the journal, byte for byte."""
    attempts = Counter[int]()
    for recorded in read_log(folder.requests):
        attempts[recorded.step] += 1
        rebuilt = rebuild_request(folder, recorded.step, attempts[recorded.step])
        assert rebuilt.fidelity == EXACT, (recorded.step, rebuilt.note)
    assert len(attempts) == steps


def test_a_follow_up_after_submit(studio: Studio, family: Family) -> None:
    script = by_last_user(
        FIRST=in_order("echo one", "echo 3 > output/answer.txt"), SECOND=in_order("echo two")
    )
    with serve(family, script) as server:
        run = studio.run("FIRST", model=family.config(server))
        assert "one" in submitted(run)[0]
        assert run.result.answer == "3"
        assert "two" in submitted(run.send("SECOND"))[0]
    check_rebuilt(RunFolder.open(studio.path, run.id), steps=5)


def test_a_message_in_mid_run(studio: Studio, family: Family) -> None:
    script = by_last_user(FIRST=in_order("echo one", "echo two"), SECOND=in_order("echo other"))
    with serve(family, script) as server:
        run = studio.run("FIRST", model=family.config(server))
        for event in run:
            if isinstance(event, ToolEnded) and "one" in event.observation:
                run.steering.queue_message("SECOND")
    assert (run.result.status, run.result.reason) == ("submitted", "")
    assert server.seen[-1].commands == ("echo one", "echo other")


def test_a_fork_at_a_step(studio: Studio, family: Family) -> None:
    script = by_last_user(FIRST=in_order("echo one", "echo two"), SECOND=in_order("echo other"))
    with serve(family, script, connections=3) as server:
        run = studio.run("FIRST", model=family.config(server))
        submitted(run)
        submitted(run.fork(1, "SECOND", model=family.config(server)))
        assert server.seen[-1].commands == ("echo one", "echo other")
        submitted(run.fork(1, model=family.config(server)))
        assert server.seen[-1].commands == ("echo one", "echo two")


def test_another_family_continues_and_the_first_one_goes_on(studio: Studio, family: Family) -> None:
    before = FAMILIES[NAMES[list(FAMILIES.values()).index(family) - 1]]
    script = by_last_user(
        FIRST=in_order("echo one", "echo two"),
        SECOND=in_order("echo three", "echo four"),
        THIRD=in_order("echo five"),
    )
    with serve(before, script, connections=2) as one, serve(family, script) as other:
        run = studio.run("FIRST", model=before.config(one))
        submitted(run)
        submitted(run.send("SECOND", model=family.config(other)))
        submitted(run.send("THIRD", model=before.config(one)))


def test_another_family_continues_at_a_step(studio: Studio, family: Family) -> None:
    """A fork in the middle of a round: the last message is a result, made by another model."""
    first = FAMILIES["sglang" if family is FAMILIES["vllm"] else "vllm"]
    script = in_order("echo one", "echo two")
    with first.serve(script) as one, serve(family, script) as other:
        run = studio.run("Do it.", model=first.config(one))
        submitted(run)
        submitted(run.fork(1, model=family.config(other)))


def test_a_stop_in_mid_call(studio: Studio, family: Family) -> None:
    def script(seen: Seen) -> Turn:
        if "SECOND" in "".join(seen.users):
            return in_order("echo two")(seen)
        if seen.commands:
            return Turn("", "A long thought.", [("submit", {})], fault="silent")
        return bash("echo started; sleep 600", reasoning="This takes long.")

    with serve(family, script) as server:
        run = studio.run("Do it.", model=family.config(server))
        for event in run:
            if isinstance(event, ToolStarted):
                threading.Timer(0.05, run.stop).start()
        assert run.result.status == "stopped"
        timer = threading.Timer(0.3, run.stop)  # while the answer is silent
        run.send("Go on.")
        timer.start()
        assert run.wait().status == "stopped"
        submitted(run.send("SECOND"))


def test_a_restart_in_mid_run(studio: Studio, family: Family, tmp_path: Path) -> None:
    """The journal as a killed studio leaves it, in the middle of a call, is continued."""
    script = in_order("echo one", "echo two", "echo three")
    with serve(family, script, connections=2) as server:
        run = studio.run("Do it.", model=family.config(server))
        for event in run:
            if isinstance(event, ToolStarted) and event.summary.endswith("two"):
                break
        shutil.copytree(tmp_path / "data", tmp_path / "copy")
        run.cancel()
        with open_studio(tmp_path / "copy") as reopened:
            model = select_model("", family.config(server), reopened.settings).model
            folder = RunFolder.open(reopened.path, run.id)
            with RecordedRun(folder, LocalSandboxProvider(reopened.path)) as recorded:
                list(recorded.follow_up("Go on.", model))
                last = recorded.state.rounds[-1]
    assert (last.status, last.reason) == ("submitted", "")
    assert server.seen[-1].commands == ("echo one", "echo two", "echo three")


@pytest.mark.parametrize("family", LONG_NAMES, indirect=True)
def test_200_steps_with_clearing(studio: Studio, family: Family) -> None:
    script = counting(200, f"{PRINT} 20")
    # Ollama refuses nothing: it cuts the conversation silently.
    context = None if family.truncates else 40_000
    with family.serve(script, context=context) as server:
        limits = Limits(steps=250, conversation_tokens=None)
        run = studio.run("Count.", model=family.config(server), limits=limits)
        events = list(run)
    assert (run.result.status, run.result.reason) == ("submitted", "")
    assert run.result.totals.steps == 201
    cleared = [event for event in events if isinstance(event, ObservationsCleared)]
    assert bool(cleared) is not family.truncates
    assert server.losses == []
    if family.truncates:
        assert_nothing_lost(server)


def test_a_summary(studio: Studio, family: Family) -> None:
    script = counting(14, f"{PRINT} 50", "I counted so far.")
    with serve(family, script) as server:
        limits = Limits(conversation_tokens=8000, summarise=True)
        run = studio.run("Count.", model=family.config(server), limits=limits)
        summaries = [event for event in run if isinstance(event, SummaryEnded)]
    assert (run.result.status, run.result.reason) == ("submitted", "")
    assert {each.reason for each in summaries} == {""}
