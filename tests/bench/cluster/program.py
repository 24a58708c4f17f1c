"""An evaluation of a scripted model, on a Ray cluster or here: ADDRESS COUNT CONCURRENCY.

It prints how long it took and how long each run took, as JSON. An empty address stands for here.
"""

import json
import sys
import time

from agent.api.studio import Studio
from agent.cluster.connect import placement_on
from agent.experiments.folder import Key
from agent.experiments.runner import Progress
from agent.settings import load
from tests.bench.agent.rollouts import MEMBERS, AnsweringModel, notes_suite


class Durations:
    """The seconds of each run from its start to its end, with the score."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._began: dict[Key, float] = {}

    def __call__(self, progress: Progress) -> None:
        key = progress.task, progress.member, progress.repetition
        if progress.status == "started":
            self._began[key] = time.monotonic()
        elif key in self._began:
            self.seconds.append(time.monotonic() - self._began[key])


def main() -> None:
    address, count, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    models = {"scripted": AnsweringModel()}
    durations = Durations()
    with Studio(load()) as studio, placement_on(address, lambda _: None) as placement:
        studio.evaluate(
            notes_suite(2 * concurrency), members=MEMBERS, models=models,
            concurrency=concurrency, placement=placement,
        )  # fmt: skip
        began = time.monotonic()
        done = studio.evaluate(
            notes_suite(count), members=MEMBERS, models=models, concurrency=concurrency,
            placement=placement, on_progress=durations,
        )  # fmt: skip
        seconds = time.monotonic() - began
    if done.counts["right"] != count:
        raise RuntimeError(f"An evaluation did not solve its tasks: {done}")
    print(json.dumps({"seconds": seconds, "runs": durations.seconds}))


if __name__ == "__main__":
    main()
