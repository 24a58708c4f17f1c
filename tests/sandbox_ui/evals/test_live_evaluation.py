"""An evaluation as its followers see it."""

from pathlib import Path

import pytest

from agent.history.index import History
from sandbox_ui.experiments.live_experiment import LiveExperiment
from tests.support.evaluations.shown import six_tasks


def test_its_end_is_in_the_next_overview_however_recent_the_last_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, summaries = six_tasks(tmp_path)
    monkeypatch.setattr(LiveExperiment, "summaries", lambda *_: summaries)
    live = LiveExperiment(folder, History(tmp_path))
    assert live.overview(running=True, fresh=True, listed=False)["state"] == "running"
    assert live.overview(running=False, fresh=False, listed=False)["state"] == "finished"
