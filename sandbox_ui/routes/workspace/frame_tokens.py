"""Frame tokens: read permissions for opaque origins, which send no cookies."""

import hashlib
import re
import secrets
from dataclasses import asdict, dataclass
from typing import Literal

from itsdangerous import BadData, SignatureExpired, URLSafeTimedSerializer

from agent.errors import StudioError
from agent.workspace.paths import RelPath

LIFETIME_SECONDS = 3600
_BASE_URL = re.compile(
    r"https?://[\w.\-]+(:\d+)?(/[\w.~%\-]+)*/|https?://\[[0-9a-f:]+\](:\d+)?/", re.ASCII
)
Scripts = Literal["confined", "unconfined", "off"]
"""Scripts of a page: kept offline by the browser, with other hosts, or off."""


class InvalidFrameToken(StudioError):
    """The token is invalid or expired."""


@dataclass(frozen=True, slots=True)
class FrameToken:
    """Permissions of one view of a page, whose folder is percent-encoded."""

    run: str
    folder: str
    base: str
    allow_external: bool
    scripts: Scripts
    step: int | None = None

    def allows(self, path: RelPath) -> bool:
        """Return whether the page may read a file.

        A page that cannot reach other hosts may read the whole workspace. A page that can, and
        so could send data out, may read only its own folder and subfolders; at the root of the
        workspace, only files at the root.
        """
        if not self.allow_external and self.scripts != "unconfined":
            return True
        folder = RelPath.from_url(self.folder)
        return path.startswith(f"{folder}/") if folder else "/" not in path


class FrameTokens:
    """Creates and verifies frame tokens; they are valid as long as this process runs."""

    def __init__(self) -> None:
        self._serializer = URLSafeTimedSerializer(
            secrets.token_bytes(32), signer_kwargs={"digest_method": hashlib.sha256}
        )

    def create(
        self,
        run: str,
        page: RelPath,
        base: str,
        *,
        allow_external: bool,
        scripts: Scripts = "off",
        step: int | None = None,
    ) -> str:
        """Create a URL-safe token for a page; ``base`` is the studio's URL there."""
        if not _BASE_URL.fullmatch(base):
            raise InvalidFrameToken("HTML files cannot be shown at this address of the studio.")
        frame_token = FrameToken(run, page.parent.to_url(), base, allow_external, scripts, step)
        return str(self._serializer.dumps(asdict(frame_token)))

    def verify(self, token: str) -> FrameToken:
        """Return the permissions of a valid token."""
        try:
            return FrameToken(**self._serializer.loads(token, max_age=LIFETIME_SECONDS))
        except SignatureExpired as error:
            raise InvalidFrameToken("This view has expired; press Reload.") from error
        except BadData as error:
            raise InvalidFrameToken("This view is unknown; press Reload.") from error
