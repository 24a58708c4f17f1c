"""An application with Docker sandboxes, for tests that make them fail."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from agent import prompts
from agent.data_folder import DataFolder
from agent.events import Event, RunEnded, StepStarted, ToolEnded
from agent.limits import Limits
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs import journal
from agent.runs.recorded_run import Task
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, SANDBOX_LABEL, reap
from agent.sandbox.engine.client import Client
from agent.sandbox.network.policy import NetworkPolicy
from agent.sandbox.network.subnets import reap as reap_networks
from agent.settings import Settings, load
from sandbox_ui.runs.manager import RunManager
from tests.support.models.scripted import ScriptedModel, ScriptedTurn
from tests.support.server import wait_until

E = TypeVar("E", bound=Event)


def settings_for(image: str) -> Settings:
    """Return settings for the tests' engine, without warm sandboxes."""
    host = {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}
    return replace(load(host), image=image, warm_sandboxes=0)


class StudioApp:
    """The runs and the sandbox provider of one application, on a locked data folder."""

    def __init__(
        self, data: DataFolder, settings: Settings, engine: Client, *, disks: bool = True
    ) -> None:
        self.data, self.engine = data, engine
        self.provider = DockerSandboxProvider(settings, data, disks=disks)
        self.runs = RunManager(data.path, self.provider, idle_seconds=settings.idle_seconds)

    def start(self, *turns: ScriptedTurn, network: NetworkPolicy | None = None) -> str:
        run = self.runs.create_draft()
        task = Task("Do it.", prompts.get_bundled("general"), network=network or NetworkPolicy())
        self.runs.start(run, task, ScriptedModel(turns), Limits())
        return run

    def follow_up(self, run: str, *turns: ScriptedTurn) -> RunEnded:
        rounds = len(self.events_of_type(run, RunEnded))
        self.runs.follow_up(run, "Go on.", ScriptedModel(turns), Limits())
        return self.wait_for_end(run, rounds + 1)

    def run_to_end(self, *turns: ScriptedTurn, network: NetworkPolicy | None = None) -> str:
        run = self.start(*turns, network=network)
        self.wait_for_end(run)
        return run

    def wait_for_end(self, run: str, rounds: int = 1) -> RunEnded:
        """Wait until a round has ended and the run is inactive; returns the ``run_ended`` event."""
        path = self.runs.folder(run).journal
        pattern = b'"kind":"run_ended"'
        wait_until(lambda: path.exists() and path.read_bytes().count(pattern) == rounds)
        wait_until(lambda: run not in self.runs.active_runs())
        return self.events_of_type(run, RunEnded)[-1]

    def events(self, run: str) -> list[Event]:
        return [event for _, event in journal.read(self.runs.folder(run).journal)]

    def events_of_type(self, run: str, event_type: type[E]) -> list[E]:
        path = self.runs.folder(run).journal
        return [e for e in self.events(run) if isinstance(e, event_type)] if path.exists() else []

    def observations(self, run: str) -> list[str]:
        ended = self.events_of_type(run, ToolEnded)
        return [each.observation for each in ended if each.name == "execute_bash"]

    def step_notes(self, run: str) -> str:
        """Return the notes that were sent to the model, concatenated."""
        return "".join(e.note for e in self.events_of_type(run, StepStarted))

    def running_container_ids(self) -> set[str]:
        return {each.id for each in self.containers().values() if each.status == "running"}

    def wait_for_event(self, run: str, kind: str) -> None:
        path, pattern = self.runs.folder(run).journal, f'"kind":"{kind}"'.encode()
        wait_until(lambda: path.exists() and pattern in path.read_bytes())

    def containers(self) -> dict[str, Any]:
        """Return this instance's containers by sandbox id, and its proxy as ``proxy``."""
        filters: Any = {"label": f"{INSTANCE_LABEL}={self.data.instance_id}"}
        containers = self.engine.containers.list(all=True, filters=filters, ignore_removed=True)
        return {each.labels.get(SANDBOX_LABEL, "proxy"): each for each in containers}

    def container(self, run: str) -> Any:
        return self.containers()[self.runs.folder(run).sandbox]

    def container_statuses(self) -> list[str]:
        containers = self.containers()
        return sorted(each.status for name, each in containers.items() if name != "proxy")

    def network(self, run: str) -> str:
        """Return the name of a run's network."""
        return str(self.container(run).attrs["HostConfig"]["NetworkMode"])

    def networks(self) -> list[str]:
        """Return the names of all networks: the sandboxes', and one that is made ahead."""
        filters: Any = {"label": f"{INSTANCE_LABEL}={self.data.instance_id}"}
        return [str(each["Name"]) for each in self.engine.api.networks(filters=filters)]

    def open(self) -> None:
        self.provider.open()
        self.runs.open()

    def close(self) -> None:
        self.runs.close()
        self.provider.close()


OpenApp = Callable[..., AbstractContextManager[StudioApp]]


@contextmanager
def open_studio_app(
    path: Path, settings: Settings, engine: Client, *, disks: bool = True
) -> Iterator[StudioApp]:
    """Open an application on a data folder; it is closed as by SIGTERM afterwards."""
    with DataFolder(path) as data:
        studio_app = StudioApp(data, settings, engine, disks=disks)
        studio_app.open()
        try:
            yield studio_app
        finally:
            studio_app.close()


def remove_containers(path: Path, engine: Client) -> None:
    instance = (path / "instance").read_text().strip()
    reap(engine, instance)
    reap_networks(engine, (INSTANCE_LABEL, instance))
