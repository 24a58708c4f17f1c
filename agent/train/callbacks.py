"""Trainer callback that logs each step; search for checkpoints."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME

from agent.train.log import Progress, TrainingLog

_FIGURE_NAMES = {
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


class StepLogger(TrainerCallback):  # type: ignore[misc]
    """Logs each step of a stage, with extra figures, and displays those of these names."""

    def __init__(
        self,
        stage: str,
        log: TrainingLog,
        progress: Progress,
        displayed: Sequence[str],
        extra_figures: Callable[[], dict[str, float]] = dict,
        on_step: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._stage = stage
        self._log = log
        self._progress = progress
        self._displayed = displayed
        self._extra_figures = extra_figures
        self._on_step = on_step

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Log the figures of a step; skip the summary at the end of the training."""
        del args, control
        if not logs or "train_runtime" in logs:
            return
        figures = {
            name: logs[key] for key, name in _FIGURE_NAMES.items() if logs.get(key) is not None
        }
        values = {
            name: round(float(each), 6) for name, each in figures.items()
        } | self._extra_figures()
        self._log.write("step", stage=self._stage, step=state.global_step, **values)
        texts = [f"{name} {values[name]:.3g}" for name in self._displayed if name in values]
        self._progress.report(state.global_step, ", ".join(texts))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Call the listener."""
        del args, control
        self._on_step(state.global_step)


def attach_logger(trainer: Any, step_logger: StepLogger) -> None:
    """Make ``step_logger`` a trainer's only reporter; the trainer prints nothing."""
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(step_logger)


def last_checkpoint(folder: Path) -> tuple[Path, int] | None:
    """Return a stage's last complete checkpoint and its step; None if there is none."""
    # The trainer state is written last: a checkpoint without it is incomplete.
    complete = [path.parent for path in folder.glob(f"checkpoint-*/{TRAINER_STATE_NAME}")]
    steps = [(int(path.name.rpartition("-")[2]), path) for path in complete]
    return next(((path, step) for step, path in sorted(steps, reverse=True)), None)
