"""The sandbox backend of a data folder (engine, image, network proxy), set up in the background."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from agent.data_folder import DataFolder, lock_unused_subfolders
from agent.errors import EngineError, ImageError, SandboxError, StudioError
from agent.provisioning.orphans import remove_orphans
from agent.sandbox.disk import volume
from agent.sandbox.docker import lifecycle
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import (
    Client,
    check_runtime,
    connect,
    engine_errors,
    is_podman,
    is_responding,
    unenforced_limits,
)
from agent.sandbox.image.build import dockerfile_path, ensure_image, image_exists, image_id
from agent.sandbox.image.progress import BuildProgress
from agent.sandbox.network.proxy import Proxy
from agent.sandbox.network.subnets import reap as reap_networks
from agent.settings import Settings
from agent.util.stop import Stop

_log = logging.getLogger(__name__)
_UNENFORCED_WARNING = (
    "This container engine does not enforce these limits on sandboxes: {names}. A command can use "
    "all of the machine's resources. Use a rootful engine, or a rootless one on a system with "
    "cgroup v2 that delegates its controllers "
    "(https://docs.docker.com/engine/security/rootless/tips/)."
)
_PODMAN_WARNING = (
    "This container engine is Podman, which cannot isolate a sandbox from this machine's network. "
    "Only runs with Network set to None work. Use Docker for runs with a network."
)
_POLL_SECONDS = 0.25
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SetupStatus:
    """Setup status of the sandbox backend."""

    phase: Literal["connecting", "building", "ready", "failed"] = "connecting"
    detail: str = ""  # the current action, or what failed and what to do
    progress: float | None = None  # of the build from 0 to 1; None if unknown
    image: str = ""  # tag; empty until it is known
    warning: str = ""  # what the engine cannot provide, what to do


class Backend:
    """Sets up and owns the engine client, the image and the proxy of one data folder."""

    def __init__(self, settings: Settings, data: DataFolder) -> None:
        self._settings, self._data = settings, data
        self._on_status: Callable[[SetupStatus], None] = lambda _: None
        self._on_open: Callable[[], None] = lambda: None
        self.setup_status = SetupStatus()
        self._changed = threading.Condition()
        self._open_lock = threading.Lock()
        self.client: Client | None = None  # until the engine is reached
        self.proxy: Proxy | None = None  # until it is open, and always on Podman
        self._published = False
        self.image_id = ""  # ``sha256:…``, as ``has_image`` found it
        self._worker: threading.Thread | None = None
        self._closed = False

    def notify(self, on_status: Callable[[SetupStatus], None], on_open: Callable[[], None]) -> None:
        """Set what the setup calls; ``on_open``, once sandboxes can be created, must not block."""
        with self._changed:
            self._on_status, self._on_open = on_status, on_open
            if self._published:
                on_open()

    def open(self) -> None:
        """Start to connect, clean up and build in the background. Idempotent."""
        with self._changed:
            running = self._worker is not None and self._worker.is_alive()
            if self._closed or running or self.setup_status.phase == "ready":
                return
            self.setup_status = SetupStatus()
            self._worker = threading.Thread(target=self._set_up, name="sandbox setup", daemon=True)
            self._worker.start()

    def cancel_setup(self) -> None:
        """Prevent further setup; a setup in progress no longer calls ``on_open``."""
        with self._changed:
            self._closed = True

    def close_proxy(self) -> None:
        """Close the proxy, even one being opened; call it after the last sandbox stopped."""
        self.cancel_setup()
        locked = self._open_lock.acquire(timeout=_TIMEOUT_SECONDS)
        try:
            if self.proxy is not None:
                _close_quietly(self.proxy)
        finally:
            if locked:
                self._open_lock.release()

    def close(self) -> None:
        """Close the proxy and the engine client; call it after the last sandbox has stopped."""
        self.close_proxy()
        if self.client is not None:
            self.client.close()

    def wait_until_ready(self, stop: Stop) -> Iterator[SetupStatus]:
        """Wait for the setup, retried once; yield progress to ``ready``. Raises ``EngineError``."""
        self.open()
        reported = None
        while (status := self.setup_status).phase in ("connecting", "building"):
            if stop.is_set:
                return
            if status not in (reported, SetupStatus()):
                reported = status
                yield status
            with self._changed:
                self._changed.wait(_POLL_SECONDS)
        if status.phase == "failed":
            raise EngineError(status.detail)
        yield status

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition that the setup brings about holds; return whether it does."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def has_image(self) -> bool:
        """Return whether the image, which was ready before, still exists."""
        assert self.client is not None
        with engine_errors("The sandbox image cannot be looked up"):
            self.image_id = image_id(self.client, self.setup_status.image)
        return bool(self.image_id)

    def rebuild_image(self) -> None:
        """Rebuild the image after it was removed from the engine."""
        with self._changed:
            if self.setup_status.phase == "ready":
                self.setup_status = SetupStatus()
        self.open()

    def _set_up(self) -> None:
        try:
            self._connect()
        except StudioError as error:
            self._set_status(SetupStatus("failed", str(error)))
        except Exception as error:  # noqa: BLE001 - the boundary of a thread that others wait for
            _log.exception("The sandboxes could not be set up")
            self._set_status(SetupStatus("failed", f"The sandboxes could not be set up: {error!r}"))

    def _connect(self) -> None:
        if self.client is not None and self._published:
            tag = self._ensure_sandbox_image(self.client)
            self._finish(self.client, tag)
            return
        settings = self._settings
        client = connect(settings.docker_host or None, settings.runtime_dir or None)
        self.client = client
        check_runtime(client, settings.runtime)
        containers = self._clean_up(client)
        tag = self._ensure_sandbox_image(client)
        image = self._ensure_proxy_image(client)
        with self._open_lock:
            if self._closed:
                return
            proxy = self._open_proxy(client, image, containers) if image else None
            if not self._publish(proxy, tag):
                return
        self._finish(client, tag)

    def _finish(self, client: Client, tag: str) -> None:
        """Report that sandboxes can be created, then start the proxy, for their commands."""
        self._set_status(SetupStatus("ready", image=tag, warning=_warning(client)))
        if self.proxy is None:
            return
        try:
            self.proxy.start()
        except SandboxError:
            if is_responding(client):  # else the runs wait for it
                raise

    def _publish(self, proxy: Proxy | None, tag: str) -> bool:
        """Let sandboxes be created; close the proxy and return False after ``cancel_setup``."""
        with self._changed:
            if self._closed:
                if proxy is not None:
                    _close_quietly(proxy)
                return False
            self.proxy, self._published = proxy, True
            self.setup_status = replace(self.setup_status, image=tag)
            self._on_open()
        return True

    def _clean_up(self, client: Client) -> list[lifecycle.ContainerInfo]:
        """Remove what dead processes left in the engine; return the stopped containers kept."""
        instance = self._data.instance_id
        kept = lifecycle.reap(client, instance, self._is_assigned)
        for folder in lock_unused_subfolders(self._data):
            _remove_all_of(client, folder)
        reap_networks(client, (INSTANCE_LABEL, instance))
        remove_orphans(client)
        return kept

    def remove_leftovers(self, folder: DataFolder) -> None:
        """Remove from the engine what a dead process left, whose data folder is locked now."""
        if self.client is None:
            raise EngineError("The container engine cannot be reached.")
        _remove_all_of(self.client, folder)

    def _is_assigned(self, sandbox: str) -> bool:
        return bool(sandbox) and volume.is_assigned(self._data.path / "sandboxes" / sandbox)

    def _ensure_sandbox_image(self, client: Client) -> str:
        if not self._settings.image:
            return ensure_image(client, dockerfile_path(), self._report_build)
        if not image_exists(client, self._settings.image):
            raise ImageError(
                f"STUDIO_IMAGE is {self._settings.image!r}, but the engine has no such image. "
                "Pull or build it, or unset STUDIO_IMAGE to use the studio's own image."
            )
        return self._settings.image

    def _ensure_proxy_image(self, client: Client) -> str:
        """Return the proxy image's tag; empty if the engine's sandboxes get no network."""
        if is_podman(client):
            return ""
        return ensure_image(client, dockerfile_path(), self._report_build, "proxy")

    def _open_proxy(
        self, client: Client, image: str, containers: Iterable[lifecycle.ContainerInfo]
    ) -> Proxy:
        label = (INSTANCE_LABEL, self._data.instance_id)
        proxy = Proxy(client, image, self._data.path / "proxy", label, self._settings.proxy)
        for each in containers:
            if each.network is not None:
                proxy.reserve_addresses(each.network)
        proxy.open()
        return proxy

    def _report_build(self, progress: BuildProgress) -> None:
        self._set_status(SetupStatus("building", progress.line, progress.fraction))

    def _set_status(self, status: SetupStatus) -> None:
        with self._changed:
            self.setup_status = status
            self._changed.notify_all()
        self._on_status(status)


def _remove_all_of(client: Client, folder: DataFolder) -> None:
    """Remove the containers and networks of a data folder's instance."""
    lifecycle.reap(client, folder.instance_id)
    reap_networks(client, (INSTANCE_LABEL, folder.instance_id))


def _warning(client: Client) -> str:
    """Return what the engine cannot provide and what to do about it; empty if nothing."""
    names = unenforced_limits(client)
    limits = _UNENFORCED_WARNING.format(names=", ".join(names)) if names else ""
    network = _PODMAN_WARNING if is_podman(client) else ""
    return " ".join(filter(None, (network, limits)))


def _close_quietly(proxy: Proxy) -> None:
    """Close the proxy; on failure (the engine may be down) the next start cleans up."""
    try:
        proxy.close()
    except SandboxError as error:
        _log.warning("%s", error)
