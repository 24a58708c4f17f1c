"""The frame of a report without the page's modules: these tests read what is put into it."""

from pathlib import Path

import pytest

from agent.report import page

_FRAME = (
    "<!doctype html>\n<html>\n<head>\n<!-- head -->\n</head>\n<body>\n<!-- data -->\n"
    "<script>show()</script>\n</body>\n</html>\n"
)


@pytest.fixture(autouse=True)
def frame(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout has the bundle only once it was made."""
    file = tmp_path_factory.mktemp("frame") / "report.html"
    file.write_text(_FRAME)
    monkeypatch.setattr(page, "_FRAME", file)
    return file
