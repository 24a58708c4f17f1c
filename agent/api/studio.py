"""The studio: creates runs and sandboxes in a data folder."""

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from agent.api import arguments
from agent.api.files import Files
from agent.api.models import ModelArgument, select_model
from agent.api.run import Events, Run
from agent.api.sandbox import Sandbox
from agent.data_folder import DataFolder, candidate_folders
from agent.errors import DataFolderLocked, SandboxError, StudioError, ToolError, UsageError
from agent.events import Mode
from agent.limits import Limits, adapt_to_model
from agent.models.base import Model
from agent.prompts import Prompt
from agent.runs import recorded_run
from agent.runs.event_recorder import end_interrupted_rounds
from agent.runs.folder import RunFolder
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.recorded_run import RecordedRun, Task
from agent.sandbox import base
from agent.sandbox.disk import volume
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings, load
from agent.tools.custom import Function, Tool, toolset
from agent.util.cancellation import Stop
from agent.workspace.files import Workspace
from agent.workspace.transfer.copy import CopyReport, copy_in

if TYPE_CHECKING:
    from agent.provisioning.provider import DockerSandboxProvider

_UNOPENED = "Use the studio in a with block: with Studio() as studio: …"


class ClosableSandboxProvider(recorded_run.SandboxProvider, Protocol):
    """A provider of sandboxes, such as ``agent.provisioning.provider.DockerSandboxProvider``."""

    def create_workspace(self) -> str:
        """Create a sandbox's folder with an empty workspace and return the sandbox's id."""

    def close(self) -> None:
        """Release all resources."""


Opener = Callable[[Settings, DataFolder], ClosableSandboxProvider]


def containers(settings: Settings, data: DataFolder) -> "DockerSandboxProvider":
    """Return the provider of containers."""
    from agent.provisioning.provider import DockerSandboxProvider  # imports Docker's client

    return DockerSandboxProvider(settings, data)


def starting_containers(settings: Settings, data: DataFolder) -> ClosableSandboxProvider:
    """Return the provider of containers, which connects to the engine at once.

    For a program that certainly needs a sandbox: it can do other things meanwhile.
    """
    provider = containers(settings, data)
    provider.open()
    return provider


