"""Files of the API: uploads, which are drafts, and the files that runs have made.

An id names a run and a path, so a file has one owner and one permission, the run's. As a draft, an
uploaded file counts for the quota and is deleted after a week.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO

from agent.errors import RunError, StudioError, WorkspaceError
from agent.runs.inputs import INPUT_FOLDER, list_inputs
from agent.runs.user_changes import UserChange
from agent.workspace.paths import RelPath
from agent.workspace.transfer.uploads import check_space
from sandbox_ui.auth.access import Access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota
from sandbox_ui.openai_api.conversation import Attachment
from sandbox_ui.openai_api.errors import ApiError
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace.outputs import list_results

MAX_FILE_BYTES = 512 * 1024**2
"""Maximum size of an uploaded file: that of OpenAI's API."""

ANSWER_FILE = "output/answer.txt"
_PREFIX = "file-"
_COPY_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of a run."""

    run: str
    path: RelPath

    @property
    def id(self) -> str:
        """The id of the API."""
        encoded = base64.urlsafe_b64encode(self.path.to_url().encode()).decode().rstrip("=")
        return f"{_PREFIX}{self.run}.{encoded}"


def parse_file_id(text: str) -> FileRef:
    """Return the file that an id names."""
    run, dot, encoded = text.removeprefix(_PREFIX).partition(".")
    try:
        if not (text.startswith(_PREFIX) and run and dot):
            raise ValueError(text)
        quoted = base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True)
        path = RelPath.from_url(quoted)
        if not path.startswith(("input/", "output/")):
            raise ValueError(text)
    except (ValueError, binascii.Error, WorkspaceError) as error:
        raise _no_such_file(text) from error
    return FileRef(run, path)


@dataclass(frozen=True, slots=True)
class ProducedFile:
    """A file in ``output/`` of a round, and where the answer names it; else its end."""

    ref: FileRef
    name: str
    size: int
    url: str
    start: int
    end: int

    @property
    def is_answer(self) -> bool:
        """Whether its content is the answer itself."""
        return self.ref.path == ANSWER_FILE


class FileStore:
    """The files of all users."""

    def __init__(self, runs: RunManager, catalog: Catalog, quota: Quota) -> None:
        self._runs = runs
        self._catalog = catalog
        self._quota = quota

    def upload(self, owner: str, name: str, received: Path) -> dict[str, Any]:
        """Store a received file in a draft of its own; return it as an object of the API."""
        with self._catalog.new_draft(owner) as run, received.open("rb") as content:
            path = self._write(run, name, content, received.stat().st_size)
            return self.describe(FileRef(run, path))

    @contextmanager
    def attached(
        self, run: str, attachments: Sequence[Attachment], access: Access
    ) -> Iterator[None]:
        """Copy files into ``input/`` of a run; if the block fails, they are removed again."""
        with ExitStack() as on_failure:
            for each in attachments:
                path = self._attach(run, each, access)
                on_failure.callback(self._detach, run, path)
            yield
            on_failure.pop_all()

    def _attach(self, run: str, attachment: Attachment, access: Access) -> RelPath:
        name, content = attachment.name, attachment.content
        if content is None:
            ref = self.find(attachment.file_id, access)
            name = name or ref.path.name
        with BytesIO(content) if content is not None else self.open(ref) as file:
            size = file.seek(0, 2)
            file.seek(0)
            return self._write(run, name, file, size)

    def _detach(self, run: str, path: RelPath) -> None:
        with suppress(StudioError), self._runs.locked_workspace(run) as workspace:
            workspace.remove(path)
            self._runs.record_user_changes(run, [UserChange("removed", path)])

    def find(self, file_id: str, access: Access) -> FileRef:
        """Return the file with an id, if the user may view it."""
        ref = parse_file_id(file_id)
        if not access.can_view(ref.run):
            raise _no_such_file(file_id)
        try:
            is_file = self._runs.workspace(ref.run).stat(ref.path).kind == "file"
        except (WorkspaceError, RunError) as error:
            raise _no_such_file(file_id) from error
        if not is_file:
            raise _no_such_file(file_id)
        return ref

    def open(self, ref: FileRef) -> BinaryIO:
        """Open a file; the caller closes it."""
        return self._runs.open_file(ref.run, ref.path)

    def describe(self, ref: FileRef) -> dict[str, Any]:
        """Return a file as an object of the API."""
        entry = self._runs.workspace(ref.run).stat(ref.path)
        return {
            "id": ref.id,
            "object": "file",
            "bytes": entry.size,
            "created_at": int(entry.mtime),
            "filename": RelPath(ref.path.name).display,
            "purpose": "user_data" if ref.path.startswith("input/") else "assistants_output",
            "status": "processed",
        }

    def uploads(self, owner: str) -> list[dict[str, Any]]:
        """Return a user's uploaded files, newest first."""
        return [
            self.describe(FileRef(draft.run, path))
            for draft in self._catalog.drafts(owner=owner)
            for path in self._inputs(draft.run)
        ]

    def delete(self, ref: FileRef) -> None:
        """Delete an uploaded file, and its draft if nothing else is in it."""
        if self._runs.has_started(ref.run):
            raise ApiError(
                "This file belongs to a run. Delete the run with DELETE /api/runs/RUN.",
                409,
                param="file_id",
            )
        with self._runs.locked_workspace(ref.run) as workspace:
            workspace.remove(ref.path)
        if not self._inputs(ref.run):
            self._catalog.discard_draft(ref.run)

    def produced(self, run: str, first_step: int, answer: str, base_url: str) -> list[ProducedFile]:
        """Return the first 200 files in ``output/`` that steps from a number on have changed."""
        results = list_results(self._runs.workspace(run), self._runs.file_versions(run))
        produced = []
        for row in results["outputs"]["files"]:
            if (row["step"] or first_step) >= first_step:
                ref, name = FileRef(run, RelPath.from_url(row["path"])), row["name"]
                url = f"{base_url}/files/{ref.id}/content"
                produced.append(ProducedFile(ref, name, row["size"], url, *_position(answer, name)))
        return produced

    def _inputs(self, run: str) -> Iterator[RelPath]:
        with suppress(StudioError):
            paths = list_inputs(self._runs.workspace(run))
            return iter([RelPath.trusted(f"{INPUT_FOLDER}/{path}") for path in paths])
        return iter(())

    def _write(self, run: str, name: str, content: BinaryIO, size: int) -> RelPath:
        """Write a file into ``input/``; the name may get a number. Return its path."""
        name, owner = _base_name(name), self._runs.folder(run).owner
        target = INPUT_FOLDER.child(name)
        with self._runs.locked_workspace(run) as workspace:
            left = check_space(workspace, target, size, quota_left=self._quota.remaining(owner))
            with workspace.open_write(target, left) as file:
                copyfileobj(content, file, _COPY_BYTES)
                path = file.commit()
            self._runs.record_user_changes(run, [UserChange("added", path, size)])
        return path


def _position(answer: str, name: str) -> tuple[int, int]:
    for text in (f"output/{name}", name):
        if (start := answer.find(text)) >= 0:
            return start, start + len(text)
    return len(answer), len(answer)


def _base_name(name: str) -> str:
    """Return the last part of a client's name for a file."""
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2].replace("\0", "")
    return base if base not in ("", ".", "..") else "file"


def _no_such_file(file_id: str) -> ApiError:
    return ApiError(f"No such file: {file_id[:200]}.", 404, param="file_id")
