"""A process sandbox, a run that uses one, and the frame of reports."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.report import page
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun
from agent.sandbox.process import ProcessSandbox
from tests.support.local_provider import LocalSandboxProvider


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[ProcessSandbox]:
    with closing(ProcessSandbox(tmp_path / "sandbox")) as sandbox:
        yield sandbox


@pytest.fixture
def provider(tmp_path: Path) -> LocalSandboxProvider:
    return LocalSandboxProvider(tmp_path)


@pytest.fixture
def run(provider: LocalSandboxProvider) -> Iterator[RecordedRun]:
    """A run that has not begun."""
    folder = RunFolder.create(provider.data, provider.create_workspace())
    with RecordedRun(folder, provider) as run:
        yield run


_FRAME = (
    "<!doctype html>\n<html>\n<head>\n<!-- head -->\n</head>\n<body>\n<!-- data -->\n"
    "<script>show()</script>\n</body>\n</html>\n"
)


@pytest.fixture
def frame(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report's frame without the page's modules: a checkout has the bundle only once made."""
    file = tmp_path_factory.mktemp("frame") / "report.html"
    file.write_text(_FRAME)
    monkeypatch.setattr(page, "_FRAME", file)
    return file
