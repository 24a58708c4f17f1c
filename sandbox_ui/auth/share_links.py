"""Shared links: anyone with the link can view one run, until it is revoked.

A link's token is ``<run>.<random>``; the run's folder stores only its digest, so deleting a run
deletes its links.
"""

import secrets

from agent.runs.folder import RunFolder
from sandbox_ui.auth.tokens import digest

_MOST = 20


def make(folder: RunFolder) -> str:
    """Create a link and return its token; beyond 20 links, the oldest is revoked."""
    token = f"{folder.id}.{secrets.token_urlsafe(24)}"
    folder.share([*folder.shares, digest(token)][-_MOST:])
    return token


def end(folder: RunFolder) -> None:
    """Revoke all links of the run."""
    folder.share(())


def run_of(token: str) -> str:
    """Return the id of the run that a token is for."""
    return token.partition(".")[0]


def opens(token: str, folder: RunFolder) -> bool:
    """Return whether a token is a valid link to this run."""
    return run_of(token) == folder.id and digest(token) in folder.shares
