"""The studio: creates runs and sandboxes in a data folder."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from agent.api import arguments
from agent.api.files import Files
from agent.api.models import ModelArgument, select_model, spec_fields
from agent.api.run import Events, Run
from agent.api.sandbox import Sandbox
from agent.data_folder import DataFolder, candidate_folders, lock_first_free
from agent.errors import SandboxError, StudioError, ToolError, UsageError
from agent.events import Mode
from agent.limits import Limits
from agent.models.base import Model
from agent.prompts import Prompt
from agent.run_fields import Pdfs
from agent.runs import recorded_run
from agent.runs.event_recorder import end_interrupted_rounds
from agent.runs.folder import Parent, RunFolder
from agent.runs.inputs import INPUT_FOLDER
from agent.runs.recorded_run import RecordedRun
from agent.runs.spec import RunSpec
from agent.sandbox import base
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings, load
from agent.tools.custom import Function, Tool, toolset
from agent.util.stop import Stop
from agent.workspace.files import Workspace
from agent.workspace.transfer.copy import CopyReport, copy_in

if TYPE_CHECKING:
    from agent.api.experiments import ComparisonResult, EvaluationResult
    from agent.api.placement import Placement, RunOrder
    from agent.experiments.experiment import ExpectedAnswer, Judge, Member
    from agent.experiments.preflight.checks import Preflight
    from agent.experiments.runner import Progress, StartedRun
    from agent.experiments.suite import Suite
    from agent.grading.checks import Extraction
    from agent.provisioning.provider import DockerSandboxProvider
    from agent.replay.recording import Recording

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


class Studio:
    """A context manager that creates runs and sandboxes in a data folder.

    On entry it locks the data folder or, if another process holds that, a subfolder of it. On
    exit it ends the sandboxes of all open runs. It connects to the container engine when the
    first run needs a sandbox. All methods may be called from several threads at once.

    Args:
        settings: The settings; by default those of the environment, without warm sandboxes.
        data: Another data folder than the settings'; or one that the caller has locked, which
            is used as it is.
        source: Creates the sandbox provider for the locked data folder.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        source: Opener = containers,
        *,
        data: "str | os.PathLike[str] | DataFolder | None" = None,
    ) -> None:
        if settings is not None:
            arguments.check_type(
                "settings", settings, Settings, "Settings, as load_settings() returns"
            )
        self.settings = settings or replace(load(), warm_sandboxes=0)
        self._locked = data if isinstance(data, DataFolder) else None
        if data is not None and not isinstance(data, DataFolder):
            self.settings = replace(self.settings, data=arguments.path("data", data))
        self._source = source
        self._resources = ExitStack()
        self._open: dict[object, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._sandboxes: ClosableSandboxProvider | None = None

    def __enter__(self) -> Self:
        """Lock a data folder. Raises ``DataFolderLocked`` if all candidates are locked."""
        data = self._locked or lock_first_free(self.settings.data)
        self._resources.enter_context(data)
        self._data = data.path
        self._sandboxes = self._resources.enter_context(closing(self._source(self.settings, data)))
        end_interrupted_rounds(self._data)
        return self

    def __exit__(self, *_: object) -> None:
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
        pdfs: Pdfs = "auto",
        limits: Limits | None = None,
        max_steps: int | None = None,
        summarise: bool = False,
        approve: Iterable[str] = (),
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
            pdfs: In plain mode, whether PDFs are in the prompt as ``text``, as ``pages``, which
                are pictures, or ``both``; ``auto`` sends pages only of those without text. A model
                that takes no pictures gets the text.
            limits: The limits of a round; by default those of the settings.
            max_steps: Another limit on the model's turns.
            summarise: Whether the model summarises older steps near the limit of its context.
            approve: Which calls wait for approval: ``every``, or the rules of
                ``Steering.set_approval``; by default none.
            stop: Ends the run early, like ``Run.stop``.

        Raises:
            UsageError: An argument is not what it has to be; no run is created.
            WorkspaceError: An input is missing or cannot be read; no run is created.
            NoModelAvailable: No model is connected.
        """
        input_paths, custom_tools = arguments.paths("inputs", inputs), toolset(tools)
        if custom_tools and mode == "plain":
            raise UsageError("A run in plain mode has no tools.")
        spec = RunSpec.of(spec_fields(model) | {
            "task": arguments.text("task", task), "mode": mode, "pdfs": pdfs, "network": network,
            "max_steps": max_steps, "summarise": summarise, "approve": approve,
        })  # fmt: skip
        if spec.pdfs != "auto" and spec.mode == "sandbox":
            raise UsageError("pdfs is for plain mode: with a sandbox, the model opens PDFs itself.")
        selected = select_model(task, model, self.settings)
        spec = replace(spec, task=selected.task)
        return self.create_run(
            spec, selected.model, prompt=arguments.prompt(prompt, selected.model),
            limits=self._limits(limits, spec, selected.model), tools=custom_tools, stop=stop,
            inputs=[*selected.inputs, *input_paths],
        )  # fmt: skip

    def compare(
        self,
        task: str,
        *,
        members: "Iterable[str | Member]" = ("plain", "sandbox"),
        inputs: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
        repeat: int = 1,
        expected: "ExpectedAnswer | str | None" = None,
        models: "Mapping[str, ModelArgument] | None" = None,
        judge: ModelArgument = None,
        concurrency: int = 4,
        stop: Stop | None = None,
        on_progress: "Callable[[Progress], None] | None" = None,
        on_run: Callable[[str, Run], None] | None = None,
        title: str = "",
        resume: str = "",
    ) -> "ComparisonResult":
        """Compare runs of one task with the same inputs, and return when they have ended.

        Each run is an ordinary run, which the page lists; a run that fails leaves the others.

        Args:
            task: What the models are to do.
            members: 2 to 12 members, the first is the baseline: texts such as
                ``plain,model=NAME,base-url=URL,max-steps=20``, or ``Member`` objects. The model
                is by default the settings', else the built-in one.
            inputs: Files and folders to copy into each run's ``input/``.
            repeat: How often each member does the task, 1 to 64.
            expected: The right answer: a text, or an ``ExpectedAnswer`` with another check.
            models: Models or endpoints with their keys, by the label of their member.
            judge: The model that judges answers, or its endpoint with its key; by default the
                one that ``expected`` names, with the settings' key for the settings' endpoint.
            concurrency: How many runs at a time; the built-in model does one at a time.
            stop: Stops it early; it can be continued.
            on_progress: Called when a run has started or ended, in any thread.
            on_run: Called with the member's label and each run that has ended, in its thread,
                before its sandbox is deleted.
            title: A title for the page's list.
            resume: The id of a comparison that was stopped or interrupted: what it lacks is
                done. Everything else has to be as it was.

        Raises:
            UsageError: An argument is not what it has to be.
            WorkspaceError: An input is missing or cannot be read.
            StudioError: No run could be started.
        """
        from agent.api import definitions, experiments  # import statistics, which no run needs

        paths = arguments.paths("inputs", inputs)
        wanted = definitions.define_comparison(
            task, members, paths, repeat, expected, models or {}, self.settings
        )
        self._provider()
        folder = definitions.open_or_create(self._data, wanted, title, resume)
        plan = experiments.Plan(
            settings=self.settings, create_run=self.create_run, place_run=self.place_member_run,
            inputs=paths, models=models, judge=judge, concurrency=concurrency, stop=stop,
            on_progress=on_progress, on_run=on_run,
        )  # fmt: skip
        return experiments.carry_out(folder, plan, experiments.ComparisonResult)

    def evaluate(
        self,
        suites: "str | Suite | Iterable[str | Suite]" = (),
        *,
        members: "Iterable[str | Member]" = (),
        data: "str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]] | None" = None,
        limit: "int | Mapping[str, int] | None" = None,
        extraction: "Extraction | Mapping[str, Extraction] | None" = None,
        repeat: "int | Mapping[str, int] | None" = None,
        parameters: "Mapping[str, Any] | None" = None,
        preset: str = "",
        judge: "Judge | str | None" = None,
        judge_model: ModelArgument = None,
        models: "Mapping[str, ModelArgument] | None" = None,
        concurrency: int | None = None,
        stop: Stop | None = None,
        on_progress: "Callable[[Progress], None] | None" = None,
        on_run: Callable[[str, Run], None] | None = None,
        title: str = "",
        resume: str = "",
        extend: bool = False,
        retry_infrastructure: bool = False,
        placement: "Placement | None" = None,
        confirm: "Callable[[Preflight], bool] | None" = None,
    ) -> "EvaluationResult":
        """Evaluate models on suites of tasks with known answers, and return the results.

        Each run is an ordinary run, which the page lists; a run that fails leaves the others.

        Args:
            suites: Names of suites (``agent.experiments.suites.NAMES``), or ``Suite`` objects.
            members: As for ``compare``; a text that names no mode stands for both modes. By
                default the settings' model, else the built-in one, in both modes.
            data: The authors' data: a file or folder for all suites, or one per suite by name. A
                suite without data is the packaged sample.
            limit: Tasks of each suite at most, evenly from its groups; or by suite.
            extraction: How final answers of mathematics and letters are found, of all suites or by
                suite: ``lenient`` (by default), or ``reference``, as the paper's reward does.
            repeat: How often each member does each task; once by default. Or by suite.
            parameters: Request parameters such as ``temperature``, for members that set none of
                their own; or a mapping of them by a suite's name. Of a ``seed``, each further
                repetition has the next one.
            preset: ``paper`` for the paper's prompts, limits, repetitions, temperatures and
                judge; whatever else is given goes before it.
            judge: The judge, for suites that need one, or its model's name; with ``extend``, for
                added suites if there is none yet.
            judge_model: The judge's model, or its endpoint with its key.
            models: Models or endpoints with their keys, by the label of their member.
            concurrency: How many runs at a time; 4 by default. The built-in model does one.
            stop: Stops it early; it can be continued.
            on_progress: Called when a run has started or ended, in any thread.
            on_run: Called with the member's label and each run that has ended, in its thread,
                before its sandbox is deleted.
            title: A title for the page's list.
            resume: The id of an evaluation that was stopped or interrupted: runs that are missing
                are done, and answers without a score are scored. What it was started with is
                known then, and may be left out; keys are not, so ``models`` and ``judge_model``
                are given again.
            extend: With ``resume``: add the members and tasks that it has not. Of a known suite,
                name a larger ``limit`` or other ``data``; only what is new is run.
            retry_infrastructure: With ``resume``: repeat the runs that failed by an
                infrastructure error, too.
            placement: Carries out the runs elsewhere, such as ``agent.cluster.cluster.Cluster``;
                ``concurrency`` is then by default what that has room for, and ``on_run`` is not
                called.
            confirm: Called before the first run with what was checked (``problems``,
                ``findings``) and an ``estimate`` of tokens, time and cost. Return False to start
                nothing, and ``NotConfirmed`` is raised.

        Raises:
            UsageError: An argument is not what it has to be.
            TaskError: A suite's data is missing or invalid.
            StudioError: No run could be started.
        """
        from agent.api import definitions, experiments  # import statistics, which no run needs

        self._provider()
        wanted = definitions.Wanted(
            suites=suites, members=members, data=data, limit=limit, repeat=repeat, judge=judge,
            extraction=extraction, parameters=parameters or {}, preset=preset, title=title,
            models=models or {},
        )  # fmt: skip
        if resume:
            open_known = definitions.open_to_extend if extend else definitions.open_to_resume
            folder = open_known(self._data, resume, wanted, self.settings)
        else:
            folder = definitions.create_evaluation(self._data, wanted, self.settings, concurrency)
        plan = experiments.Plan(
            settings=self.settings, create_run=self.create_run, place_run=self.place_member_run,
            models=models, judge=judge_model, concurrency=concurrency, stop=stop,
            on_progress=on_progress, on_run=on_run, retry_infrastructure=retry_infrastructure,
            placement=placement, confirm=confirm,
        )  # fmt: skip
        return experiments.carry_out(folder, plan, experiments.EvaluationResult)

    def merge(self, evaluations: "Iterable[str]", *, title: str = "") -> "EvaluationResult":
        """Make one evaluation of the runs of several; nothing is run.

        Args:
            evaluations: Their ids, in this data folder. Suites of the same name must have been
                carried out and graded alike.
            title: A title for the page's list.

        Raises:
            UsageError: They cannot be merged.
            RunError: There is no such evaluation.
        """
        from agent.api.experiments import EvaluationResult, open_result
        from agent.experiments.combine.merge import merge
        from agent.experiments.folder import ExperimentFolder

        self._provider()
        folders = [ExperimentFolder.open(self._data, each, "evaluation") for each in evaluations]
        return open_result([self._data], merge(folders, title).id, EvaluationResult)

    def comparison(self, comparison: str) -> "ComparisonResult":
        """Return a recorded comparison as it is now, also one that was started on the page.

        Args:
            comparison: The comparison's id.

        Raises:
            RunError: There is no such comparison.
        """
        from agent.api.experiments import ComparisonResult, open_result

        self._provider()
        places = (self._data, *candidate_folders(self.settings.data))
        return open_result(places, comparison, ComparisonResult)

    def evaluation(self, evaluation: str) -> "EvaluationResult":
        """Return a recorded evaluation as it is now, also one that was started on the page.

        Args:
            evaluation: The evaluation's id.

        Raises:
            RunError: There is no such evaluation.
        """
        from agent.api.experiments import EvaluationResult, open_result

        self._provider()
        places = (self._data, *candidate_folders(self.settings.data))
        return open_result(places, evaluation, EvaluationResult)

    def replay(
        self,
        run: "Run | str | os.PathLike[str]",
        *,
        inputs: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
        network: "NetworkPolicy | str | None" = None,
        stop: Stop | None = None,
    ) -> Run:
        """Create a replay of a run that has ended: its recorded calls, executed again and checked.

        The result is a run of its own, without a model. ``RunResult.replay`` has the verdict;
        each ``step_verified`` event has that of a step.

        Args:
            run: The run, its id in this data folder, its folder, or an exported journal.
            inputs: Files and folders for ``input/``, where the record does not hold them.
            network: What the sandbox may reach; by default what the recorded run's could.
            stop: Ends the replay early.

        Raises:
            UsageError: There is nothing to replay.
            RunError: There is no such run, or it is in progress.
            WorkspaceError: An input is missing or cannot be read.
        """
        from agent.api.replay import open_recording_of  # compares files, which a run never needs

        return self.replay_recording(
            open_recording_of(run, self._data), inputs=inputs, network=network, stop=stop
        )

    def replay_recording(
        self,
        recording: "Recording",
        *,
        inputs: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]" = (),
        network: "NetworkPolicy | str | None" = None,
        stop: Stop | None = None,
    ) -> Run:
        """Create a replay of a recording, for parts of this program; see ``replay``."""
        from agent.replay.replay import prepare

        input_paths = arguments.paths("inputs", inputs)
        policy = None if network is None else arguments.policy(network)
        provider, report = self._provider(), CopyReport()
        parent = None
        if recording.folder is not None:
            parent = Parent(recording.folder.id, 0, kind="replay")
        recorded = self._create(input_paths, report, parent=parent)
        replay = prepare(recording, recorded.folder, policy)
        limits = self.settings.limits()

        def begin(stop: Stop) -> Events:
            return replay.events(recorded, provider.blobs, stop, limits=limits)

        def continue_run(
            text: str, argument: ModelArgument, limits: Limits | None, stop: Stop
        ) -> Events:
            model = select_model(text, argument, self.settings).model
            return recorded.follow_up(text, model, self._limits(limits, RunSpec(), model), stop)

        run = Run(recorded, stop or Stop(), report.skipped, begin, continue_run, self.fork)
        self._register(recorded, run.close)
        return run

    @property
    def path(self) -> Path:
        """The data folder that is used, for parts of this program."""
        return self._data

    def place_member_run(
        self, placement: "Placement", order: "RunOrder", comparison: str = ""
    ) -> "StartedRun":
        """Create a run that is carried out elsewhere, for parts of this program."""
        provider = self._provider()
        folder = RunFolder.create(self._data, provider.create_workspace(), comparison=comparison)
        return placement.place(folder, order, provider.blobs)

    def create_run(
        self,
        spec: RunSpec,
        model: Model,
        *,
        prompt: Prompt | None = None,
        limits: Limits | None = None,
        inputs: Iterable[Path] = (),
        tools: Mapping[str, Tool] | None = None,
        stop: Stop | None = None,
        comparison: str = "",
    ) -> Run:
        """Create a run of a spec, for parts of this program; see ``run``.

        ``prompt`` and ``limits`` go before what follows from the spec; ``comparison`` is the id of
        the comparison or evaluation that the run belongs to.
        """
        task = spec.first_task(model, prompt)
        limits = limits or spec.limits(self.settings, model)
        report = CopyReport()
        recorded = self._create(inputs, report, tools, comparison)
        recorded.steering.set_approval(spec.approve)

        def begin(stop: Stop) -> Events:
            return recorded.start(task, model, limits, stop)

        return self._open_run(recorded, stop or Stop(), report.skipped, begin, model, limits)

    def fork(
        self,
        run: "Run | RunFolder | str | os.PathLike[str]",
        step: int,
        message: str = "",
        *,
        model: ModelArgument = None,
        prompt: "Prompt | str | os.PathLike[str] | None" = None,
        mode: Mode | None = None,
        limits: Limits | None = None,
        max_steps: int | None = None,
        summarise: bool = False,
        reinstall: bool = False,
        stop: Stop | None = None,
    ) -> Run:
        """Create a run that starts with the files and the conversation of another after a step.

        The other run stays as it is, and may be working. Processes, files outside ``/workspace``
        and installed packages do not come along; the model is told so.

        Args:
            run: The run, its id, or its folder; or the ``Path`` of an exported run or a trace,
                which is imported first.
            step: Its last step to keep, which has ended; 0 starts over with the same files.
            message: What the model is to do now; empty to go on without a message.
            model: See ``run``; by default the settings' model.
            prompt: Another prompt; see ``run``.
            mode: Another mode.
            limits: Limits of the next round; by default those of the settings for the model.
            max_steps: Model turns of the next round at most.
            summarise: See ``run``.
            reinstall: Whether to install again first, in steps of their own, the packages that
                the steps installed.
            stop: Ends the round early, from any thread.

        Raises:
            UsageError: The run cannot be forked there, or an argument is not what it has to be.
            RunError: There is no such run.
            TraceError: The file cannot be imported.
        """
        from agent.api import fork  # only a fork needs it

        selected = select_model(message, model, self.settings).model
        changes = RunSpec.of({"max_steps": max_steps, "summarise": summarise})
        run_limits = self._limits(limits, changes, selected)
        provider = self._provider()
        with ExitStack() as on_failure:
            if isinstance(run, os.PathLike):
                run = fork.import_parent(run, self._data, provider.blobs)
                on_failure.callback(run.discard)
            request = fork.wanted(self.settings.data, run, step, message, prompt, mode, reinstall)
            folder = fork.create(request, self._data, provider.blobs, provider.create_workspace)
            on_failure.pop_all()
        recorded = RecordedRun(folder, provider)

        def begin(stop: Stop) -> Events:
            events: Events = fork.begin(request, recorded, selected, run_limits, stop)
            return events

        return self._open_run(recorded, stop or Stop(), [], begin, selected, run_limits)

    def _open_run(
        self,
        recorded: RecordedRun,
        stop: Stop,
        skipped: list[str],
        begin: Callable[[Stop], Events],
        model: Model,
        run_limits: Limits,
    ) -> Run:
        """Return the handle of a run, which is closed with the studio."""

        def continue_run(
            text: str, argument: ModelArgument, limits: Limits | None, stop: Stop
        ) -> Events:
            chosen = (
                model if argument is None else select_model(text, argument, self.settings).model
            )
            round_limits = run_limits if limits is None else self._limits(limits, RunSpec(), chosen)
            return recorded.follow_up(text, chosen, round_limits, stop)

        run = Run(recorded, stop, skipped, begin, continue_run, self.fork)
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
            folder.discard()
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
        self,
        inputs: Iterable[Path],
        report: CopyReport,
        tools: Mapping[str, Tool] | None = None,
        comparison: str = "",
        parent: Parent | None = None,
    ) -> RecordedRun:
        folder = self._folder(inputs, report, comparison, parent)
        return RecordedRun(folder, self._provider(), tools=tools)

    def _folder(
        self,
        inputs: Iterable[Path],
        report: CopyReport,
        comparison: str = "",
        parent: Parent | None = None,
    ) -> RunFolder:
        """Create a run's folder with its inputs; leave nothing behind on failure."""
        sandbox = self._provider().create_workspace()
        folder = RunFolder.create(self._data, sandbox, comparison=comparison, parent=parent)
        with ExitStack() as on_failure:
            on_failure.callback(folder.discard)
            for path in inputs:
                copied = copy_in(Workspace(folder.workspace), path, INPUT_FOLDER)
                report.copied += copied.copied
                report.skipped += copied.skipped
            on_failure.pop_all()
        return folder

    def _limits(self, limits: Limits | None, spec: RunSpec, model: Model) -> Limits:
        """Return the limits of a spec, or the given ones with what the spec changes."""
        usual = spec.limits(self.settings, model)
        if limits is None:
            return usual
        arguments.check_type("limits", limits, Limits, "Limits, such as Limits(steps=20)")
        arguments.steps("limits.steps", limits.steps, self.settings.max_steps)
        return replace(
            limits, steps=spec.max_steps or limits.steps,
            summarise=spec.summarise or limits.summarise,
        )  # fmt: skip

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
            folder.discard()
