"""What one more step costs after many others, and what reads one of them."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agent.data_folder import DataFolder
from agent.events import Event, Mode, StepStarted, encode
from agent.limits import Limits
from agent.models.base import ModelConfig, Usage
from agent.models.endpoint.client import EndpointModel
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun
from agent.util.stop import Stop
from tests.bench.agent.reference import endpoint
from tests.bench.context import BenchContext
from tests.bench.growth.history import REQUESTS
from tests.bench.server.clients import serve_app
from tests.bench.server.idle import cpu_seconds
from tests.support import httpx
from tests.support.component.events import bash, ended, started, step
from tests.support.local_provider import LocalSandboxProvider

_MORE_STEPS = 20
_OBSERVATION = "A line of an output that the model reads.\n" * 5


def measure_loop(context: BenchContext, steps: int) -> Mapping[str, float]:
    """Continue a run of so many steps; a round of 20 more is measured without its first step."""
    provider = LocalSandboxProvider(context.folder / f"loop-{steps}")
    folder = RunFolder.create(provider.data, provider.create_workspace())
    write_journal(folder, steps)
    marks = []
    with endpoint(context) as (url, _):
        model = EndpointModel(ModelConfig(url, "test-model"))
        run = RecordedRun(folder, provider)
        limits = Limits(steps=_MORE_STEPS + 5, conversation_tokens=None)
        for event in run.follow_up("Go on.", model, limits, Stop()):
            if isinstance(event, StepStarted):
                marks.append(time.process_time())
        run.close()
    if len(marks) != _MORE_STEPS + 1:
        raise RuntimeError(f"The run went on for {len(marks)} steps.")
    return {"step of the loop, over HTTP": (marks[-1] - marks[1]) / (_MORE_STEPS - 1)}


def measure_reading(context: BenchContext, steps: int) -> Mapping[str, float]:
    """Read the last step of a run in the inspector, for a fork and for the chart of tokens."""
    data = context.folder / f"reading-{steps}"
    with DataFolder(data):
        run = RunFolder.create(data, LocalSandboxProvider(data).create_workspace())
        write_journal(run, steps, mode="plain")
    urls = {
        "inspector: request of the last step": f"steps/{steps}/request",
        "inspector: request of step 10": "steps/10/request",
        "inspector: list of requests": "requests",
        "fork: what it would have": f"fork?step={steps}",
        "fork at step 10: what it would have": "fork?step=10",
        "tokens of the last step": f"tokens?after={steps - 1}",
    }
    costs = {}
    with (
        serve_app(context, "", 1, STUDIO_DATA=str(data), STUDIO_WARM_SANDBOXES="0") as app,
        httpx.Client(base_url=f"{app.address}/api/runs/{run.id}/", timeout=60) as client,
    ):
        for name, url in urls.items():
            client.get(url).raise_for_status()  # warm-up
            before = cpu_seconds(app.pid)
            for _ in range(REQUESTS):
                client.get(url).raise_for_status()
            costs[name] = (cpu_seconds(app.pid) - before) / REQUESTS
    return costs


def write_journal(folder: RunFolder, steps: int, mode: Mode = "sandbox") -> None:
    """Write an ended run, whose task asks the scripted endpoint for some steps more."""
    task = f"Run {steps + _MORE_STEPS} steps of `true`."
    begin = replace(started(task, system="You measure.", mode=mode), at=time.time())
    events = (begin, *_steps(steps), replace(ended(), at=time.time()))
    folder.journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))


def _steps(steps: int) -> Iterator[Event]:
    for number in range(1, steps + 1):
        call = bash("cat part.txt", observation=_OBSERVATION)
        usage = Usage(300 * number, 30)
        yield from step(number, call, text="I read on.", reasoning="The next part.", usage=usage)