class Studio:
    """A context manager that creates runs and sandboxes in a data folder.

    On entry it locks the data folder or, if another process holds that, a subfolder of it. On
    exit it ends the sandboxes of all open runs. It connects to the container engine when the
    first run needs a sandbox. All methods may be called from several threads at once.

    Args:
        settings: The settings; by default those of the environment, without warm sandboxes.
        data: Another data folder than the settings'.
        source: Creates the sandbox provider for the locked data folder.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        source: Opener = containers,
        *,
        data: "str | os.PathLike[str] | None" = None,
    ) -> None:
        if settings is not None:
            arguments.check_type(
                "settings", settings, Settings, "Settings, as load_settings() returns"
            )
        self.settings = settings or replace(load(), warm_sandboxes=0)
        if data is not None:
            self.settings = replace(self.settings, data=arguments.path("data", data))
        self._source = source
        self._resources = ExitStack()
        self._open: dict[object, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._sandboxes: ClosableSandboxProvider | None = None

    def __enter__(self) -> Self:
        """Lock a data folder. Raises ``DataFolderLocked`` if all candidates are locked."""
        data = self._resources.enter_context(_data_folder(self.settings.data))
        self._data = data.path
        self._sandboxes = self._resources.enter_context(closing(self._source(self.settings, data)))
        end_interrupted_rounds(self._data)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the open runs and sandboxes, then the sandbox provider and the data folder."""
        with self._resources:
            self._sandboxes = None
            with self._lock:
                closes, self._open = list(self._open.values()), {}
            for close in closes:
                self._resources.callback(close)

    def run(
        self,
        task: str,
        *,
        inputs: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
        model: ModelArgument = None,
        prompt: "Prompt | str | os.PathLike[str] | None" = None,
        tools: Iterable[Tool | Function] = (),
        network: "NetworkPolicy | str" = "open",
        mode: Mode = "sandbox",
        limits: Limits | None = None,
        max_steps: int | None = None,
        stop: Stop | None = None,
    ) -> Run:
        """Create a run; iterating it or waiting for it carries it out.

        Args:
            task: What the model is to do, or the name of a demonstration.
            inputs: Files and folders to copy into the run's ``input/``.
            model: ``openai:NAME`` or ``NAME``, a model of the endpoint in ``OPENAI_BASE_URL``;
                ``builtin``; ``demonstration``; the configuration of an endpoint; or any
                ``Model``. By default what the settings name, else the demonstration of this
                task, else the built-in model.
            prompt: The system prompt: the name of a bundled one, the path of a file, or a
                ``Prompt``; by default the model's.
            tools: Tools of your own in addition to the three of every run: typed functions, or
                what ``tool`` makes of them.
            network: What the sandbox may reach: ``open``, ``none``, ``packages``, or hosts.
            mode: ``sandbox``; or ``plain``: the documents in the prompt and no tools.
            limits: The limits of a round; by default those of the settings.
            max_steps: Another limit on the model's turns.
            stop: Ends the run early, like ``Run.stop``.

        Raises:
            UsageError: An argument is not what it has to be; no run is created.
            WorkspaceError: An input is missing or cannot be read; no run is created.
            NoModelAvailable: No model is connected.
        """
        arguments.text("task", task)
        if mode not in ("sandbox", "plain"):
            raise arguments.invalid_argument("mode", mode, "“sandbox” or “plain”")
        input_paths, custom_tools = arguments.paths("inputs", inputs), toolset(tools)
        if custom_tools and mode == "plain":
            raise UsageError("A run in plain mode has no tools.")
        selected = select_model(task, model, self.settings)
        first = Task(selected.task, arguments.prompt(prompt, selected.model), mode)
        first = replace(first, network=arguments.policy(network))
        run_limits = self._limits(limits, max_steps, selected.model)
        report = CopyReport()
        recorded = self._create([*selected.inputs, *input_paths], report, custom_tools)

        def begin(stop: Stop) -> Events:
            return recorded.start(first, selected.model, run_limits, stop)

        def continue_run(
            text: str, argument: ModelArgument, limits: Limits | None, stop: Stop
        ) -> Events:
            model = (
                selected.model
                if argument is None
                else select_model(text, argument, self.settings).model
            )
            return recorded.follow_up(text, model, limits or run_limits, stop)

        run = Run(recorded, stop or Stop(), report.skipped, begin, continue_run)
        self._register(recorded, run.close)
        return run

    def sandbox(
        self,
        *,
        network: "NetworkPolicy | str" = "none",
        inputs: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
    ) -> Sandbox:
        """Start a sandbox without a model; closing it deletes it with its files.

        Args:
            network: What it may reach: ``none``, ``open``, ``packages``, or names of hosts.
            inputs: Files and folders to copy into its ``/workspace/input``.

        Raises:
            StudioError: No sandbox can be started, or an input cannot be read.
        """
        policy, input_paths = arguments.policy(network), arguments.paths("inputs", inputs)
        folder = self._folder(input_paths, CopyReport())
        try:
            folder.set_network(policy)
            sandbox = self._acquire_sandbox(folder)
        except BaseException:
            _discard(folder)
            raise
        handle = Sandbox(
            sandbox,
            Files(lambda: Workspace(folder.workspace, fallback=sandbox)),
            lambda: self._delete_sandbox(sandbox, folder),
        )
        self._register(sandbox, handle.close)
        return handle

    @property
    def open_runs(self) -> list[RecordedRun]:
        """The runs that this studio created and that are not closed, for earlier programs."""
        with self._lock:
            known = [each for each in self._open if isinstance(each, RecordedRun)]
        return [each for each in known if not each.closed]

    def new(self, inputs: Iterable[Path] = (), report: CopyReport | None = None) -> RecordedRun:
        """Create a run without a task, for earlier programs; see ``run``."""
        recorded = self._create(inputs, report or CopyReport())
        self._register(recorded, recorded.close)
        return recorded

    def _provider(self) -> ClosableSandboxProvider:
        if self._sandboxes is None:
            raise UsageError(_UNOPENED)
        return self._sandboxes

    def _register(self, resource: object, close: Callable[[], None]) -> None:
        """Close a resource on exit; forget the runs that were closed meanwhile."""
        with self._lock:
            known = self._open.items()
            self._open = {
                each: end
                for each, end in known
                if not (isinstance(each, RecordedRun) and each.closed)
            }
            self._open[resource] = close

    def _create(
        self, inputs: Iterable[Path], report: CopyReport, tools: Mapping[str, Tool] | None = None
    ) -> RecordedRun:
        return RecordedRun(self._folder(inputs, report), self._provider(), tools=tools)

    def _folder(self, inputs: Iterable[Path], report: CopyReport) -> RunFolder:
        """Create a run's folder with its inputs; leave nothing behind on failure."""
        sandbox = self._provider().create_workspace()
        folder = RunFolder.create(self._data, sandbox)
        with ExitStack() as on_failure:
            on_failure.callback(_discard, folder)
            for path in inputs:
                copied = copy_in(Workspace(folder.workspace), path, INPUT_FOLDER)
                report.copied += copied.copied
                report.skipped += copied.skipped
            on_failure.pop_all()
        return folder

    def _limits(self, limits: Limits | None, max_steps: int | None, model: Model) -> Limits:
        if limits is not None:
            arguments.check_type("limits", limits, Limits, "Limits, such as Limits(steps=20)")
        round_limits = limits or adapt_to_model(self.settings.limits(), model)
        if max_steps is None:
            return round_limits
        arguments.check_type("max_steps", max_steps, int, "a number, 1 or more")
        if max_steps < 1:
            raise arguments.invalid_argument("max_steps", max_steps, "a number, 1 or more")
        return replace(round_limits, steps=max_steps)

    def _acquire_sandbox(self, folder: RunFolder) -> base.Sandbox:
        events = self._provider().acquire(folder, Stop())
        while True:
            try:
                next(events)
            except StopIteration as end:
                if end.value is None:
                    raise SandboxError("The sandbox was not started.") from None
                sandbox: base.Sandbox = end.value
                return sandbox

    def _delete_sandbox(self, sandbox: base.Sandbox, folder: RunFolder) -> None:
        with self._lock:
            self._open.pop(sandbox, None)
        with suppress(StudioError, ToolError):
            sandbox.remove("/workspace")  # also what only the sandbox's root may remove
        try:
            sandbox.close()
        finally:
            _discard(folder)


def _discard(folder: RunFolder) -> None:
    shutil.rmtree(folder.path, ignore_errors=True)
    volume.discard(folder.sandbox_folder)


@contextmanager
def _data_folder(path: Path) -> Iterator[DataFolder]:
    for place in candidate_folders(path):
        try:
            folder = DataFolder(place)
        except DataFolderLocked:
            continue
        with folder:
            yield folder
        return
    raise DataFolderLocked(
        f"{path} and all of its subfolders for further processes are in use. Wait for a run to end."
    )
