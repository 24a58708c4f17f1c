"""The engine room: the container engine, the image, the sandboxes' way out of one data folder.

They are made ready in the background, so that a page is served at once; whoever waits for them
is told how far that is.
"""

import logging
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal

from agent.errors import EngineError, ImageError, SandboxError, StudioError
from agent.events import Event, Preparing
from agent.removal import named_sandboxes
from agent.sandbox import resting
from agent.sandbox.egress import Egress
from agent.sandbox.engine import Client, check_runtime, connect, engine_errors
from agent.sandbox.image import dockerfile_path, ensure_image, image_is_there
from agent.sandbox.instance import DataFolder, abandoned
from agent.sandbox.progress import Progress
from agent.sandbox.resting import INSTANCE_LABEL
from agent.sandbox.subnets import reap as reap_networks
from agent.settings import Settings
from agent.stop import Stop

_log = logging.getLogger(__name__)
_LOOK = 0.25
_PATIENCE = 10.0


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


class EngineRoom:
    """What the sandboxes of one data folder are made with.

    Args:
        settings: Engine, image, runtime, proxy.
        data: The data folder, held by this process.
        report: Told of each change of ``readiness``, from a thread of its own.
        opened: Called once, when sandboxes can be made for the first time; must not wait.
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
        self._worker: threading.Thread | None = None
        self._closed = False

    @property
    def readiness(self) -> Readiness:
        """How far it is at this moment."""
        return self._readiness

    @property
    def client(self) -> Client | None:
        """The engine, once it is reached."""
        return self._client

    @property
    def egress(self) -> Egress | None:
        """The sandboxes' way out, once it is open."""
        return self._egress

    def open(self) -> None:
        """Begin to connect, clean up and build, in the background. May be called again."""
        with self._changed:
            at_work = self._worker is not None and self._worker.is_alive()
            if self._closed or at_work or self._readiness.phase == "ready":
                return
            self._readiness = Readiness()
            self._worker = threading.Thread(target=self._set_up, name="computers", daemon=True)
            self._worker.start()

    def shut(self) -> None:
        """Set nothing up any more; what is under way calls ``opened`` no more."""
        with self._changed:
            self._closed = True

    def close(self) -> None:
        """Close the way out and let the engine go, when the last sandbox is gone or stopped.

        A way out that is just being opened is waited for, so that nothing is left of it.
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
        """Wait for the image, showing how far it is; a set-up that failed is tried once more.

        Returns None where a stop came first.

        Raises:
            EngineError: it failed again.
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
        """Wait until something holds that comes with a set-up; return whether it does."""
        with self._changed:
            return self._changed.wait_for(holds, seconds)

    def has_image(self) -> bool:
        """Whether the image is there still, once it was.

        Raises:
            SandboxError: the engine refused.
        """
        assert self._client is not None
        with engine_errors("The sandbox image can't be looked for"):
            return image_is_there(self._client, self._readiness.image)

    def begin_again(self) -> None:
        """Have the image made again, which somebody removed."""
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
        if self._client is not None and self._egress is not None:
            self._say(Readiness("ready", image=self._image(self._client)))
            return
        settings = self._settings
        client = connect(settings.docker_host or None, settings.runtime_dir or None)
        self._client = client
        check_runtime(client, settings.runtime)
        kept = self._clean_up(client)
        tag = self._image(client)
        image = ensure_image(client, dockerfile_path(), self._built, "proxy")
        with self._opening:
            if self._closed:
                return
            egress = self._way_out(client, image)
            for each in kept:
                if each.place is not None:
                    egress.reserve(each.place)
            if not self._take(egress, tag):
                return
        self._say(Readiness("ready", image=tag))

    def _take(self, egress: Egress, tag: str) -> bool:
        """Have sandboxes made from now on; False where all was closed meanwhile."""
        with self._changed:
            if self._closed:
                _close_quietly(egress)
                return False
            self._egress = egress
            self._readiness = replace(self._readiness, image=tag)
            self._opened()
        return True

    def _clean_up(self, client: Client) -> list[resting.Kept]:
        """Remove what processes that died left at the engine; what rests there for a run."""
        ours = self._data.instance
        kept = resting.reap(client, ours, spare=named_sandboxes(self._data.path))
        for place in abandoned(self._data):
            resting.reap(client, place.instance)
            reap_networks(client, (INSTANCE_LABEL, place.instance))
        reap_networks(client, (INSTANCE_LABEL, ours))
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

    def _way_out(self, client: Client, image: str) -> Egress:
        label = (INSTANCE_LABEL, self._data.instance)
        egress = Egress(client, image, self._data.path / "proxy", label, self._settings.proxy)
        egress.open()
        return egress

    def _built(self, progress: Progress) -> None:
        self._say(Readiness("building", progress.line, progress.fraction))

    def _say(self, readiness: Readiness) -> None:
        with self._changed:
            self._readiness = readiness
            self._changed.notify_all()
        self._report(readiness)


def _close_quietly(egress: Egress) -> None:
    """The engine may have gone before; its next start removes what is left."""
    try:
        egress.close()
    except SandboxError as error:
        _log.warning("%s", error)
