"""Ensure that a container engine runs: ``python -m agent.sandbox.engine.install``."""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agent.errors import EngineError
from agent.sandbox.engine.discovery import ProbeResult, find_engine
from agent.sandbox.engine.host import can_install, install_packages, last_lines, root_prefix

DAEMON_LOG = Path("/var/log/dockerd-studio.log")
START_SECONDS = 30.0
_START_COMMANDS = (
    ("/run/systemd/system", "systemctl start docker"),
    ("/etc/init.d/docker", "service docker start"),
    ("/", f"setsid dockerd </dev/null >>{DAEMON_LOG} 2>&1 &"),  # outlives its parent
)
"""Shell commands that start the engine, each with a path that must exist."""


def ensure_engine(
    host: str | None, runtime_dir: str | None, report: Callable[[str], None]
) -> ProbeResult:
    """Find the engine; without ``host``, install and start it if root is available."""
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
    for path, command in _START_COMMANDS:
        if not Path(path).exists() or not _run_as_root(command):
            continue
        deadline = time.monotonic() + START_SECONDS
        finding = find_engine(None, runtime_dir)
        while finding.state in ("down", "absent") and time.monotonic() < deadline:
            time.sleep(0.2)
            finding = find_engine(None, runtime_dir)
        if finding.state != "down":
            break
    if finding.state != "ready":
        log = last_lines(DAEMON_LOG.read_text(errors="replace")) if DAEMON_LOG.is_file() else ""
        raise EngineError(
            finding.advice() + (f"\nThe last lines of {DAEMON_LOG}:\n{log}" if log else "")
        )
    return finding


def _run_as_root(command: str) -> bool:
    done = subprocess.run(
        [*(root_prefix() or []), "sh", "-c", command],
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
