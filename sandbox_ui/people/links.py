"""Links that show one run to whoever has them: made on purpose, taken back at any time.

A link's token is ``<run>.<random>``; the run's folder keeps only its digest, so the links of a
deleted run are gone with it.
"""

import secrets

from agent.folder import RunFolder
from sandbox_ui.people.tokens import digest

_MOST = 20


def make(folder: RunFolder) -> str:
    """The token of a new link; the oldest of more than 20 ends."""
    token = f"{folder.id}.{secrets.token_urlsafe(24)}"
    folder.share([*folder.shares, digest(token)][-_MOST:])
    return token


def end(folder: RunFolder) -> None:
    """Let no link show the run any more."""
    folder.share(())


def run_of(token: str) -> str:
    """The run that a token's link is for."""
    return token.partition(".")[0]


def opens(token: str, folder: RunFolder) -> bool:
    """Whether a link shows this run."""
    return run_of(token) == folder.id and digest(token) in folder.shares
