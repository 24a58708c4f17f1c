"""The tasks of a recipe: out of a file, or the generator's, by what is held out of training."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from agent.errors import TaskError, TrainError
from agent.tasks.generator.draft import Split
from agent.tasks.generator.making import problems
from agent.tasks.lines import read_problems
from agent.tasks.record import Problem
from agent.train.recipe import Recipe, Tasks

# Seeds that nothing is trained on, also where wordings and names are those of training.
_FRESH = 1_000_003


def training(recipe: Recipe) -> list[Problem]:
    """What is trained on, the same for the same seed; nothing where it names neither.

    Raises:
        TrainError: the recipe names a family or question that there is not.
        TaskError: its file is wrong; file, line and key are named.
    """
    tasks = recipe.tasks
    if tasks.file:
        found = list(islice(read_problems(Path(tasks.file)), tasks.count))
        if not found:
            raise TrainError(f"tasks.file: {tasks.file} holds no tasks.")
        return found
    if not tasks.kinds:
        return []
    return _made(tasks, "train", tasks.kinds, tasks.count, recipe.seed)


def held_out(recipe: Recipe, split: Split) -> list[Problem]:
    """What is measured on; the same whatever the recipe's seed.

    Of the split ``train`` these are tasks that are not trained on, of the same kind, or those of
    the file that ``evaluation`` names. Tasks of a file have no other splits.
    """
    if recipe.evaluation.file:
        found = islice(read_problems(Path(recipe.evaluation.file)), recipe.evaluation.tasks)
        return list(found) if split == "train" else []
    kinds = recipe.tasks.unseen if split == "family" else recipe.tasks.kinds
    if recipe.tasks.file or not kinds:
        return []
    return _made(recipe.tasks, split, kinds, recipe.evaluation.tasks, _FRESH)


def _made(tasks: Tasks, split: Split, kinds: Sequence[str], count: int, seed: int) -> list[Problem]:
    """So many, of all kinds in turn; no two of them bear one id."""
    each = -(-count // len(kinds))
    try:
        columns = [list(_of_kind(tasks, split, kind, each, seed)) for kind in kinds]
    except TaskError as error:
        raise TrainError(f"tasks.{'unseen' if split == 'family' else 'kinds'}: {error}") from error
    made = [problem for row in zip(*columns, strict=True) for problem in row][:count]
    if len({problem.id for problem in made}) < len(made):
        raise TrainError(
            f"tasks.{'unseen' if split == 'family' else 'kinds'}: one stands there twice."
        )
    return made


def _of_kind(tasks: Tasks, split: Split, kind: str, count: int, seed: int) -> Iterator[Problem]:
    family, _, question = kind.partition(".")
    return problems(split, count, seed, family, tasks.levels, question)
