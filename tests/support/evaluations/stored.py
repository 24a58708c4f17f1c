"""Evaluations whose runs exist as summaries only: no journal can be read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.capabilities.usage import CapabilityRates, Rates
from agent.experiments.experiment import Experiment, Member
from agent.experiments.folder import ExperimentFolder
from agent.experiments.suite import Suite
from agent.grading.checks import Grade
from agent.runs.metrics.run_metrics import RunMetrics
from agent.runs.summary import Summary

MEMBERS = (
    Member(label="plain", mode="plain", model="m"),
    Member(label="sandbox", mode="sandbox", model="m"),
)
_RATES = Rates(external=0.0, file=0.5, compute=0.25)


def create(data: Path, suites: Sequence[Suite], **changes: Any) -> ExperimentFolder:
    """Create an evaluation of a model without and with a sandbox."""
    values: dict[str, Any] = {"members": MEMBERS, **changes}
    data.mkdir(exist_ok=True)
    return ExperimentFolder.create(data, Experiment(**values), suites)


def add(
    folder: ExperimentFolder,
    key: tuple[int, int, int],
    value: float | None = None,
    *,
    scored: bool = True,
    **changes: Any,
) -> tuple[str, Summary]:
    """Record a run with its score; return its id and summary."""
    run = f"run-{'-'.join(map(str, key))}"
    folder.add_run(*key, run)
    if scored:
        score = Grade(score=value, reason="" if value is not None else "The judge is silent.")
        folder.add_score(run, score, "42")
    return run, summary(folder.definition.members[key[1]].mode, **changes)


def summary(mode: str = "plain", **changes: Any) -> Summary:
    """Return the summary of a run that ended, with its figures."""
    sandbox = mode == "sandbox"
    metrics = RunMetrics(
        rounds=1, prompt="math", network="open" if sandbox else "", prompt_tokens=100,
        generated_tokens=50, environment_tokens=30 if sandbox else 0,
        tokens_once=180 if sandbox else 150, largest_prompt=100, model_seconds=8.0,
        sandbox_seconds=2.0 if sandbox else None, total_seconds=20.0,
        capabilities=CapabilityRates(ours=_RATES, observed=_RATES, paper=_RATES, steps=4)
        if sandbox else None,
    )  # fmt: skip
    values: dict[str, Any] = {
        "task": "What?", "messages": "", "answer": "42", "model": "m", "metered": True,
        "mode": mode, "state": "submitted" if sandbox else "answered", "reason": "",
        "running": False, "began": 1.0, "at": 2.0, "seconds": 20.0, "steps": 4 if sandbox else 1,
        "prompt_tokens": 100, "generated_tokens": 50, "estimated": False, "files": (),
        "images": (), "workspace": 0, "versions": 0, "size": 0, "metrics": metrics, **changes,
    }  # fmt: skip
    return Summary(**values)
