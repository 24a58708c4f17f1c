"""What the rooms' tests share: the real engine, the real image, and no silent skips in CI."""

import os
import sys
from collections.abc import Generator, Iterator

import docker
import pytest

from agent.errors import EngineError
from agent.sandbox.engine import connect
from agent.sandbox.image import dockerfile_path, ensure_image
from agent.sandbox.progress import Progress

NEVER_SKIPPED = ("engine", "browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true a machine must have an engine and a browser: a skip for want of one fails."""
    report = yield
    wanted = any(item.get_closest_marker(name) for name in NEVER_SKIPPED)
    if report.skipped and wanted and not hasattr(report, "wasxfail") and in_ci():
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {_reason(report)}"
    return report


def in_ci() -> bool:
    """Whether skips for want of an engine or a browser are failures."""
    return os.environ.get("CI", "").lower() == "true"


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """A client of this machine's container engine."""
    try:
        client = connect(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
    except EngineError as error:
        pytest.skip(str(error))
    yield client
    client.close()


@pytest.fixture(scope="session")
def image(engine: docker.DockerClient) -> str:
    """The tag of the sandbox image, built where it is missing."""

    def show(progress: Progress) -> None:
        print(f"{progress.fraction:4.0%} {progress.line}", file=sys.stderr)

    return ensure_image(engine, dockerfile_path(), show)
