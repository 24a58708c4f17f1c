"""Where sandboxes come from: the engine, the image, the warm pool, one data folder.

The engine is connected and the image is built in the background, so that a page is served at
once; whoever takes a sandbox meanwhile is told how far that is.
"""

import logging
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from agent.errors import EngineError, ImageError, SandboxError, StudioError
from agent.events import Event, Preparing, SandboxReady
from agent.folder import RunFolder
from agent.removal import sandboxes_of
from agent.sandbox.base import Sandbox
from agent.sandbox.docker import (
    INSTANCE_LABEL,
    ContainerSpec,
    DockerSandbox,
    host_certificates,
    reap,
)
from agent.sandbox.egress import Egress
from agent.sandbox.egress import reap as reap_networks
from agent.sandbox.engine import Client, connect
from agent.sandbox.image import dockerfile_path, ensure_image, image_is_there
from agent.sandbox.instance import DataFolder, abandoned, places
from agent.sandbox.pool import Pool
from agent.sandbox.progress import Progress
from agent.settings import Settings
from agent.settling import settle
from agent.stop import Stop
from agent.workspace.blobs import BlobStore

_log = logging.getLogger(__name__)
_LOOK = 0.25
_EMPTY = "cd / && find /workspace -mindepth 1 -xdev -delete"
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far the computers are.

    Attributes:
        phase: ``connecting`` to the engine, ``building`` the image, ``ready`` or ``failed``.
        detail: What is being done, or what failed and what to do about it.
        progress: How far the build is, from 0 to 1; None where there is no telling.
        image: The image's tag, once it is known.
    """

    phase: Literal["connecting", "building", "ready", "failed"] = "connecting"
    detail: str = ""
    progress: float | None = None
    image: str = ""


class Computers:
    """Makes sandboxes for the runs of one data folder.

    Args:
        settings: Limits, image, engine, size of the pool.
        data: The data folder, held by this process.
        report: Told of each change of ``readiness``, from a thread of theirs.
    """

    def __init__(
        self,
        settings: Settings,
        data: DataFolder,
        report: Callable[[Readiness], None] = lambda _: None,
    ) -> None:
        self.data = data
        self._report = report
        self.blobs = BlobStore(data.path / "blobs", limit=settings.blob_store)
        self._settings = settings
        self._readiness = Readiness()
        self._changed = threading.Condition()
        self._client: Client | None = None
        self._pool: Pool | None = None
        self._egress: Egress | None = None
        self._worker: threading.Thread | None = None
        self._closed = False
        self._remove_orphans()

    @property
    def readiness(self) -> Readiness:
        """How far they are at this moment."""
        return self._readiness

    def open(self) -> None:
        """Begin to connect, clean up and build, in the background. May be called again."""
        with self._changed:
            at_work = self._worker is not None and self._worker.is_alive()
            if self._closed or at_work or self._readiness.phase == "ready":
                return
            self._readiness = Readiness()
            self._worker = threading.Thread(target=self._set_up, name="computers", daemon=True)
            self._worker.start()

    def close(self) -> None:
        """Remove the idle sandboxes and let the engine go; what is being set up makes none."""
        with self._changed:
            self._closed = True
        if self._pool is not None:
            self._pool.close()
        if self._egress is not None:
            _close_quietly(self._egress)
        if self._client is not None:
            self._client.close()
        self._remove_orphans()

    def draft(self) -> str:
        """Make a sandbox's folder with an empty workspace, no container yet; its id."""
        sandbox_id = uuid.uuid4().hex
        workspace = self.data.workspace(sandbox_id)
        for name in ("input", "output"):
            (workspace / name).mkdir(parents=True)
        return sandbox_id

    def empty(self, sandbox_id: str) -> None:
        """Empty a sandbox's workspace as root of a container on it.

        For what root made in an earlier one, and this process's user may not remove.

        Raises:
            StudioError: no container can be made.
        """
        if self._client is None:
            raise EngineError("The container engine, which could remove them, is not reached.")
        with closing(self._create(sandbox_id, network=False)) as sandbox:
            for _ in sandbox.execute(_EMPTY, timeout=_PATIENCE, stop=Stop()):
                pass

    def take(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        """The run's sandbox; see ``agent.recorder.Computers``."""
        began = time.monotonic()
        readiness = yield from self._ready(stop)
        if readiness is None:
            return None
        pooled = self._from_pool(folder)
        if pooled is None:
            yield Preparing(state="starting_sandbox")
        policy = folder.network
        sandbox = pooled or self._create(folder.sandbox, network=policy.access != "none")
        sandbox.allow(policy)
        folder.use(sandbox.id)
        seconds = time.monotonic() - began
        yield SandboxReady(sandbox=sandbox.id, seconds=seconds, pooled=pooled is not None)
        return sandbox

    def wait_for_pool(self, seconds: float) -> bool:
        """Wait until the pool is as full as it is to be; return whether it is."""
        end = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._pool is not None, seconds)
        return self._pool is not None and self._pool.wait_full(end - time.monotonic())

    def _ready(self, stop: Stop) -> Generator[Event, None, Readiness | None]:
        """Wait for the image, showing how far it is; a set-up that failed is tried once more."""
        self.open()
        shown = None
        while (readiness := self._readiness).phase in ("connecting", "building"):
            if stop.is_set:
                return None
            if readiness not in (shown, Readiness()):
                shown = readiness
                yield Preparing(
                    state="preparing_image", detail=readiness.detail, progress=readiness.progress
                )
            with self._changed:
                self._changed.wait(_LOOK)
        if readiness.phase == "failed":
            raise EngineError(readiness.detail)
        return readiness

    def _set_up(self) -> None:
        try:
            self._connect()
        except StudioError as error:
            self._say(Readiness("failed", str(error)))
        except Exception as error:  # noqa: BLE001 - the boundary of a thread that others wait for
            _log.exception("The computers could not be set up")
            self._say(Readiness("failed", f"The sandboxes could not be set up: {error!r}"))

    def _connect(self) -> None:
        settings = self._settings
        client = connect(settings.docker_host or None, settings.runtime_dir or None)
        self._client = client
        for instance in (self.data.instance, *(each.instance for each in abandoned(self.data))):
            reap(client, instance)
            reap_networks(client, (INSTANCE_LABEL, instance))
        tag = self._image(client)
        egress = self._way_out(client)
        with self._changed:
            if self._closed:
                _close_quietly(egress)
                return
            self._egress = egress
            self._readiness = replace(self._readiness, image=tag)
            self._pool = Pool(lambda: self._create(uuid.uuid4().hex), settings.pool)
        self._say(Readiness("ready", image=tag))

    def _image(self, client: Client) -> str:
        if not self._settings.image:
            return ensure_image(client, dockerfile_path(), self._built)
        if not image_is_there(client, self._settings.image):
            raise ImageError(
                f"The engine has no image {self._settings.image!r}, which STUDIO_IMAGE names. "
                "Pull or build it, or unset STUDIO_IMAGE to use the studio's own."
            )
        return self._settings.image

    def _way_out(self, client: Client) -> Egress:
        image = ensure_image(client, dockerfile_path(), self._built, "proxy")
        label = (INSTANCE_LABEL, self.data.instance)
        egress = Egress(client, image, self.data.path / "proxy", label, self._settings.proxy)
        egress.open()
        return egress

    def _built(self, progress: Progress) -> None:
        self._say(Readiness("building", progress.line, progress.fraction))

    def _say(self, readiness: Readiness) -> None:
        with self._changed:
            self._readiness = readiness
            self._changed.notify_all()
        self._report(readiness)

    def _from_pool(self, folder: RunFolder) -> Sandbox | None:
        """A warm sandbox for a run that has none yet, with the run's files moved into it."""
        if self._pool is None or folder.used or folder.network.access == "none":
            return None
        sandbox = self._pool.take()
        if sandbox is not None:
            settle(folder, sandbox.id, sandbox.workspace)
        return sandbox

    def _create(self, sandbox_id: str, *, network: bool = True) -> DockerSandbox:
        assert self._client is not None
        settings = self._settings
        chosen = Path(settings.ca_bundle) if settings.ca_bundle else None
        spec = ContainerSpec(
            image=self._readiness.image,
            instance=self.data.instance,
            sandbox_id=sandbox_id,
            workspace=self.data.workspace(sandbox_id),
            limits=settings.sandbox_limits(),
            certificates=chosen if chosen and chosen.is_file() else host_certificates(),
            egress=self._egress if network else None,
        )
        return DockerSandbox.create(self._client, spec)

    def _remove_orphans(self) -> None:
        """Remove sandbox folders that no run names, as an idle pool leaves them.

        Only while nothing here makes new ones: before the first, and after the last.
        """
        named = {
            sandbox
            for place in places(self.data.path)
            for run in RunFolder.ids(place)
            for sandbox in sandboxes_of(place, run)
        }
        for path in (self.data.path / "sandboxes").glob("*"):
            if path.name not in named:
                shutil.rmtree(path, ignore_errors=True)


def _close_quietly(egress: Egress) -> None:
    """The engine may have gone before; its next start removes what is left."""
    try:
        egress.close()
    except SandboxError as error:
        _log.warning("%s", error)
