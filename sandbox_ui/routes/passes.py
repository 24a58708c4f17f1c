"""Passes: what a frame of opaque origin, which has no name to give, may read, and for how long."""

import json
import re
import time
from dataclasses import asdict, dataclass

from agent.errors import StudioError
from agent.workspace.paths import RelPath
from sandbox_ui.letters import data_of, letters
from sandbox_ui.people.signer import Signer

SECONDS = 3600
_BASE = re.compile(r"https?://[\w.\-]+(:\d+)?(/[\w.~%\-]+)*/|https?://\[[0-9a-f:]+\](:\d+)?/")


class NoPass(StudioError):
    """The pass is not ours, or its time is over."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one view of a page may read.

    Attributes:
        run: The run.
        folder: The page's folder, percent-encoded.
        base: The address that the studio has in the person's browser, ending in ``/``.
        allowed: Whether the page may ask for things outside.
        until: Seconds since the epoch at which it ends.
        step: The step after which the files are looked at; None as they are now.
    """

    run: str
    folder: str
    base: str
    allowed: bool
    until: int
    step: int | None = None

    def opens(self, path: RelPath) -> bool:
        """Whether a file may be read with it.

        A page without a way out reads the whole workspace. One that could send it
        somewhere reads what lies in its own folder and below; beside a page that lies in no
        folder, only files that lie in none.
        """
        if not self.allowed:
            return True
        folder = RelPath.from_url(self.folder)
        return path.startswith(f"{folder}/") if folder else "/" not in path


class Passes:
    """Makes passes and knows them again, as long as this process lives."""

    def __init__(self) -> None:
        self._signer = Signer()

    def make(
        self, run: str, page: RelPath, base: str, *, allowed: bool, step: int | None = None
    ) -> str:
        """The token of a new pass for a page; safe in an address.

        Args:
            run: The run.
            page: The page in its workspace.
            base: The address that the studio has in the person's browser.
            allowed: Whether the page may ask for things outside.
            step: The step after which the files are looked at; None as they are now.

        Raises:
            NoPass: ``base`` is no such address.
        """
        if not _BASE.fullmatch(base):
            raise NoPass("Pages cannot be shown at this address of the studio.")
        until = int(time.time()) + SECONDS
        made = Pass(run, page.parent.to_url(), base, allowed, until, step)
        return self._signer.sign("pass", letters(json.dumps(asdict(made)).encode()))

    def read(self, token: str) -> Pass:
        """The pass of a token.

        Raises:
            NoPass: it is not one of ours, or its time is over.
        """
        said = self._signer.read("pass", token)
        if said is None:
            raise NoPass("This view is not known here; press Reload.")
        known = Pass(**json.loads(data_of(said)))
        if known.until < time.time():
            raise NoPass("This view has been open for long and has ended; press Reload.")
        return known
