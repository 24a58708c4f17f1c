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
from agent.sandbox.engine.discovery import Finding, find
from agent.sandbox.engine.host import can_install, install, root_prefix, tail_of

LOG = Path("/var/log/dockerd-studio.log")
START_SECONDS = 30.0


def ensure_engine(host: str | None, runtime_dir: str | None, say: Callable[[str], None]) -> Finding:
    """Find the engine; install (Debian, Ubuntu) and start it if root is available.

    Args:
        host: The only address to try; an engine at a given address is never started.
        runtime_dir: The user's folder of sockets.
        say: Called with a sentence that describes each change to the machine.

    Raises:
        EngineError: no engine is usable; the message says what to type.
    """
    finding = find(host, runtime_dir)
    if finding.state == "ready":
        return finding
    if host or finding.state not in ("absent", "down") or not can_install():
        raise EngineError(finding.advice())
    if finding.state == "absent":
        say("Installing a container engine (Debian's docker.io) …")
        trouble = install(["docker.io", "ca-certificates"])
        if trouble:
            raise EngineError(f"apt-get could not install docker.io:\n{trouble}")
    return _started(runtime_dir, say)


def _started(runtime_dir: str | None, say: Callable[[str], None]) -> Finding:
    say("Starting the container engine …")
    finding = find(None, runtime_dir)
    for start in (_by_systemd, _by_service, _in_background):
        if not start():
            continue
        finding = _awaited(runtime_dir, START_SECONDS)
        if finding.state != "down":
            break
    if finding.state != "ready":
        log = tail_of(LOG)
        raise EngineError(finding.advice() + (f"\nThe last lines of {LOG}:\n{log}" if log else ""))
    return finding


def _awaited(runtime_dir: str | None, seconds: float) -> Finding:
    """Wait for the engine; return its finding, or the last one when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        finding = find(None, runtime_dir)
        if finding.state not in ("down", "absent") or time.monotonic() > deadline:
            return finding
        time.sleep(0.2)


def _by_systemd() -> bool:
    return Path("/run/systemd/system").is_dir() and _succeeds(["systemctl", "start", "docker"])


def _by_service() -> bool:
    return Path("/etc/init.d/docker").exists() and _succeeds(["service", "docker", "start"])


def _in_background() -> bool:
    """Start the daemon in its own session, so that it outlives its parent."""
    return _succeeds(["sh", "-c", f"setsid dockerd </dev/null >>{LOG} 2>&1 &"])


def _succeeds(command: Sequence[str]) -> bool:
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
