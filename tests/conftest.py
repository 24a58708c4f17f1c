"""Shared fixtures: engine, image, browser and a studio; in CI, required tests cannot be skipped."""

import gc
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from playwright.sync_api import Browser

from agent.errors import EngineError
from agent.sandbox.disk import volume
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, remove
from agent.sandbox.engine.client import Client, connect
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.sandbox.image.progress import BuildProgress
from agent.workspace.files import Workspace
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.snapshots import SnapshotTracker
from tests.support.tab import launch_chromium

pytest_plugins = [
    "tests.levels.audit",
    "tests.levels.markers",
    "tests.levels.parts",
    "tests.levels.repeats",
    "tests.levels.results",
    "tests.support.component.fixtures",
]

NEVER_SKIPPED = ("engine", "browser", "builtin", "inspect")

# The ordinary suite uses fixed examples; tests/properties uses random ones that are nightly.
hypothesis.settings.register_profile("ordinary", derandomize=True, deadline=None)
hypothesis.settings.load_profile("ordinary")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of browser tests last, and of each kind the slowest first.

    From its first use the browser's event loop is the thread's running one, so that tests with
    another loop come before. Slow files have long timeouts, then many tests; none is left to one
    worker at the end. Needs ``--no-loadscope-reorder``: otherwise xdist only counts the tests.
    """
    timeouts: dict[Path, float] = defaultdict(float)
    counts = Counter(item.path for item in items)
    for item in items:
        marker = item.get_closest_marker("timeout")
        timeouts[item.path] = max(timeouts[item.path], marker.args[0] if marker else 0)
    in_browser = {item.path for item in items if "browser" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: (item.path in in_browser, -timeouts[item.path], -counts[item.path]))


def pytest_collection_finish() -> None:
    """Exempt the imported modules from garbage collection, which takes 0.5 s with them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true, fail tests that were skipped because an engine or a browser is missing."""
    report = yield
    required = any(item.get_closest_marker(name) for name in NEVER_SKIPPED)
    if report.skipped and required and not hasattr(report, "wasxfail") and in_ci():
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {_reason(report)}"
    return report


def in_ci() -> bool:
    """Whether tests fail, instead of being skipped, without an engine, a browser or a model."""
    return os.environ.get("CI", "").lower() == "true"


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.fixture(scope="session", autouse=True)
def _remove_leftovers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove the containers of the tests, then detach the disks; a test may kill their process."""
    yield
    prefix = f"{tmp_path_factory.getbasetemp()}/"
    _remove_containers(prefix)
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for data in {Path(each).parents[1] for each in mounted if each.startswith(prefix)}:
        volume.detach_all(data)


def _remove_containers(prefix: str) -> None:
    """Remove the containers that use folders with this prefix."""
    try:
        client = connect(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
    except EngineError:
        return
    for found in client.api.containers(all=True, filters={"label": INSTANCE_LABEL}):
        if any(str(mount.get("Source")).startswith(prefix) for mount in found["Mounts"]):
            remove(client, found["Id"])
    client.close()


@pytest.fixture(scope="session")
def engine() -> Iterator[Client]:
    try:
        client = connect(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
    except EngineError as error:
        pytest.skip(str(error))
    yield client
    client.close()


@pytest.fixture(scope="session")
def image(engine: Client) -> str:
    """The tag of the sandbox image, which is built if it is missing."""

    def show(progress: BuildProgress) -> None:
        print(f"{progress.fraction:4.0%} {progress.line}", file=sys.stderr)

    return ensure_image(engine, dockerfile_path(), show)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, one per worker. Once it runs, its thread cannot run another event loop."""
    with launch_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a module's studio."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def studio_url(data: Path) -> Iterator[str]:
    """A studio with process sandboxes, one per module."""
    # Imported here, since Gradio takes seconds to import and most modules do not need it.
    from tests.support.server import serve_studio

    with serve_studio(data) as studio_url:
        yield studio_url


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A sandbox's workspace with an empty output folder."""
    root = tmp_path / "sandbox" / "workspace"
    (root / "output").mkdir(parents=True)
    return Workspace(root)


@pytest.fixture
def snapshots(workspace: Workspace, tmp_path: Path) -> SnapshotTracker:
    return SnapshotTracker(workspace.root, BlobStore(tmp_path / "blobs"))
