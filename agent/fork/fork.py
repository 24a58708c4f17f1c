"""Makes a fork: a new run with the files and the conversation of another one after a step."""

import errno
import re
import shlex
import shutil
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from agent import prompts
from agent.data_folder import random_id
from agent.errors import RunError, SettingError, StorageFull, UsageError
from agent.events import Forked, Mode, RunStarted, encode
from agent.fork import copying
from agent.fork.copying import unversioned_files
from agent.fork.cut import Cut, cut_run, manifest_after
from agent.prompts import Prompt
from agent.runs.folder import Parent, RunFolder
from agent.runs.inputs import list_inputs, read_texts
from agent.runs.recorded_run import Task
from agent.runs.spec import settings_at_start
from agent.sandbox.disk import volume
from agent.util.text import format_size
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.restore import NotRestored

_PYTHON = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,79}) ([0-9][A-Za-z0-9.+!_-]{0,40})")
_DEBIAN = re.compile(r"[a-z0-9][a-z0-9.+-]{1,79}")
_MAX_LISTED = 200


def install_commands(packages: Iterable[str]) -> tuple[str, ...]:
    """Return commands that install ``name version`` (Python) and ``name`` (Debian) packages.

    Other texts are left out: they come from the sandbox.
    """
    python, debian = dict[str, str](), list[str]()
    for package in packages:
        if found := _PYTHON.fullmatch(package):
            python[found[1]] = found[2]  # the last version that was installed
        elif _DEBIAN.fullmatch(package):
            debian.append(package)
    commands = []
    if debian:
        names = shlex.join(dict.fromkeys(debian))
        commands.append(f"apt-get update && apt-get install -y --no-install-recommends {names}")
    if python:
        names = shlex.join(f"{name}=={version}" for name, version in python.items())
        commands.append(f"pip install {names}")
    return tuple(commands)


def fork_run(
    parent: RunFolder,
    step: int,
    blobs: BlobStore,
    create_workspace: Callable[[], str],
    *,
    prompt: Prompt | None = None,
    mode: Mode | None = None,
    reinstall: bool = False,
    owner: str = "",
    data: Path | None = None,
    check_space: Callable[[int], None] = lambda _: None,
) -> RunFolder:
    """Make a run that starts from a step of another one, and return its folder.

    Its first round begins with ``RecordedRun.follow_up``; for step 0 with ``RecordedRun.start`` and
    ``first_task``. The parent may be running. Nothing is left behind on failure. ``data`` is the
    new run's data folder if it is another one on the same disk, and ``blobs`` the store of it.
    ``create_workspace`` returns a new sandbox's id; ``check_space`` gets the bytes to copy
    beforehand, and raises to refuse.
    """
    cut = cut_run(parent, step)
    with ExitStack() as on_failure, blobs.protected():
        manifest = manifest_after(parent, cut)
        # From here on the contents stay, even if the parent is deleted before the end.
        stored = (node.hash for node in manifest.nodes.values() if node.hash and node.stored)
        if data is not None and data != parent.data:
            blobs.link(parent.data / "blobs", stored)
        else:
            blobs.keep(stored)
        place = data or parent.data
        versions = parent.manifests.exists()
        unversioned = None if versions else unversioned_files(parent, step)
        needed = copying.copied_bytes(manifest, unversioned, cut.cursor)
        check_space(needed)
        _check_disk(place, needed)
        about = Parent(parent.id, step, manifest.digest() if versions else "")
        try:
            sandbox, run_id = create_workspace(), random_id()
            on_failure.callback(_discard, place, run_id, sandbox)
            fork = RunFolder.create(place, sandbox, owner, parent=about, run_id=run_id)
            fork.set_network(parent.network)
            if parent.memory is not None:
                fork.set_memory(parent.memory)
            missing = copying.copy_files(parent, fork, manifest, unversioned, blobs)
            copying.copy_manifests(parent, fork, step)
            copying.copy_approval(parent, fork)
            if step:
                copying.link_outputs(parent, fork, cut.cursor, step)
                copying.copy_requests(parent, fork, step)
                event = _event(fork, cut, missing, reinstall=reinstall)
                if prompt is not None or mode not in (None, cut.state.mode):
                    event = _with_prompts(event, fork, cut, prompt, mode or cut.state.mode)
                copying.copy_journal(parent, fork, cut.cursor, encode(event) + b"\n")
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull("The disk has no space for the fork. Free some space.") from error
            raise RunError(f"The run cannot be forked: {error.strerror or error}.") from error
        on_failure.pop_all()
    return fork


def first_task(
    parent: RunFolder, text: str = "", prompt: Prompt | None = None, mode: Mode | None = None
) -> Task:
    """Return the task of a fork at step 0, with which its first round starts."""
    started = cut_run(parent, 0).started
    same = _prompt_of(started)
    prompt = prompt or same
    if prompt is None:
        template = started.user.replace(started.task, "{task}")
        prompt = Prompt(started.system, template, template, started.prompt)
    rest = started.system.removeprefix(same.system).strip() if same else ""
    return Task(
        text or started.task,
        prompt,
        mode or started.mode,
        parent.network,
        rest if started.mode == "sandbox" else started.system,
        started.history,
        started.spec,
        pdfs=settings_at_start(started)["pdfs"],
    )


def _event(fork: RunFolder, cut: Cut, missing: list[NotRestored], *, reinstall: bool) -> Forked:
    """Return the event that ends the copy."""
    return Forked(
        parent=fork.parent.run if fork.parent else "",
        step=cut.step,
        totals=cut.state.current_totals,
        missing=tuple(RelPath.trusted(each.path).to_url() for each in missing[:_MAX_LISTED]),
        missing_total=len(missing),
        setup=install_commands(cut.packages) if reinstall else (),
    )


def _with_prompts(
    event: Forked, fork: RunFolder, cut: Cut, prompt: Prompt | None, mode: Mode
) -> Forked:
    """Return the event with the prompts that another prompt or mode leads to."""
    started = cut.started
    same = _prompt_of(started)
    prompt = prompt or same
    if prompt is None:
        raise UsageError(
            f"The run's prompt “{started.prompt}” is none of the studio's, so it cannot be used "
            "in another mode. Choose a prompt, too."
        )
    inputs = list_inputs(Workspace(fork.workspace))
    if mode == "plain":
        texts = read_texts(Workspace(fork.workspace), inputs)
        return replace(
            event, mode=mode, prompt=prompt.name, system="",
            user=prompt.plain_message(started.task, [each.document for each in texts]),
        )  # fmt: skip
    rest = started.system.removeprefix(same.system) if same else ""
    return replace(
        event, mode=mode, prompt=prompt.name, system=prompt.system + rest,
        user=prompt.user_message(started.task, [path.display for path in inputs]),
    )  # fmt: skip


def _prompt_of(started: RunStarted) -> Prompt | None:
    """Return the bundled prompt of a run; None if it had another one."""
    try:
        prompt = prompts.get_bundled(started.prompt)
    except SettingError:
        return None
    return prompt if started.mode == "plain" or started.system.startswith(prompt.system) else None


def _check_disk(place: Path, needed: int) -> None:
    free = shutil.disk_usage(place).free
    if free < needed:
        raise StorageFull(
            f"The fork needs {format_size(needed)}, and the disk has {format_size(free)} free. "
            "Nothing was copied. Free some space and try again."
        )


def _discard(data: Path, run: str, sandbox: str) -> None:
    volume.leave(data / "sandboxes" / sandbox, run)
    shutil.rmtree(data / "runs" / run, ignore_errors=True)
    volume.discard(data / "sandboxes" / sandbox)
