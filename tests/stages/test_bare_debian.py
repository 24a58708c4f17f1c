"""The README's two commands on a bare Debian, as root and as an ordinary user.

Debian comes from debootstrap, with what the README asks for and nothing else, so that a missing
installation step shows. There is no engine in it: one of its own would change the network of this
machine, which has another one.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox_ui.listen import bind_sockets
from tests.support import httpx

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make and enter a Debian"),
]

ROOT = Path(__file__).parents[2]
PACKAGES = "git,make,python3,ca-certificates"
CLIENTS = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pip.conf", "/etc/xdg/pip", "/root/.config/pip", "/root/.npmrc", "/etc/npmrc",
)  # fmt: skip
"""Settings with which apt, pip and npm reach their registries from this machine."""

ENTER = """
mount --bind /dev "$0/dev"
mount -t proc none "$0/proc"
mount -t tmpfs none "$0/tmp"
exec chroot "$0" "$@"
"""


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Debian with the packages that the README asks for, and a clone of the project."""
    if not shutil.which("debootstrap", path="/usr/sbin:/usr/bin"):
        subprocess.run(["apt-get", "install", "-qy", "debootstrap"], check=True)
    root = tmp_path_factory.mktemp("debian") / "root"
    release = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line
    )
    suite = release["VERSION_CODENAME"]
    options = ["--variant=minbase", f"--include={PACKAGES}"]
    subprocess.run(["/usr/sbin/debootstrap", *options, suite, root], check=True)
    for path in filter(os.path.exists, CLIENTS):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-aLT", path, root / path[1:]], check=True)
    return root


@pytest.fixture(params=["root", "user"])
def home(request: pytest.FixtureRequest, debian: Path, tmp_path: Path) -> "Home":
    """A copy of that Debian, and who works in it."""
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", debian, root], check=True)
    home = Home(root, request.param)
    if request.param == "user":  # who cannot install what the README asks for
        home.run("apt-get install -qy --no-install-recommends python3-venv", as_root=True)
        home.run("useradd --create-home user", as_root=True)
        for name in (".config", ".npmrc"):
            if (root / "root" / name).exists():
                subprocess.run(
                    ["cp", "-a", root / "root" / name, root / "home" / "user"], check=True
                )
    folder = root / home.folder.relative_to("/")
    subprocess.run(["git", "clone", "-q", f"file://{ROOT}", folder / "studio"], check=True)
    home.run(f"chown -R {request.param}: {home.folder}", as_root=True)
    return home


class Home:
    """A Debian in a folder, and a user of it."""

    def __init__(self, root: Path, user: str) -> None:
        self.root, self.user = root, user
        self.folder = Path("/root" if user == "root" else "/home/user")

    def run(self, script: str, as_root: bool = False) -> str:
        """Run a script in the Debian; fails if it fails."""
        done = subprocess.run(
            self._command(script, as_root), stdout=subprocess.PIPE, text=True, check=False,
            **self._options(),
        )  # fmt: skip
        output: str = done.stdout
        assert done.returncode == 0, output
        return output

    @contextmanager
    def start(self, script: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Run a script in the Debian until the block is left, with all that it has started."""
        with log.open("wb") as output:
            process = subprocess.Popen(
                self._command(script), stdout=output, start_new_session=True, **self._options()
            )
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with the namespace's first process, all end
            process.wait()

    def _command(self, script: str, as_root: bool = False) -> list[str]:
        own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-eu", "-c", ENTER]
        user = "root" if as_root else self.user
        login = ["/usr/bin/env", f"HOME={'/root' if as_root else self.folder}"]
        login += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return [*own, str(self.root), *login, "sh", "-euc", script]

    def _options(self) -> dict[str, Any]:
        settings = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "npm_config_"))}
        environment = settings | {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND": "noninteractive",
            "DOCKER_HOST": "unix:///run/no-engine.sock",
        }
        return {"env": environment, "stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}


def wait_for_page(url: str, process: subprocess.Popen[bytes], log: Path) -> str:
    while process.poll() is None:
        try:
            return httpx.get(url).raise_for_status().text
        except httpx.TransportError:
            time.sleep(1)
    raise AssertionError(log.read_text())


def test_the_two_commands_work(home: Home, tmp_path: Path) -> None:
    with bind_sockets("127.0.0.1", 0) as (free,):
        port = free.getsockname()[1]
    log = tmp_path / "run.log"
    studio = "cd ~/studio; "
    with home.start(f"{studio} GRADIO_SERVER_PORT={port} make run", log) as process:
        assert "LLM-in-Sandbox" in wait_for_page(f"http://127.0.0.1:{port}/", process, log)
    first = "PYTEST_FLAGS='-n 2 tests/agent/util tests/agent/tools'"
    quick = home.run(f"{studio} make quick {first}")
    assert " 0 failed" in quick.splitlines()[-1], quick
    test_log = tmp_path / "test.log"
    with home.start(f"{studio} make test {first}", test_log) as process:
        while " passed" not in (text := test_log.read_text()):
            assert process.poll() is None, text
            time.sleep(1)
    assert " failed" not in text
