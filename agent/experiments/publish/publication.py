"""All that is published of an experiment, as one JSON, without addresses of endpoints and keys.

What a run was carried out with is read from the beginning of its journal, not from its request.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.errors import JournalError, UsageError
from agent.events import RunStarted, SandboxReady, StepStarted
from agent.experiments.experiment import MAX_REPETITIONS
from agent.experiments.figures.statistics import FLIPS, RESAMPLES, SEED
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Summaries
from agent.experiments.publish.columns import TABLES, definitions
from agent.experiments.publish.results import results_by_domain
from agent.experiments.publish.rows import to_json, whole_rows
from agent.experiments.publish.run_row import RunRow
from agent.experiments.scan.description import answer_rows
from agent.installation import commit, version
from agent.models.parameters import BY_NAME
from agent.runs import journal

_MAX_LISTED = 1_000  # runs that are listed as failed or repeated; all are counted
_SPEC = (*(name for name in BY_NAME if name != "extra_body"), "pdfs", "prompt", "network",
         "memory", "max_steps", "max_seconds", "max_conversation_tokens", "summarise")  # fmt: skip


def published(
    folder: ExperimentFolder,
    summaries: Summaries,
    description: Mapping[str, Any],
    k: int | None = None,
) -> dict[str, Any]:
    """Return an experiment's description with its runs, its provenance and its columns.

    ``description`` is what its reader may see. ``k`` is that of pass@k and pass^k; None for the
    largest number of runs that every task has.
    """
    if k is not None and not 2 <= k <= MAX_REPETITIONS:
        raise UsageError(f"k is a number from 2 to {MAX_REPETITIONS}.")
    rows = list(whole_rows(folder, summaries))
    whole = dict(description)
    if "suites" in description:
        measures = {each["domain"]: each.get("table") for each in description["results"]}
        whole["results"] = [
            each | {"table": measures.get(each["domain"])}
            for each in results_of(rows, description["tasks"], description["members"], k)
        ]
    return whole | {
        "k": k,
        "provenance": _provenance(folder, description, rows, time.time()),
        "columns": {table: definitions(table) for table in TABLES},
        "runs": to_json(rows),
        "answers": list(answer_rows(folder, (row.run for row in rows))),
    }


def results_of(
    rows: Iterable[RunRow],
    tasks: Sequence[Mapping[str, Any]],
    members: Sequence[Mapping[str, Any]],
    k: int | None = None,
) -> list[dict[str, Any]]:
    """Return the results of an evaluation, from its description and the rows of its runs."""
    domains = [task["domain"] for task in tasks]
    return results_by_domain(rows, domains, [member["baseline"] for member in members], k)


def _provenance(
    folder: ExperimentFolder, description: Mapping[str, Any], rows: Sequence[RunRow], now: float
) -> dict[str, Any]:
    """Return where an experiment's figures come from; ``now`` is the time of the export."""
    ended = [row for row in rows if row.is_done or row.outcome == "infrastructure"]
    times = [row.began for row in ended if row.began]
    judge = description.get("judge") or (description.get("expected") or {}).get("judge")
    return {
        "program": {"name": "LLM-in-Sandbox Studio", "version": version(), "commit": commit()},
        "exported": _moment(now),
        "experiment": {
            "kind": folder.kind, "id": folder.id, "title": description["title"],
            "created": _moment(folder.definition.created),
            "firstRun": _moment(min(times, default=0.0)),
            "lastRun": _moment(max(times, default=0.0)),
        },
        "members": [
            {name: member.get(name) for name in ("label", "model", "mode", "marks")}
            | {"settings": {name: value for name, value in member["settings"].items()
                            if name != "baseUrl"}}
            | {"passport": member.get("passport"), "server": _server(member.get("passport"))}
            | _carried_out(folder.data, [row.run for row in ended if row.member == index])
            for index, member in enumerate(description["members"])
        ],
        "suites": [
            {name: each for name, each in suite.items() if name != "check"}
            | {"files": [asdict(each) for each in info.files]}
            for suite, info in zip(
                description.get("suites", ()), folder.definition.suites_by_name, strict=True
            )
        ],
        "inputs": [asdict(each) for each in folder.definition.inputs],
        "judge": judge and {
            name: value for name, value in judge.items() if name not in ("baseUrl", "prompt")
        } | {"promptSha256": _hash(judge.get("prompt", ""))},
        "graders": dict(Counter(row.grader for row in rows if row.grader)),
        "outcomes": dict(Counter(row.outcome for row in rows)),
        "failed": _listed(row for row in rows if row.outcome == "infrastructure"),
        "repeated": _listed(row for row in rows if row.attempt > 1),
        "statistics": {
            "intervals": "95 %", "bootstrapResamples": RESAMPLES, "permutationFlips": FLIPS,
            "seed": SEED,
        },
    }  # fmt: skip


def _carried_out(data: Path, runs: Iterable[str]) -> dict[str, Any]:
    """Return the settings, system prompts and images of runs, each with the number of its runs."""
    settings, prompts, images = Counter[str](), Counter[str](), Counter[str]()
    unknown = 0
    for run in runs:
        started, ready = _head(journal.path_of(data, run))
        if started is None:
            unknown += 1
            continue
        spec = {name: started.spec[name] for name in _SPEC
                if started.spec.get(name) not in (None, "", {}, [], ())}  # fmt: skip
        limits = {name: each for name, each in started.limits.items() if each is not None}
        settings[json.dumps({**spec, "limits": limits}, sort_keys=True)] += 1
        prompts[f"{started.prompt} sha256:{_hash(started.system)}"] += 1
        if ready is not None and ready.image:
            images[ready.image] += 1
    return {
        "ranWith": [json.loads(text) | {"runs": count} for text, count in settings.items()],
        "systemPrompts": dict(prompts),
        "images": dict(images),
        "runsWithoutRecord": unknown,
    }


def _head(path: Path) -> tuple[RunStarted | None, SandboxReady | None]:
    """Return the first events of a run; None for those that it has not."""
    started: RunStarted | None = None
    try:
        for _, event in journal.read(path):
            if isinstance(event, RunStarted):
                started = event
            elif isinstance(event, SandboxReady):
                return started, event
            elif isinstance(event, StepStarted):
                break
    except (OSError, JournalError):
        return None, None  # it was deleted, or its record is damaged
    return started, None


def _server(passport: Mapping[str, Any] | None) -> str:
    """Return the server and its version, as far as it says; empty if it does not."""
    facts = (passport or {}).get("facts", ())
    known = (each["text"] for each in facts if each.get("name") == "server" and each.get("known"))
    return next(known, "")


def _listed(rows: Iterable[RunRow]) -> dict[str, Any]:
    found = list(rows)
    names = ("task_id", "label", "repetition", "attempt", "run", "reason")
    listed = [{name: getattr(row, name) for name in names} for row in found[:_MAX_LISTED]]
    return {"count": len(found), "runs": listed}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if text else ""


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""
