"""Keeps a shell there: starts it, brings it back, and knows what it runs."""

import os
import signal
from collections.abc import Callable

from .bash import Bash
from .processes import Table, Wait, end, table, until
from .wire import Watch

_BACK = "The shell {how} and was started again; its folder, variables and functions are {what}."
_CROWDED = "Almost no process was left to the sandbox: its background processes were ended."
_START_SECONDS = 5.0


class Keeper:
    """One shell after another, and the processes that came from them.

    Attributes:
        notes: Sentences for the model, for the command that ends next.
        code: The last shell's exit code, as a shell would tell it.
        interrupted: Whether it was us who asked the shell to leave.

    Args:
        watch: Where the shell's descriptors are listened to.
        bash: The shell.
        ours: Which processes of a table belong to commands, the shell among them.
        on_report: Called when the shell has something to report.
    """

    def __init__(
        self,
        watch: Watch,
        bash: Bash,
        ours: Callable[[Table], set[int]],
        on_report: Callable[[], None],
    ) -> None:
        self.notes: list[str] = []
        self.code = 0
        self.interrupted = False
        self._how = ""
        self._watch = watch
        self._bash = bash
        self._ours = ours
        self._on_report = on_report

    def shell_ended(self, code: int) -> None:
        """Take note that the shell has ended, with its exit code or minus a signal's number."""
        self._bash.gone()
        self._how = "exited" if code >= 0 else f"was ended by signal {-code}"
        self.code = code if code >= 0 else 128 - code

    def ensure_shell(self) -> Wait:
        """Have a shell that takes commands; note it where it had to be started again."""
        if self._bash.usable():
            return
        fresh = self._bash.keep_state()
        for restore in (True, False):
            if restore and not self._bash.has_state():
                continue
            if self._bash.pid == 0:
                yield from self._fork(restore)
            yield from until(lambda: self._bash.usable() or not self._bash.pid, _START_SECONDS)
            if self._bash.usable():
                how = "was interrupted" if self.interrupted else self._how
                what = ("kept" if fresh else "as before this command") if restore else "lost"
                self.notes.append(_BACK.format(how=how, what=what))
                return
            yield from self.dismiss_shell(0.0)
        raise RuntimeError("no shell can be started")

    def _fork(self, restore: bool) -> Wait:
        for descriptor in (self._bash.reports, self._bash.terminal):
            self._watch.drop(descriptor)
        try:
            self._bash.start(restore)
        except OSError:
            yield from end(self.all_but_shell, 0.0)
            self.notes.append(_CROWDED)
            self._bash.start(restore)
        self._watch.add(self._bash.reports, self._on_report)
        self._watch.add(self._bash.terminal, self._hush)

    def dismiss_shell(self, seconds: float) -> Wait:
        """Wait for a shell that was asked to leave; then it has to."""
        yield from until(lambda: not self._bash.pid, seconds)
        while self._bash.pid:
            os.kill(self._bash.pid, signal.SIGKILL)
            yield

    def make_room(self) -> Wait:
        """End what runs in the background, so that what is in front can start processes."""
        in_front = self.in_front()
        yield from end(lambda: self.all_but_shell() - in_front(), 0.0)
        if _CROWDED not in self.notes:
            self.notes.append(_CROWDED)

    def everything(self) -> set[int]:
        """Every process of the commands, the shell among them."""
        return self._ours(table())

    def all_but_shell(self) -> set[int]:
        """Every process of the commands."""
        return self._ours(table()) - {self._bash.pid}

    def in_front(self) -> Callable[[], set[int]]:
        """What the command runs in the foreground, and whatever was once found there."""
        groups: set[int] = set()
        known: set[tuple[int, int]] = set()

        def find() -> set[int]:
            processes = table()
            found = self._bash.in_front(processes, groups)
            found |= {p.pid for p in processes.values() if p.key in known}
            found &= self._ours(processes) - {self._bash.pid}
            known.update(processes[pid].key for pid in found)
            return found

        return find

    def _hush(self) -> None:
        if not self._bash.quiet():
            self._watch.drop(self._bash.terminal)
