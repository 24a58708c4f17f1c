"""Permissions of one request."""

from collections.abc import Callable, Sequence

import gradio as gr
from starlette.requests import Request

from agent.errors import RunError, StudioError
from agent.runs.folder import NO_RUN, RunFolder
from sandbox_ui.auth import share_links
from sandbox_ui.auth.user import Person


class SignedOut(StudioError):
    """The request needs a signed-in user and has none."""


class ReadOnly(StudioError):
    """The run was shared with this user, who may not change it."""


class Access:
    """Permissions of one request.

    Args:
        person: The user; None for a guest, who has only shared links.
        shown: The tokens of the shared links that the browser has opened.
        folder: Returns a run's folder by its id; raises ``RunError`` if the run does not exist.
    """

    def __init__(
        self, person: Person | None, shown: Sequence[str], folder: Callable[[str], RunFolder]
    ) -> None:
        self._person = person
        self._shown = shown
        self._folder = folder

    @property
    def guest(self) -> bool:
        """Whether no user is signed in."""
        return self._person is None

    @property
    def who(self) -> str:
        """Key for concurrency limits: the user's id; all guests share one."""
        return "guest" if self._person is None else self._person.id

    @property
    def holder(self) -> str:
        """Key for fetching this request's results; guests are told apart by links."""
        return " ".join(["guest", *sorted(self._shown)]) if self.guest else self.who

    @property
    def person(self) -> Person:
        """The user. Raises ``SignedOut`` for a guest."""
        if self._person is None:
            raise SignedOut("Sign in to do this. What was shown to you can be looked at.")
        return self._person

    @property
    def owner(self) -> str | None:
        """Owner to list runs of; None for all. Raises ``SignedOut`` for a guest."""
        return None if self.person.operator else self.person.id

    def owns(self, run: str) -> bool:
        """Return whether the user may change the run.

        Raises:
            RunError: if the run does not exist.
        """
        if self._person is None:
            return False
        return self._person.operator or self._folder(run).owner == self._person.id

    def see(self, run: str) -> None:
        """Check that the run may be viewed.

        Raises:
            RunError: if the run does not exist or may not be viewed; the message is the same.
        """
        if not self.owns(run) and not self._is_shown(run):
            raise RunError(NO_RUN)

    def change(self, run: str) -> None:
        """Check that the run may be changed.

        Raises:
            RunError: if the run does not exist or may not be viewed; the message is the same.
            ReadOnly: if the run may only be viewed.
        """
        if not self.owns(run):
            self.see(run)
            raise ReadOnly("This run is another's, and was shown to you to be looked at.")

    @property
    def shows_any(self) -> bool:
        """Whether at least one of the shared links is still valid."""
        return any(self.sees(share_links.run_of(token)) for token in self._shown)

    def sees(self, run: str) -> bool:
        """Return whether the run exists and may be viewed."""
        try:
            self.see(run)
        except RunError:
            return False
        return True

    def _is_shown(self, run: str) -> bool:
        mine = [token for token in self._shown if share_links.run_of(token) == run]
        return bool(mine) and any(share_links.opens(token, self._folder(run)) for token in mine)


def access_of(request: Request | gr.Request) -> Access:
    """Return the permissions of a request, set by ``auth.middleware``."""
    asked = request.request if isinstance(request, gr.Request) else request
    if asked is None:
        raise SignedOut("Only requests over HTTP are answered.")
    access: Access = asked.state.access
    return access
