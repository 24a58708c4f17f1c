"""Shared links: anyone with the link can view one run, until it is revoked.

A link's token is ``<run>.<random>``; the run's folder stores only its digest, so deleting a run
deletes its links.
"""

import secrets

from agent.runs.folder import RunFolder
from sandbox_ui.auth.tokens import digest

_MAX_LINKS = 20


def create(folder: RunFolder) -> str:
    """Create a link and return its token; beyond 20 links, the oldest is revoked."""
    token = f"{folder.id}.{secrets.token_urlsafe(24)}"
    folder.set_share_link_digests([*folder.share_link_digests, digest(token)][-_MAX_LINKS:])
    return token


def revoke_all(folder: RunFolder) -> None:
    """Revoke all links of the run."""
    folder.set_share_link_digests(())


def run_id_of(token: str) -> str:
    """Return the id of the run that a token is for."""
    return token.partition(".")[0]


def is_valid(token: str, folder: RunFolder) -> bool:
    """Return whether a token is a valid link to this run."""
    return run_id_of(token) == folder.id and digest(token) in folder.share_link_digests
