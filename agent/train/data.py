"""Training and evaluation tasks of a recipe, from a file or the generator."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from agent.errors import TaskError, TrainError
from agent.tasks.document_qa.draft import Split
from agent.tasks.document_qa.generate import generate_tasks
from agent.tasks.jsonl import read_tasks
from agent.tasks.task import TaskRecord
from agent.train.recipe import Recipe, TasksConfig

# Seeds reserved for evaluation, also for tasks whose wordings and names occur in training.
_EVALUATION_SEED = 1_000_003


def training_tasks(recipe: Recipe) -> list[TaskRecord]:
    """Return the training tasks, determined by the seed; none if none are named."""
    tasks = recipe.tasks
    if tasks.file:
        selected = list(islice(read_tasks(Path(tasks.file)), tasks.count))
        if not selected:
            raise TrainError(f"tasks.file: {tasks.file} contains no tasks.")
        return selected
    if not tasks.families:
        return []
    return _generate(tasks, "train", tasks.families, tasks.count, recipe.seed)


def evaluation_tasks(recipe: Recipe, split: Split) -> list[TaskRecord]:
    """Return the evaluation tasks, the same for any seed; those of ``train`` are not trained on."""
    if recipe.evaluation.file:
        selected = islice(read_tasks(Path(recipe.evaluation.file)), recipe.evaluation.tasks)
        return list(selected) if split == "train" else []
    families = recipe.tasks.held_out_families if split == "family" else recipe.tasks.families
    if recipe.tasks.file or not families:
        return []
    return _generate(recipe.tasks, split, families, recipe.evaluation.tasks, _EVALUATION_SEED)


def _generate(
    tasks: TasksConfig, split: Split, families: Sequence[str], count: int, seed: int
) -> list[TaskRecord]:
    """Generate tasks of all families in turn, with unique ids."""
    key = "tasks.held_out_families" if split == "family" else "tasks.families"
    each = -(-count // len(families))
    try:
        columns = [list(_of_family(tasks, split, family, each, seed)) for family in families]
    except TaskError as error:
        raise TrainError(f"{key}: {error}") from error
    generated = [task for row in zip(*columns, strict=True) for task in row][:count]
    if len({problem.id for problem in generated}) < len(generated):
        raise TrainError(f"{key}: the list contains a duplicate.")
    return generated


def _of_family(
    tasks: TasksConfig, split: Split, family: str, count: int, seed: int
) -> Iterator[TaskRecord]:
    """Generate tasks of a family, or of one of its questions: ``staff.room``."""
    name, _, question = family.partition(".")
    return generate_tasks(split, count, seed, name, tasks.levels, question)
