"""The sandbox backend of one data folder: container engine, image and network proxy.

They are set up in the background, so that the page is served at once; waiting runs are notified
of the progress.
"""

import logging
import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from agent.data_folder import DataFolder, abandoned
from agent.errors import EngineError, ImageError, SandboxError, StudioError
from agent.events import Event, Preparing
from agent.provisioning.orphans import remove_orphans
from agent.runs.disk_usage import named_sandboxes
from agent.sandbox.docker import lifecycle
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import (
    Client,
    check_runtime,
    connect,
    engine_errors,
    is_podman,
    unenforced_limits,
)
from agent.sandbox.image.build import dockerfile_path, ensure_image, image_is_there
from agent.sandbox.image.progress import Progress
from agent.sandbox.network.proxy import Egress
from agent.sandbox.network.subnets import reap as reap_networks
from agent.settings import Settings
from agent.util.cancellation import Stop

_log = logging.getLogger(__name__)
_UNENFORCED = (
    "This container engine does not enforce these limits on sandboxes: {names}. A command can take "
    "all that the machine has. Use a rootful engine, or a rootless one on a system with cgroup v2 "
    "that delegates its controllers (https://docs.docker.com/engine/security/rootless/tips/)."
)
_PODMAN = (
    "This container engine is Podman, which cannot keep a sandbox off this machine's network: only "
    "runs whose Network is None work. Use Docker for runs with a network."
)
_LOOK = 0.25
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """Setup status of the sandbox backend.

    Attributes:
        phase: ``connecting`` to the engine, ``building`` the image, ``ready`` or ``failed``.
        detail: The current action, or what failed and what to do about it.
        progress: Progress of the build from 0 to 1; None if unknown.
        image: The image's tag; empty until it is known.
        warning: What the engine cannot provide and what to do about it; empty if nothing.
    """

    phase: Literal["connecting", "building", "ready", "failed"] = "connecting"
    detail: str = ""
    progress: float | None = None
    image: str = ""
    warning: str = ""


