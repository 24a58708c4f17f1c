"""Limits derived from the machine and the settings."""

from pathlib import Path

from agent.settings import Settings
from sandbox_ui.limits.studio_limits import studio_limits


def test_default_limits_fit_the_machine(tmp_path: Path) -> None:
    default = studio_limits(Settings(data=tmp_path / "not" / "yet" / "created"))
    assert default.max_runs >= 2
    assert default.max_runs / 2 <= default.max_runs_per_user <= default.max_runs


def test_settings_override_the_default_limits(tmp_path: Path) -> None:
    limits = studio_limits(Settings(data=tmp_path, max_runs=3, max_runs_per_user=9))
    assert (limits.max_runs, limits.max_runs_per_user) == (3, 3)
    limits = studio_limits(Settings(data=tmp_path, retention_bytes=0))
    assert (limits.max_storage, limits.max_storage_per_user) == (None, None)


def test_a_cluster_decides_how_many_runs_and_sandboxes_there_are(tmp_path: Path) -> None:
    limits = studio_limits(Settings(data=tmp_path), capacity=10)
    assert (limits.max_runs, limits.max_runs_per_user, limits.max_sandboxes) == (10, 5, 10)
    assert studio_limits(Settings(data=tmp_path), capacity=0).max_runs == 1
    limits = studio_limits(Settings(data=tmp_path, max_runs=3), capacity=10)
    assert (limits.max_runs, limits.max_sandboxes) == (3, 10)
