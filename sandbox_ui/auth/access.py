"""Permissions of one request."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

import gradio as gr
from starlette.requests import Request

from agent.errors import RunError, StudioError
from agent.experiments.folder import NOT_FOUND, ExperimentFolder
from agent.runs.folder import RUN_NOT_FOUND, RunFolder
from sandbox_ui.auth import share_links
from sandbox_ui.auth.share_links import Shareable
from sandbox_ui.auth.user import User

USED_ELSEWHERE = (
    "Another process uses the folder of this {}, which can be viewed until that has ended."
)


class SignInRequired(StudioError):
    """The request needs a signed-in user and has none."""


class ReadOnly(StudioError):
    """The run was shared with this user, who may not change it."""


class RunGroups(Protocol):
    """The studio's comparisons and evaluations; raises ``RunError`` for an unknown id."""

    def folder(self, group: str, /) -> ExperimentFolder:
        """Return its folder."""

    def run_ids(self, group: str, /) -> Collection[str]:
        """Return the ids of its runs."""


class Access:
    """Permissions of one request; ``user`` is None for a guest, who has only shared links.

    All methods raise ``RunError`` for what does not exist or may not be viewed, with the same
    message, and ``require_edit…`` raises ``ReadOnly`` for what may only be viewed. What is in
    another data folder than ``data`` belongs to another process and can only be viewed.
    """

    def __init__(
        self,
        user: User | None,
        link_tokens: Sequence[str],
        get_folder: Callable[[str], RunFolder],
        groups: RunGroups,
        data: Path | None = None,
    ) -> None:
        self._user = user
        self._data = data
        self._link_tokens = link_tokens
        self._get_folder = get_folder
        self._groups = groups

    @property
    def is_guest(self) -> bool:
        """Whether no user is signed in."""
        return self._user is None

    @property
    def limiter_key(self) -> str:
        """Key for concurrency limits: the user's id; all guests share one."""
        return "guest" if self._user is None else self._user.id

    @property
    def result_owner(self) -> str:
        """Key for fetching this request's results; guests are told apart by links."""
        return (
            " ".join(["guest", *sorted(self._link_tokens)]) if self.is_guest else self.limiter_key
        )

    @property
    def user(self) -> User:
        """The user. Raises ``SignInRequired`` for a guest."""
        if self._user is None:
            raise SignInRequired("Sign in to do this. Shared runs are read-only.")
        return self._user

    @property
    def owner_filter(self) -> str | None:
        """Owner to list runs of; None for all. Raises ``SignInRequired`` for a guest."""
        return None if self.user.operator else self.user.id

    def can_edit(self, run: str) -> bool:
        """Return whether the user may change the run."""
        return self._owns(lambda: self._get_folder(run)) and not self._is_run_elsewhere(run)

    def require_view(self, run: str) -> None:
        """Check that the run may be viewed."""
        if not self._owns(lambda: self._get_folder(run)) and not self._is_shared(run):
            raise RunError(RUN_NOT_FOUND)

    def require_edit(self, run: str) -> None:
        """Check that the run may be changed."""
        if not self.can_edit(run):
            self.require_view(run)
            if self._is_run_elsewhere(run):
                raise ReadOnly(USED_ELSEWHERE.format("run"))
            raise ReadOnly("This run belongs to another user and was shared with you read-only.")

    def can_edit_group(self, group: str) -> bool:
        """Return whether the user may change a comparison or an evaluation."""
        return self.owns_group(group) and not self._is_elsewhere(self._groups.folder(group))

    def owns_group(self, group: str) -> bool:
        """Return whether a comparison or an evaluation is the user's, or the user an operator."""
        return self._owns(lambda: self._groups.folder(group))

    def require_view_group(self, group: str) -> None:
        """Check that a comparison or an evaluation, with its runs, may be viewed."""
        if not self.owns_group(group) and not self._is_shared_group(group):
            raise RunError(NOT_FOUND)

    def require_edit_group(self, group: str) -> None:
        """Check that a comparison or an evaluation may be changed."""
        if not self.can_edit_group(group):
            self.require_view_group(group)
            folder = self._groups.folder(group)
            if self._is_elsewhere(folder):
                raise ReadOnly(USED_ELSEWHERE.format(folder.kind))
            raise ReadOnly(
                f"This {folder.kind} belongs to another user and was shared with you read-only."
            )

    def can_view_group(self, group: str) -> bool:
        """Return whether a comparison or an evaluation exists and may be viewed."""
        try:
            self.require_view_group(group)
        except RunError:
            return False
        return True

    @property
    def has_valid_link(self) -> bool:
        """Whether at least one of the shared links is still valid."""
        ids = [share_links.id_of(token) for token in self._link_tokens]
        return any(self.can_view(each) or self.can_view_group(each) for each in ids)

    def can_view(self, run: str) -> bool:
        """Return whether the run exists and may be viewed."""
        try:
            self.require_view(run)
        except RunError:
            return False
        return True

    def _owns(self, find: Callable[[], Shareable]) -> bool:
        if self._user is None:
            return False
        return self._user.operator or find().owner == self._user.id

    def _is_elsewhere(self, folder: Shareable) -> bool:
        return self._data is not None and folder.data != self._data

    def _is_run_elsewhere(self, run: str) -> bool:
        try:
            return self._is_elsewhere(self._get_folder(run))
        except RunError:
            return False  # an operator deletes unreadable runs, too

    def _is_shared(self, run: str) -> bool:
        """Return whether a link to a run, or to a group of runs with it, was opened."""
        return any(
            share_links.is_valid(token, self._get_folder(run))
            if share_links.id_of(token) == run
            else self._is_run_of(run, token)
            for token in self._link_tokens
        )

    def _is_run_of(self, run: str, token: str) -> bool:
        """Return whether a token is a valid link to a group that includes the run."""
        group = share_links.id_of(token)
        try:
            if not share_links.is_valid(token, self._groups.folder(group)):
                return False
            return run in self._groups.run_ids(group) and bool(self._get_folder(run))
        except RunError:
            return False

    def _is_shared_group(self, group: str) -> bool:
        tokens = [each for each in self._link_tokens if share_links.id_of(each) == group]
        return bool(tokens) and any(
            share_links.is_valid(token, self._groups.folder(group)) for token in tokens
        )


def get_access(request: Request | gr.Request) -> Access:
    """Return the permissions of a request, set by ``auth.middleware``."""
    http_request = request.request if isinstance(request, gr.Request) else request
    if http_request is None:
        raise SignInRequired("Only HTTP requests are supported.")
    access: Access = http_request.state.access
    return access
