"""What one request may see and change."""

from collections.abc import Callable, Sequence

import gradio as gr
from starlette.requests import Request

from agent.errors import RunError, StudioError
from agent.folder import NO_RUN, RunFolder
from sandbox_ui.people import links
from sandbox_ui.people.person import Person


class SignedOut(StudioError):
    """Nobody is signed in, and this is for somebody who is."""


class ReadOnly(StudioError):
    """The run was shown to this person, and is another's."""


class Access:
    """What one request may see and change.

    Args:
        person: Who asks; None for a guest, who has nothing but links.
        shown: The tokens of the links that they came by.
        folder: A run's folder by its id; raises ``RunError`` where there is none.
    """

    def __init__(
        self, person: Person | None, shown: Sequence[str], folder: Callable[[str], RunFolder]
    ) -> None:
        self._person = person
        self._shown = shown
        self._folder = folder

    @property
    def guest(self) -> bool:
        """Whether nobody is signed in."""
        return self._person is None

    @property
    def who(self) -> str:
        """Whose turn it is; guests are one."""
        return "guest" if self._person is None else self._person.id

    @property
    def person(self) -> Person:
        """Who asks. Raises ``SignedOut`` for a guest."""
        if self._person is None:
            raise SignedOut("Sign in to do this. What was shown to you can be looked at.")
        return self._person

    @property
    def owner(self) -> str | None:
        """Whose runs are listed; None for everybody's. Raises ``SignedOut`` for a guest."""
        return None if self.person.operator else self.person.id

    def owns(self, run: str) -> bool:
        """Whether the run is the person's to change.

        Raises:
            RunError: there is no such run.
        """
        if self._person is None:
            return False
        return self._person.operator or self._folder(run).owner == self._person.id

    def see(self, run: str) -> None:
        """Go on where the run may be looked at.

        Raises:
            RunError: there is none, or it is another's: that is not told apart.
        """
        if not self.owns(run) and not self._is_shown(run):
            raise RunError(NO_RUN)

    def change(self, run: str) -> None:
        """Go on where the run may be changed.

        Raises:
            RunError: there is none, or it is another's: that is not told apart.
            ReadOnly: it may be looked at only.
        """
        if not self.owns(run):
            self.see(run)
            raise ReadOnly("This run is another's, and was shown to you to be looked at.")

    @property
    def shows_any(self) -> bool:
        """Whether a link still shows a run."""
        return any(self.sees(links.run_of(token)) for token in self._shown)

    def sees(self, run: str) -> bool:
        """Whether there is such a run and it may be looked at."""
        try:
            self.see(run)
        except RunError:
            return False
        return True

    def _is_shown(self, run: str) -> bool:
        mine = [token for token in self._shown if links.run_of(token) == run]
        return bool(mine) and any(links.opens(token, self._folder(run)) for token in mine)


def access_of(request: Request | gr.Request) -> Access:
    """What this request may see and change; ``people.door`` found it out."""
    asked = request.request if isinstance(request, gr.Request) else request
    if asked is None:
        raise SignedOut("Only requests over HTTP are answered.")
    access: Access = asked.state.access
    return access
