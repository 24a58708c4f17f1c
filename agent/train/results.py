"""What rollouts came to: lines of a file as they are done, scores, and how long is left."""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from agent.errors import TaskError
from agent.legible import one_line
from agent.tasks.scoring import Score, by_domain
from agent.train.rollouts import Rollout

FILE = "results.jsonl"


class Results:
    """The files of results in a folder, a line for each rollout as soon as it is done.

    ``results.jsonl`` is what ``score`` reads. Where tasks are repeated each repetition has a
    file of its own: ``results-2.jsonl`` and so on.

    Args:
        folder: Made where it is missing.
        repeat: How often each task is worked on.
        total: How many rollouts there will be.

    Raises:
        TaskError: it holds results already, or cannot be written.
    """

    def __init__(self, folder: Path, repeat: int, total: int) -> None:
        self.done: list[Rollout] = []
        self._total = total
        self._began = time.monotonic()
        self._held = ExitStack()
        with ExitStack() as on_failure:
            on_failure.push(self._held)
            self._files = [self._file(folder, again) for again in range(repeat)]
            on_failure.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def take(self, rollout: Rollout) -> None:
        """Keep a rollout, on disk too. Raises ``OSError`` where that is full."""
        self.done.append(rollout)
        file = self._files[rollout.repeat]
        file.write(json.dumps(_line(rollout), ensure_ascii=False) + "\n")
        file.flush()

    def progress(self) -> str:
        """One line for a person: what was done last, the mean so far, the time left."""
        last, count = self.done[-1], len(self.done)
        mean = sum(each.reward for each in self.done) / count
        left = (time.monotonic() - self._began) / count * (self._total - count)
        why = f": {one_line(last.reason)}" if last.status == "failed" else ""
        return (
            f"{count}/{self._total}  {one_line(last.problem.id)}  {last.status}{why}  "
            f"{last.reward:.2f} in {last.seconds:.1f} s  (mean {mean:.3f}, {_time(left)} left)"
        )

    def scores(self) -> dict[str, Score]:
        """As ``score`` shows them; a task that was repeated counts once, with its mean.

        What was stopped is left out. Empty where nothing else is there.
        """
        tasks: dict[str, list[Rollout]] = {}
        for each in self.done:
            if each.status != "stopped":
                tasks.setdefault(each.problem.id, []).append(each)
        rewards: dict[str, list[float]] = {}
        answered: dict[str, int] = {}
        for of_one in tasks.values():
            domain = of_one[0].problem.domain
            rewards.setdefault(domain, []).append(sum(r.reward for r in of_one) / len(of_one))
            answered[domain] = answered.get(domain, 0) + any(r.answer is not None for r in of_one)
        return by_domain(rewards, answered) if rewards else {}

    def pace(self) -> str:
        """One line: how many a minute, and what their time went into."""
        return pace(self.done, time.monotonic() - self._began)

    def _file(self, folder: Path, again: int) -> TextIO:
        path = folder / (FILE if again == 0 else f"results-{again + 1}.jsonl")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return self._held.enter_context(path.open("x", encoding="utf-8", errors="replace"))
        except FileExistsError as error:
            raise TaskError(f"{path} is there already; give another folder.") from error
        except OSError as error:
            raise TaskError(f"{path} cannot be written: {error.strerror}.") from error


def pace(done: Sequence[Rollout], seconds: float) -> str:
    """How many rollouts a minute there were, and the shares of their own wall time."""
    whole = sum(each.seconds for each in done) or 1.0
    prepared = sum(each.prepared for each in done)
    model = sum(each.totals.model_seconds for each in done)
    sandbox = sum(each.totals.sandbox_seconds for each in done)
    return (
        f"{len(done)} rollouts in {_time(seconds)}, {len(done) / seconds * 60:.1f} a minute; of "
        f"their time {model / whole:.1%} the model, {sandbox / whole:.1%} commands and files, "
        f"{prepared / whole:.1%} until the sandbox was ready"
    )


def _line(rollout: Rollout) -> dict[str, Any]:
    totals = rollout.totals
    return {
        "id": rollout.problem.id,
        "answer": rollout.answer,
        "reward": rollout.reward,
        "status": rollout.status,
        "reason": rollout.reason,
        "run": rollout.folder.id,
        "steps": totals.steps,
        "generated_tokens": totals.generated_tokens,
        "seconds": round(rollout.seconds, 3),
        "sandbox_seconds": round(totals.sandbox_seconds, 3),
    }


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
