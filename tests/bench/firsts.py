"""From Run to the first command's end, and from the last event to the end of it all."""

import shutil
import subprocess
from functools import partial

from agent.data_folder import DataFolder
from agent.events import RunEnded, ToolEnded
from agent.limits import Limits
from agent.models.scripted import ScriptedModel
from agent.provisioning.provider import Computers
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, reap
from agent.util.cancellation import Stop
from tests.bench.figures import SAMPLED, Sample, Table, repeated, timed
from tests.bench.place import PATIENCE, SUBMIT, TASK, Place, bash

RIVAL = "`docker run -d` and `docker exec … true` of the same image"


def table(place: Place, *, times: int = 15) -> Table:
    """Runs from the warm pool, runs without one, and the engine's own commands."""
    made = Table(
        "From Run to the first command's end",
        ("a run whose first step is `true`, the model's time aside", *SAMPLED),
        notes=["Bars: 50 ms from the pool, which makes the next one meanwhile; 300 ms cold."],
    )
    for name, pool in (("sandbox from the warm pool", 1), ("sandbox made for the run (cold)", 0)):
        with place.computers(f"pool-{pool}", pool=pool) as computers:
            firsts, ends = _runs(place, computers, times)
        made.add(name, *firsts.cells())
    made.add(RIVAL, *_by_hand(place, max(1, times // 2)))
    made.add("the end: shell, container and watch gone", *ends.cells())
    return made


def _runs(place: Place, computers: Computers, times: int) -> tuple[Sample, Sample]:
    firsts: list[float] = []
    ends: list[float] = []
    for _ in range(times + 1):
        computers.wait_for_pool(PATIENCE)
        with place.run(computers) as run:
            model = ScriptedModel([bash("true"), SUBMIT])
            events = run.start(TASK, model, Limits(), Stop())
            with timed(firsts):
                next(event for event in events if isinstance(event, ToolEnded))
            next(event for event in events if isinstance(event, RunEnded))
            with timed(ends):
                run.close()
    return Sample.of(firsts[1:]), Sample.of(ends[1:])


def _by_hand(place: Place, times: int) -> tuple[str, ...]:
    docker = shutil.which("docker")
    if docker is None:
        return ("no `docker` command here", *[""] * (len(SAMPLED) - 1))
    with DataFolder(place.folder / "by-hand") as data:
        label = f"{INSTANCE_LABEL}={data.instance}"
        run = [docker, "run", "-d", "--init", "--label", label, place.image, "sleep", "infinity"]
        try:
            return repeated(partial(_first, docker, run, place.environment("x")), times).cells()
        finally:
            reap(place.client, data.instance)


def _first(docker: str, run: list[str], environment: dict[str, str]) -> None:
    made = subprocess.run(run, env=environment, check=True, capture_output=True, text=True)
    subprocess.run([docker, "exec", made.stdout.strip(), "true"], env=environment, check=True)
