"""Shared links to a run or an experiment: ``<id>.<random>``, of which the folder has a digest."""

import secrets
from typing import Any

from agent.owned_folder import OwnedFolder
from sandbox_ui.auth.api_tokens import digest

_MAX_LINKS = 20
Shareable = OwnedFolder[Any]


def create(folder: Shareable) -> str:
    """Create a link and return its token; beyond 20 links, the oldest is revoked."""
    token = f"{folder.id}.{secrets.token_urlsafe(24)}"
    folder.set_share_link_digests([*folder.share_link_digests, digest(token)][-_MAX_LINKS:])
    return token


def revoke_all(folder: Shareable) -> None:
    """Revoke all links of a run, comparison or evaluation."""
    folder.set_share_link_digests(())


def id_of(token: str) -> str:
    """Return the id that a token is for."""
    return token.partition(".")[0]


def is_valid(token: str, folder: Shareable) -> bool:
    """Return whether a token is a valid link to this folder."""
    return id_of(token) == folder.id and digest(token) in folder.share_link_digests
