"""Runs on real sandboxes, so that something can happen to them."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from agent import prompts
from agent.data_folder import DataFolder
from agent.events import Event, RunEnded, StepStarted, ToolEnded
from agent.limits import Limits
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs import journal
from agent.runs.recorder import Task
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, SANDBOX_LABEL, reap
from agent.sandbox.engine.client import Client
from agent.sandbox.network.policy import NetworkPolicy
from agent.sandbox.network.subnets import reap as reap_networks
from agent.settings import Settings, load
from sandbox_ui.runs.manager import RunManager
from tests.support.server import wait_until

E = TypeVar("E", bound=Event)
SUBMIT = ScriptedTurn(text="Done.", calls=(ToolCall("", "submit", "{}"),))
PATIENCE = 60.0


def bash(command: str) -> ScriptedTurn:
    """A turn that runs one command."""
    call = ToolCall("", "execute_bash", json.dumps({"command": command}))
    return ScriptedTurn(calls=(call,))


def settings_for(image: str) -> Settings:
    """No warm sandboxes, the engine that the tests use."""
    host = {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}
    return replace(load(host), image=image, warm_sandboxes=0)


class StudioApp:
    """The runs of one application, on a data folder that it holds."""

    def __init__(
        self, data: DataFolder, settings: Settings, engine: Client, *, disks: bool = True
    ) -> None:
        self.data, self.engine = data, engine
        self.computers = DockerSandboxProvider(settings, data, disks=disks)
        self.runs = RunManager(data.path, self.computers, idle_seconds=settings.idle_seconds)

    def start(self, *turns: ScriptedTurn, network: NetworkPolicy | None = None) -> str:
        """A run that has begun."""
        run = self.runs.create_draft()
        task = Task("Do it.", prompts.get_bundled("general"), network=network or NetworkPolicy())
        self.runs.start(run, task, ScriptedModel(turns), Limits())
        return run

    def go_on(self, run: str, *turns: ScriptedTurn) -> RunEnded:
        """Another round, to its end."""
        rounds = len(self.found(run, RunEnded))
        self.runs.follow_up(run, "Go on.", ScriptedModel(turns), Limits())
        return self.end(run, rounds + 1)

    def do(self, *turns: ScriptedTurn, network: NetworkPolicy | None = None) -> str:
        """A run that has come to its end."""
        run = self.start(*turns, network=network)
        self.end(run)
        return run

    def end(self, run: str, rounds: int = 1) -> RunEnded:
        """The end of a round, once it is there and nobody works in the run any more."""
        path = self.runs.folder(run).journal
        marked = b'"kind":"run_ended"'
        wait_until(lambda: path.exists() and path.read_bytes().count(marked) == rounds, PATIENCE)
        wait_until(lambda: run not in self.runs.active_runs())
        return self.found(run, RunEnded)[-1]

    def events(self, run: str) -> list[Event]:
        """The run's journal."""
        return [event for _, event in journal.read(self.runs.folder(run).journal)]

    def found(self, run: str, kind: type[E]) -> list[E]:
        """The events of one kind."""
        path = self.runs.folder(run).journal
        return [e for e in self.events(run) if isinstance(e, kind)] if path.exists() else []

    def observations(self, run: str) -> list[str]:
        """What the model was told of its commands."""
        return [e.observation for e in self.found(run, ToolEnded) if e.name == "execute_bash"]

    def conversation(self, run: str) -> str:
        """What the model was sent besides its commands' results."""
        return "".join(e.note for e in self.found(run, StepStarted))

    def running(self) -> set[str]:
        """The ids of this instance's containers that run."""
        return {each.id for each in self.containers().values() if each.status == "running"}

    def wait_for(self, run: str, kind: str) -> None:
        """Wait until an event of this kind is in the journal."""
        path, marked = self.runs.folder(run).journal, f'"kind":"{kind}"'.encode()
        wait_until(lambda: path.exists() and marked in path.read_bytes(), PATIENCE)

    def containers(self) -> dict[str, Any]:
        """The containers of this instance's sandboxes, by their sandbox; ``proxy`` is its proxy."""
        filters: Any = {"label": f"{INSTANCE_LABEL}={self.data.instance_id}"}
        found = self.engine.containers.list(all=True, filters=filters, ignore_removed=True)
        return {each.labels.get(SANDBOX_LABEL, "proxy"): each for each in found}

    def container(self, run: str) -> Any:
        """The container of a run, which has one."""
        return self.containers()[self.runs.folder(run).sandbox]

    def states(self) -> list[str]:
        """The states of the sandboxes' containers."""
        found = self.containers()
        return sorted(each.status for name, each in found.items() if name != "proxy")

    def networks(self) -> Sequence[Any]:
        """This instance's networks."""
        filters: Any = {"label": f"{INSTANCE_LABEL}={self.data.instance_id}"}
        return list(self.engine.api.networks(filters=filters))

    def open(self) -> None:
        """As the application opens them."""
        self.computers.open()
        self.runs.open()

    def close(self) -> None:
        """As the application closes them when it is told to end."""
        self.runs.close()
        self.computers.close()


@contextmanager
def open_studio_app(
    path: Path, settings: Settings, engine: Client, *, disks: bool = True
) -> Iterator[StudioApp]:
    """A studio on a data folder, closed at the end as by SIGTERM."""
    with DataFolder(path) as data:
        studio_app = StudioApp(data, settings, engine, disks=disks)
        studio_app.open()
        try:
            yield studio_app
        finally:
            studio_app.close()


def remove_containers(path: Path, engine: Client) -> None:
    """Remove what a data folder's instance keeps at the engine."""
    instance = (path / "instance").read_text().strip()
    reap(engine, instance)
    reap_networks(engine, (INSTANCE_LABEL, instance))
