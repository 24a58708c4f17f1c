"""Results of rollouts: files written as rollouts end, scores, and progress."""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, TextIO

from agent.capabilities.usage import Rates
from agent.errors import TaskError
from agent.grading.checks import grader_of
from agent.tasks.scoring import Score, expected_of, score_domains
from agent.train.rollouts.rollouts import Rollout
from agent.util.text import format_duration, one_line, plural

RESULTS_FILE = "results.jsonl"


class Results:
    """Result files in a folder, a line per rollout; each repetition of tasks has its own."""

    def __init__(self, folder: Path, repeat: int, total: int) -> None:
        self.finished: list[Rollout] = []
        self._total = total
        self._began = time.monotonic()
        self._open_files = ExitStack()
        with ExitStack() as on_failure:
            on_failure.push(self._open_files)
            self._files = [self._open_file(folder, again) for again in range(repeat)]
            on_failure.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open_files.close()

    def record(self, rollout: Rollout) -> None:
        """Record a rollout, also on disk. Raises ``OSError`` if the disk is full."""
        self.finished.append(rollout)
        file = self._files[rollout.repeat]
        file.write(json.dumps(_to_json(rollout), ensure_ascii=False) + "\n")
        file.flush()

    def progress(self) -> str:
        """Return a progress line: the last rollout, the mean so far, and the time left."""
        last, count = self.finished[-1], len(self.finished)
        left = (time.monotonic() - self._began) / count * (self._total - count)
        why = f": {one_line(last.reason)}" if last.status == "failed" else ""
        worth, mean = "", ""
        if not _is_judged(last):
            worth = f"{last.reward:.2f} in "
            mean = f"mean {sum(each.reward for each in self.finished) / count:.3f}, "
        return (
            f"{count}/{self._total}  {one_line(last.task.id)}  {last.status}{why}  "
            f"{worth}{last.seconds:.1f} s  ({mean}{format_duration(left)} left)"
        )

    def scores(self) -> dict[str, Score]:
        """Return the scores as ``score`` shows them; repeated tasks count by their mean."""
        tasks: dict[str, list[Rollout]] = {}
        for each in self.finished:
            if each.status != "stopped" and not _is_judged(each):
                tasks.setdefault(each.task.id, []).append(each)
        rewards: dict[str, list[float]] = {}
        answered: dict[str, int] = {}
        for repeats in tasks.values():
            domain = repeats[0].task.domain
            rewards.setdefault(domain, []).append(sum(r.reward for r in repeats) / len(repeats))
            answered[domain] = answered.get(domain, 0) + any(r.answer is not None for r in repeats)
        return score_domains(rewards, answered) if rewards else {}

    def throughput(self) -> str:
        """Return a line with the rollouts per minute and the shares of their wall time."""
        seconds, finished = time.monotonic() - self._began, self.finished
        total = sum(each.seconds for each in finished) or 1.0
        setup = sum(each.setup_seconds for each in finished)
        model = sum(each.totals.model_seconds for each in finished)
        sandbox = sum(each.totals.sandbox_seconds for each in finished)
        return (
            f"{plural(len(finished), 'rollout')} in {format_duration(seconds)}, "
            f"{len(finished) / seconds * 60:.1f} per minute; share of "
            f"their time: model {model / total:.1%}, commands and files {sandbox / total:.1%}, "
            f"sandbox start {setup / total:.1%}"
        )

    def capabilities(self) -> str:
        """Return the mean share of steps that used each capability, ours and the paper's."""
        known = [each.capabilities for each in self.finished if each.capabilities is not None]
        if not known:
            return ""
        methods = (
            ("Capability usage, mean share of steps", [each.ours for each in known]),
            ("  of it observed", [each.observed for each in known]),
            ("  by the paper's patterns", [each.paper for each in known]),
        )
        return "\n".join(f"{title}: {_format_rates(found)}" for title, found in methods)

    def _open_file(self, folder: Path, repeat: int) -> TextIO:
        path = folder / (RESULTS_FILE if repeat == 0 else f"results-{repeat + 1}.jsonl")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return self._open_files.enter_context(
                path.open("x", encoding="utf-8", errors="replace")
            )
        except FileExistsError as error:
            raise TaskError(f"{path} already exists. Choose another folder.") from error
        except OSError as error:
            raise TaskError(f"{path} cannot be written: {error.strerror}.") from error


def _format_rates(found: Sequence[Rates]) -> str:
    external = sum(each.external for each in found) / len(found)
    file = sum(each.file for each in found) / len(found)
    compute = sum(each.compute for each in found) / len(found)
    return f"external {external:.1%}, files {file:.1%}, computation {compute:.1%}"


def _is_judged(rollout: Rollout) -> bool:
    return expected_of(rollout.task).check == "judge"


def _to_json(rollout: Rollout) -> dict[str, Any]:
    totals = rollout.totals
    return {
        "id": rollout.task.id,
        "answer": rollout.answer,
        "reward": None if _is_judged(rollout) else rollout.reward,
        "grader": grader_of(expected_of(rollout.task)),
        "status": rollout.status,
        "reason": rollout.reason,
        "run": rollout.folder.id,
        "steps": totals.steps,
        "generated_tokens": totals.generated_tokens,
        "seconds": round(rollout.seconds, 3),
        "sandbox_seconds": round(totals.sandbox_seconds, 3),
        "capabilities": rollout.capabilities and asdict(rollout.capabilities),
    }
