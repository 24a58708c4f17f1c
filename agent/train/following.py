"""What follows each step of a stage: the log, the terminal, and whoever wants to know."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME

from agent.train.log import Log, Progress

_NAMES = {
    "loss": "loss",
    "grad_norm": "gradient",
    "learning_rate": "learning_rate",
    "entropy": "entropy",
    "reward": "reward",
    "reward_std": "deviation",
    "frac_reward_zero_std": "idle",
    "completions/mean_length": "tokens",
    "clip_ratio/region_mean": "clipped",
    "step_time": "update_seconds",
}


class Follower(TrainerCallback):  # type: ignore[misc]
    """Writes each step down.

    Args:
        stage: What is trained.
        log: Where.
        progress: Told of it.
        told: Which figures are shown at the terminal.
        more: Further figures of the step that is written.
        after: Called with each step's number when it is done.
    """

    def __init__(
        self,
        stage: str,
        log: Log,
        progress: Progress,
        told: Sequence[str],
        more: Callable[[], dict[str, float]] = dict,
        after: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._stage = stage
        self._log = log
        self._progress = progress
        self._told = told
        self._more = more
        self._after = after

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write the figures of a step; those of the whole training at its end are left out."""
        del args, control
        if not logs or "train_runtime" in logs:
            return
        found = {name: logs[key] for key, name in _NAMES.items() if logs.get(key) is not None}
        values = {name: round(float(each), 6) for name, each in found.items()} | self._more()
        self._log.write("step", stage=self._stage, step=state.global_step, **values)
        shown = [f"{name} {values[name]:.3g}" for name in self._told if name in values]
        self._progress.tell(state.global_step, ", ".join(shown))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Let the others know."""
        del args, control
        self._after(state.global_step)


def follow(trainer: Any, follower: Follower) -> None:
    """Have a trainer tell ``follower`` alone of its steps, not the terminal."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(follower)


def last_checkpoint(folder: Path) -> tuple[Path, int] | None:
    """The last whole checkpoint of a stage and its step; None where there is none."""
    # Its state is written last: what has none was cut off while it was being kept.
    whole = [path.parent for path in folder.glob(f"checkpoint-*/{TRAINER_STATE_NAME}")]
    steps = [(int(path.name.rpartition("-")[2]), path) for path in whole]
    return next(((path, step) for step, path in sorted(steps, reverse=True)), None)
