"""What ``compare`` and ``eval`` print and write: progress, results, and their folder."""

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agent.api.experiments import ExperimentResult
from agent.api.run import Run
from agent.data_folder import DataFolder, candidate_folders, lock_free_subfolder
from agent.errors import DataFolderLocked, StudioError, WorkspaceError
from agent.experiments.experiment import Kind
from agent.experiments.folder import ExperimentFolder, record_path
from agent.experiments.publish import exports
from agent.experiments.runner import Progress
from agent.models.errors.failures import KEY_ADVICE
from agent.settings import Settings
from agent.util.text import format_duration, sanitize


class ProgressReport:
    """Prints the progress; the first report stores the experiment's id for ``--resume``."""

    def __init__(self, output: "ResultFolder", data: Path) -> None:
        self._output = output
        self._data = data
        self._folder: ExperimentFolder | None = None

    def __call__(self, progress: Progress) -> None:
        """Report a run that has started or ended, or a test of a model."""
        if self._folder is None:
            self._folder = ExperimentFolder.open(self._data, progress.experiment)
            self._output.remember(progress.experiment, self._data)
            kind = self._folder.kind.capitalize()
            print_line(f"{kind} {progress.experiment}: {progress.total} to do")
        if progress.status == "testing":
            print_line(f"Testing {progress.label} …")
        elif progress.status not in ("defined", "started"):
            print_line(self._line(progress, self._folder))

    @staticmethod
    def _line(progress: Progress, folder: ExperimentFolder) -> str:
        task = ""
        if folder.definition.suites:
            found = folder.tasks[progress.task]
            task = f"{folder.suite_of[progress.task].name} {found.id}, "
        name = f"{task}{progress.label}, run {progress.repetition}"
        detail = progress.reason[:200] or " ".join(progress.answer.split())[:100]
        parts = [progress.outcome or "", progress.status.replace("_", " "), detail]
        if progress.remaining and progress.done < progress.total:
            parts.append(f"about {format_duration(progress.remaining)} left")
        return f"[{progress.done}/{progress.total}] {name}: {' – '.join(filter(None, parts))}"


def print_line(line: str) -> None:
    """Print a line to stderr; a missing key is advised as an option."""
    with suppress(BrokenPipeError):
        text = line.replace(KEY_ADVICE, "Name a file with the key of this endpoint: key-file=FILE.")
        print(sanitize(text), file=sys.stderr, flush=True)


class ResultFolder:
    """The folder, if any, that a command writes into; it remembers what it was started for."""

    def __init__(self, output: Path | None, kind: Kind) -> None:
        self.path = output
        self._kind = kind
        if output is not None:
            try:
                output.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise WorkspaceError(f"{output} cannot be written: {error.strerror}.") from error

    def remember(self, record: str, data: Path) -> None:
        """Store the id for ``--resume``, and the data folder that holds it."""
        if self.path:
            state = {"id": record, "data": str(data.absolute())}
            (self.path / self._state_name).write_text(json.dumps(state))

    @property
    def known_id(self) -> str:
        """The id that was stored; empty if none was."""
        return self._state().get("id", "")

    def lock_new(self, settings: Settings) -> DataFolder:
        """Lock a free data folder, for a new comparison or evaluation."""
        if self._state():
            raise WorkspaceError(
                f"{self.path} holds results of another {self._kind}. Continue it with --resume, or "
                "choose another folder."
            )
        return lock_free_subfolder(settings.data)

    def lock_existing(self, settings: Settings, record: str) -> DataFolder:
        """Lock the data folder that holds the one to continue."""
        if not record:
            raise WorkspaceError(f"{self.path} holds no {self._kind} to continue.")
        state = self._state()
        places = [Path(state["data"])] if state.get("id") == record else []
        for place in [*places, *candidate_folders(settings.data)]:
            path = record_path(place, record)
            if path is not None and path.stem == self._kind:
                try:
                    return DataFolder(place)
                except DataFolderLocked:
                    raise StudioError(
                        f"The open page holds this {self._kind}. Go on there, or close the page."
                    ) from None
        raise StudioError(
            f"There is no {self._kind} {record:.80} in {settings.data}: it does not exist any more."
        )

    def save_run(self, label: str, run: Run) -> None:
        """Save the results of a run in a folder that its label names."""
        if self.path is not None:
            name = "".join(each if each.isalnum() else "-" for each in label.lower())
            run.save(self.path / "runs" / f"{name}-{run.id}", overwrite=True)

    def finish(self, result: ExperimentResult, k: int | None = None) -> None:
        """Print the results, and write exports and the report, such as ``comparison.csv``."""
        if self.path is not None:
            result.report(self.path / f"{self._kind}.html")
            if self._kind == "evaluation":
                result.appendix(self.path / "evaluation.appendix.html")
            whole = result.published(k)
            try:
                for kind in exports.kinds(whole):
                    if kind != "zip":  # it has the others
                        content = exports.export(whole, kind)
                        (self.path / f"{self._kind}.{kind}").write_bytes(content)
            except OSError as error:
                raise WorkspaceError(f"{self.path} cannot be written: {error.strerror}.") from error
        print(sanitize(str(result)), end="")
        labels = defaultdict[str, list[str]](list)
        for label, why in result.problems.items():
            labels[why].append(label)
        for why, each in labels.items():
            print_line(f"{', '.join(each)}: {why}")

    @property
    def _state_name(self) -> str:
        return f"{self._kind}-id.json"

    def _state(self) -> Mapping[str, str]:
        try:
            state = json.loads((self.path / self._state_name).read_text()) if self.path else {}
            return {"id": str(state["id"]), "data": str(state["data"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {}
