"""Starts and restarts the shell, and tracks the processes that it runs."""

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
    """Keeps a shell running and tracks the processes that its commands started.

    Attributes:
        notes: Sentences for the model, sent with the next command that ends.
        code: The last shell's exit code, in shell convention (128 + signal number).
        interrupted: Whether the supervisor asked the shell to exit.

    Args:
        watch: The event loop that watches the shell's descriptors.
        bash: The shell.
        ours: Selects the commands' processes, including the shell, from a process table.
        on_report: Called when the shell has a report to read.
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
        """Record that the shell exited with ``code``, an exit code or a negated signal number."""
        self._bash.gone()
        self._how = "exited" if code >= 0 else f"was ended by signal {-code}"
        self.code = code if code >= 0 else 128 - code

    def ensure_shell(self) -> Wait:
        """Wait for a usable shell, restarting it if necessary; add a note for a restart."""
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
        """Wait up to ``seconds`` for the shell to exit, then kill it."""
        yield from until(lambda: not self._bash.pid, seconds)
        while self._bash.pid:
            os.kill(self._bash.pid, signal.SIGKILL)
            yield

    def make_room(self) -> Wait:
        """Terminate background processes, so that the foreground ones can fork."""
        in_front = self.in_front()
        yield from end(lambda: self.all_but_shell() - in_front(), 0.0)
        if _CROWDED not in self.notes:
            self.notes.append(_CROWDED)

    def everything(self) -> set[int]:
        """Return every process of the commands, including the shell."""
        return self._ours(table())

    def ours(self, processes: Table) -> set[int]:
        """Return the commands' processes of a table, except the shell."""
        return self._ours(processes) - {self._bash.pid}

    def all_but_shell(self) -> set[int]:
        """Return every process of the commands except the shell."""
        return self._ours(table()) - {self._bash.pid}

    def in_front(self) -> Callable[[], set[int]]:
        """Return a function that finds the foreground processes, including those found earlier."""
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
