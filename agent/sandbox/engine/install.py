"""Ensure that a container engine runs: ``python -m agent.sandbox.engine.install``.

Runs before every start and every test; does nothing if an engine answers.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agent.errors import EngineError
from agent.sandbox.engine.discovery import ProbeResult, find_engine
from agent.sandbox.engine.host import can_install, install_packages, read_tail, root_prefix

DAEMON_LOG = Path("/var/log/dockerd-studio.log")
START_SECONDS = 30.0


def ensure_engine(
    host: str | None, runtime_dir: str | None, report: Callable[[str], None]
) -> ProbeResult:
    """Find the engine; install (Debian, Ubuntu) and start it if root is available.

    Args:
        host: The only address to try; an engine at a given address is never started.
        runtime_dir: The user's folder of sockets.
        report: Called with a sentence that describes each change to the machine.

    Raises:
        EngineError: no engine is usable; the message says what to type.
    """
    finding = find_engine(host, runtime_dir)
    if finding.state == "ready":
        return finding
    if host or finding.state not in ("absent", "down") or not can_install():
        raise EngineError(finding.advice())
    if finding.state == "absent":
        report("Installing a container engine (Debian's docker.io) …")
        failure = install_packages(["docker.io", "ca-certificates"])
        if failure:
            raise EngineError(f"apt-get could not install docker.io:\n{failure}")
    return _start_engine(runtime_dir, report)


def _start_engine(runtime_dir: str | None, report: Callable[[str], None]) -> ProbeResult:
    report("Starting the container engine …")
    finding = find_engine(None, runtime_dir)
    for start in (_start_with_systemd, _start_with_service, _start_daemon):
        if not start():
            continue
        finding = _wait_until_up(runtime_dir, START_SECONDS)
        if finding.state != "down":
            break
    if finding.state != "ready":
        log = read_tail(DAEMON_LOG)
        raise EngineError(
            finding.advice() + (f"\nThe last lines of {DAEMON_LOG}:\n{log}" if log else "")
        )
    return finding


def _wait_until_up(runtime_dir: str | None, seconds: float) -> ProbeResult:
    """Wait for the engine; return its finding, or the last one when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        finding = find_engine(None, runtime_dir)
        if finding.state not in ("down", "absent") or time.monotonic() > deadline:
            return finding
        time.sleep(0.2)


def _start_with_systemd() -> bool:
    return Path("/run/systemd/system").is_dir() and _run_as_root(["systemctl", "start", "docker"])


def _start_with_service() -> bool:
    return Path("/etc/init.d/docker").exists() and _run_as_root(["service", "docker", "start"])


def _start_daemon() -> bool:
    """Start the daemon in its own session, so that it outlives its parent."""
    return _run_as_root(["sh", "-c", f"setsid dockerd </dev/null >>{DAEMON_LOG} 2>&1 &"])


def _run_as_root(command: Sequence[str]) -> bool:
    done = subprocess.run(
        [*(root_prefix() or []), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def main() -> int:
    """Ensure an engine; return 0 on success, else 1 with the reason on standard error."""
    parser = argparse.ArgumentParser(description="Make sure that a container engine runs here.")
    parser.add_argument("--host", help="the engine's address, as in DOCKER_HOST")
    parser.add_argument("--runtime-dir", help="the folder of sockets, as in XDG_RUNTIME_DIR")
    arguments = parser.parse_args()
    try:
        ensure_engine(arguments.host, arguments.runtime_dir, lambda text: print(text, flush=True))
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
