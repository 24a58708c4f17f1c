"""Starts and restarts the shell, and tracks the processes that it runs."""

import os
import signal
from collections.abc import Callable

from .bash import BashProcess
from .processes import Activity, ProcessTable, read_process_table, terminate, wait_until
from .wire import CallbackSelector

_SHELL_RESTARTED = (
    "The shell {how} and has been restarted; its folder, variables and functions are {what}."
)
_PROCESSES_ENDED = (
    "The sandbox had nearly reached its process limit: its background processes were terminated."
)
_START_SECONDS = 30.0  # of a loaded machine; a shell that cannot start exits at once


class ShellManager:
    """Keeps a shell running and tracks the processes that its commands started.

    ``notes`` are for the model; ``exit_code`` is the last shell's (128 + signal number);
    ``interrupted`` says that the supervisor asked it to exit.
    """

    def __init__(
        self,
        selector: CallbackSelector,
        bash: BashProcess,
        select_processes: Callable[[ProcessTable], set[int]],
        on_report: Callable[[], None],
    ) -> None:
        self.notes: list[str] = []
        self.exit_code = 0
        self.interrupted = False
        self._exit_cause = ""
        self._selector = selector
        self._bash = bash
        self._select_processes = select_processes
        self._on_report = on_report

    def on_shell_exit(self, code: int) -> None:
        """Record that the shell exited with ``code``, an exit code or a negated signal number."""
        self._bash.mark_exited()
        self._exit_cause = "exited" if code >= 0 else f"was terminated by signal {-code}"
        self.exit_code = code if code >= 0 else 128 - code

    def ensure_shell(self) -> Activity:
        """Wait for a usable shell, restarting it if necessary; add a note for a restart."""
        if self._bash.is_ready():
            return
        fresh = self._bash.commit_state()
        for restore in (True, False):
            if restore and not self._bash.has_state():
                continue
            if self._bash.pid == 0:
                yield from self._start_shell(restore)
            yield from wait_until(
                lambda: self._bash.is_ready() or not self._bash.pid, _START_SECONDS
            )
            if self._bash.is_ready():
                how = "was interrupted" if self.interrupted else self._exit_cause
                what = ("kept" if fresh else "as before this command") if restore else "lost"
                self.notes.append(_SHELL_RESTARTED.format(how=how, what=what))
                return
            yield from self.stop_shell(0.0)
        raise RuntimeError("no shell can be started")

    def _start_shell(self, restore: bool) -> Activity:
        for descriptor in (self._bash.reports, self._bash.terminal):
            self._selector.remove(descriptor)
        try:
            self._bash.start(restore)
        except OSError:
            yield from terminate(self.processes_without_shell, 0.0)
            self.notes.append(_PROCESSES_ENDED)
            self._bash.start(restore)
        self._selector.add(self._bash.reports, self._on_report)
        self._selector.add(self._bash.terminal, self._drain_terminal)

    def stop_shell(self, seconds: float) -> Activity:
        """Wait up to ``seconds`` for the shell to exit, then kill it."""
        yield from wait_until(lambda: not self._bash.pid, seconds)
        while self._bash.pid:
            os.kill(self._bash.pid, signal.SIGKILL)
            yield

    def end_background_processes(self) -> Activity:
        """Terminate background processes, so that the foreground ones can fork."""
        in_front = self.foreground_finder()
        yield from terminate(lambda: self.processes_without_shell() - in_front(), 0.0)
        if _PROCESSES_ENDED not in self.notes:
            self.notes.append(_PROCESSES_ENDED)

    def all_processes(self) -> set[int]:
        """Return every process of the commands, including the shell."""
        return self._select_processes(read_process_table())

    def select_commands(self, processes: ProcessTable) -> set[int]:
        """Return the commands' processes of a table, except the shell."""
        return self._select_processes(processes) - {self._bash.pid}

    def processes_without_shell(self) -> set[int]:
        """Return every process of the commands except the shell."""
        return self._select_processes(read_process_table()) - {self._bash.pid}

    def foreground_finder(self) -> Callable[[], set[int]]:
        """Return a function that finds the foreground processes, including those found earlier."""
        groups: set[int] = set()
        known: set[tuple[int, int]] = set()

        def find() -> set[int]:
            processes = read_process_table()
            found = self._bash.foreground_processes(processes, groups)
            found |= {p.pid for p in processes.values() if p.key in known}
            found &= self._select_processes(processes) - {self._bash.pid}
            known.update(processes[pid].key for pid in found)
            return found

        return find

    def _drain_terminal(self) -> None:
        if not self._bash.drain_terminal():
            self._selector.remove(self._bash.terminal)