class EngineRoom:
    """Sets up and owns the engine client, the image and the proxy of one data folder.

    Args:
        settings: Engine, image, runtime, proxy.
        data: The data folder, locked by this process.
        report: Called with each change of ``readiness``, from the setup thread.
        opened: Called once, when sandboxes can first be created; must not block.
    """

    def __init__(
        self,
        settings: Settings,
        data: DataFolder,
        report: Callable[[Readiness], None],
        opened: Callable[[], None],
    ) -> None:
        self._settings, self._data = settings, data
        self._report, self._opened = report, opened
        self._readiness = Readiness()
        self._changed = threading.Condition()
        self._opening = threading.Lock()
        self._client: Client | None = None
        self._egress: Egress | None = None
        self._published = False
        self._worker: threading.Thread | None = None
        self._closed = False

    @property
    def readiness(self) -> Readiness:
        """The current setup status."""
        return self._readiness

    @property
    def client(self) -> Client | None:
        """The engine client; None until the engine is reached."""
        return self._client

    @property
    def egress(self) -> Egress | None:
        """The sandboxes' network proxy; None until it is open, and always on Podman."""
        return self._egress

    def open(self) -> None:
        """Start to connect, clean up and build in the background. Idempotent."""
        with self._changed:
            at_work = self._worker is not None and self._worker.is_alive()
            if self._closed or at_work or self._readiness.phase == "ready":
                return
            self._readiness = Readiness()
            self._worker = threading.Thread(target=self._set_up, name="computers", daemon=True)
            self._worker.start()

    def shut(self) -> None:
        """Prevent further setup; a setup in progress no longer calls ``opened``."""
        with self._changed:
            self._closed = True

    def close(self) -> None:
        """Close the proxy and the engine client; call it after the last sandbox has stopped.

        Waits for a proxy that is being opened, so that it is cleaned up too.
        """
        self.shut()
        opened = self._opening.acquire(timeout=_PATIENCE)
        try:
            if self._egress is not None:
                _close_quietly(self._egress)
            if self._client is not None:
                self._client.close()
        finally:
            if opened:
                self._opening.release()

    def ready(self, stop: Stop) -> Generator[Event, None, Readiness | None]:
        """Wait for the setup and yield its progress; retry a failed setup once.

        Returns None if a stop comes first.

        Raises:
            EngineError: the setup failed again.
        """
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

    def wait(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition that the setup brings about holds; return whether it does."""
        with self._changed:
            return self._changed.wait_for(holds, seconds)

    def has_image(self) -> bool:
        """Return whether the image still exists; valid only once it has been available.

        Raises:
            SandboxError: the engine refused.
        """
        assert self._client is not None
        with engine_errors("The sandbox image can't be looked for"):
            return image_is_there(self._client, self._readiness.image)

    def begin_again(self) -> None:
        """Rebuild the image after it was removed from the engine."""
        with self._changed:
            if self._readiness.phase == "ready":
                self._readiness = Readiness()
        self.open()

    def _set_up(self) -> None:
        try:
            self._connect()
        except StudioError as error:
            self._say(Readiness("failed", str(error)))
        except Exception as error:  # noqa: BLE001 - the boundary of a thread that others wait for
            _log.exception("The computers could not be set up")
            self._say(Readiness("failed", f"The sandboxes could not be set up: {error!r}"))

    def _connect(self) -> None:
        if self._client is not None and self._published:
            tag = self._image(self._client)
            self._say(Readiness("ready", image=tag, warning=_warning(self._client)))
            return
        settings = self._settings
        client = connect(settings.docker_host or None, settings.runtime_dir or None)
        self._client = client
        check_runtime(client, settings.runtime)
        kept = self._clean_up(client)
        tag = self._image(client)
        image = self._proxy_image(client)
        with self._opening:
            if self._closed:
                return
            egress = self._way_out(client, image, kept) if image else None
            if not self._take(egress, tag):
                return
        self._say(Readiness("ready", image=tag, warning=_warning(client)))

    def _take(self, egress: Egress | None, tag: str) -> bool:
        """Publish the proxy and image, so that sandboxes can be created.

        Returns False and closes the proxy if ``shut`` was called meanwhile.
        """
        with self._changed:
            if self._closed:
                if egress is not None:
                    _close_quietly(egress)
                return False
            self._egress, self._published = egress, True
            self._readiness = replace(self._readiness, image=tag)
            self._opened()
        return True

    def _clean_up(self, client: Client) -> list[lifecycle.Kept]:
        """Remove what dead processes left in the engine; return the stopped containers kept."""
        ours = self._data.instance
        kept = lifecycle.reap(client, ours, spare=named_sandboxes(self._data.path))
        for place in abandoned(self._data):
            lifecycle.reap(client, place.instance)
            reap_networks(client, (INSTANCE_LABEL, place.instance))
        reap_networks(client, (INSTANCE_LABEL, ours))
        remove_orphans(client)
        return kept

    def _image(self, client: Client) -> str:
        if not self._settings.image:
            return ensure_image(client, dockerfile_path(), self._built)
        if not image_is_there(client, self._settings.image):
            raise ImageError(
                f"The engine has no image {self._settings.image!r}, which STUDIO_IMAGE names. "
                "Pull or build it, or unset STUDIO_IMAGE to use the studio's own."
            )
        return self._settings.image

    def _proxy_image(self, client: Client) -> str:
        """Return the proxy image's tag; empty if the engine's sandboxes get no network."""
        if is_podman(client):
            return ""
        return ensure_image(client, dockerfile_path(), self._built, "proxy")

    def _way_out(self, client: Client, image: str, kept: Iterable[lifecycle.Kept]) -> Egress:
        label = (INSTANCE_LABEL, self._data.instance)
        egress = Egress(client, image, self._data.path / "proxy", label, self._settings.proxy)
        egress.open()
        for each in kept:
            if each.place is not None:
                egress.reserve(each.place)
        return egress

    def _built(self, progress: Progress) -> None:
        self._say(Readiness("building", progress.line, progress.fraction))

    def _say(self, readiness: Readiness) -> None:
        with self._changed:
            self._readiness = readiness
            self._changed.notify_all()
        self._report(readiness)


def _warning(client: Client) -> str:
    """Return what the engine cannot provide and what to do about it; empty if nothing."""
    names = unenforced_limits(client)
    limits = _UNENFORCED.format(names=", ".join(names)) if names else ""
    network = _PODMAN if is_podman(client) else ""
    return " ".join(filter(None, (network, limits)))


def _close_quietly(egress: Egress) -> None:
    """Close the proxy; on failure (the engine may be down) the next start cleans up."""
    try:
        egress.close()
    except SandboxError as error:
        _log.warning("%s", error)
