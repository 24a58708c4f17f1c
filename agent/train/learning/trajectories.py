"""Training sequences from ATIF trajectories with token ids, learned as they were sampled.

Where a prompt does not continue the ids before it, another sequence begins.
"""

import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from agent.errors import TraceError, TrainError
from agent.traces.documents import Document
from agent.traces.fields import Fields, read_objects
from agent.traces.formats import atif
from agent.traces.import_budget import ImportBudget
from agent.traces.trace import TurnIds
from agent.train.recipe import SupervisedConfig
from agent.train.rollouts.policy import Policy
from agent.train.rollouts.sequence import GrowingSequence, TokenSequence

_WORD = re.compile(r"[^\W\d_]{3,}")


def find_trajectories(path: Path) -> list[Path]:
    """Return the trajectories of a folder or a file; none if the file is not one."""
    if not path.is_dir():
        return [path] if _is_trajectory(path) else []
    files = sorted(each for each in path.rglob("*.json") if each.is_file())
    found = [each for each in files if _is_trajectory(each)]
    if not found:
        raise TrainError(f"supervised.file: {path} contains no ATIF trajectories (*.json).")
    return found


def read_trajectories(
    files: list[Path], config: SupervisedConfig, policy: Policy
) -> list[TokenSequence]:
    """Read as many sequences as the recipe requests; errors name file, line and field."""
    if config.truncated_share:
        raise TrainError("supervised.truncated_share: is for files of conversations, not for ATIF.")
    ids = _IdCheck(policy)
    found = (sequence for file in files for sequence in _read(file, ids))
    sequences = list(islice(found, config.demonstrations))
    if not sequences:
        raise TrainError(f"supervised.file: {files[0]}: the agent has no steps.")
    return sequences


def _is_trajectory(path: Path) -> bool:
    try:
        head, names = _document(path).head()
    except TraceError:
        return False  # such as JSON Lines
    except OSError as error:
        raise TrainError(f"supervised.file: {path} cannot be read: {error}") from error
    version = head.values.get("schema_version")
    if "steps" not in names or not isinstance(version, str) or not version.startswith("ATIF-"):
        return False
    if not atif.is_trajectory(head):
        raise _error(head, "schema_version", f"{version[:40]!r} is not a known version")
    return True


def _document(path: Path) -> Document:
    return Document(lambda: path.open("rb"), str(path), ImportBudget(str(path), seconds=math.inf))


def _read(path: Path, check: "_IdCheck") -> Iterator[TokenSequence]:
    """Yield the sequences of a trajectory: one, unless the agent changed the conversation."""
    current = GrowingSequence()
    with _document(path).reader() as reader:
        for step in read_objects(reader, "steps"):
            if not _is_sampled(step):
                continue
            ids = check.read(step)
            if current.ids and ids.prompt[: len(current.ids)] != tuple(current.ids):
                yield current.finish()
                current = GrowingSequence()
            current.add(ids.prompt[len(current.ids) :], ids.generated, ids.logprobs)
    if current.ids:
        yield current.finish()


def _is_sampled(step: Fields) -> bool:
    """Whether a step is an answer to learn: not copied, and not made without the model."""
    return (
        step.text("source") == "agent"
        and not step.flag("is_copied_context")
        and step.count("llm_call_count") != 0
    )


class _IdCheck:
    """Checks that ids are known, and of the tokenizer of a policy."""

    def __init__(self, policy: Policy) -> None:
        self._tokenizer: Any = policy.tokenizer
        self._size = 1 + max(policy.tokenizer.get_vocab().values())
        self._context = policy.context

    def read(self, step: Fields) -> TurnIds:
        """Return the ids of a step. Raises ``TrainError`` if they cannot be learned from."""
        metrics = step.fields("metrics")
        ids = atif.read_ids(step)
        if ids is None:
            raise _missing(step)
        if not ids.prompt or not ids.generated:
            name = "completion_token_ids" if ids.prompt else "prompt_token_ids"
            raise _error(metrics, name, "is empty")
        self._check_range(metrics, "prompt_token_ids", ids.prompt)
        self._check_range(metrics, "completion_token_ids", ids.generated)
        if len(ids.prompt) + len(ids.generated) > self._context:
            raise _error(metrics, "prompt_token_ids", (
                f"{len(ids.prompt)} ids and an answer of {len(ids.generated)} are more than "
                f"{self._context}, the context of the model and of rollouts.tokens"
            ))  # fmt: skip
        self._check_text(step, metrics, ids)
        return ids

    def _check_range(self, metrics: Fields, name: str, ids: tuple[int, ...]) -> None:
        largest = max(ids)
        if largest >= self._size:
            raise _error(metrics, f"{name}[{ids.index(largest)}]", (
                f"{largest} is no id of the recipe's tokenizer, whose largest is {self._size - 1}"
            ))  # fmt: skip

    def _check_text(self, step: Fields, metrics: Fields, ids: TurnIds) -> None:
        """Refuse ids that another tokenizer made: they decode to other words than the answer's."""
        said = step.text("message") + " " + step.text("reasoning_content")
        words = set(_WORD.findall(said))
        if not words:
            return
        decoded = self._tokenizer.decode(list(ids.generated), clean_up_tokenization_spaces=False)
        if sum(word in decoded for word in words) * 2 < len(words):
            raise _error(metrics, "completion_token_ids", (
                f"with the recipe's tokenizer they are {decoded[:40]!r}, but the step's message is "
                f"{said.strip()[:40]!r}"
            ))  # fmt: skip


def _missing(step: Fields) -> TrainError:
    if (step.count("llm_call_count") or 1) > 1:
        return _error(step, "llm_call_count", "the ids of several requests cannot be told apart")
    metrics = step.fields("metrics")
    names = ("prompt_token_ids", "completion_token_ids")
    missing = next(name for name in names if name not in metrics)
    return _error(metrics, missing, "is missing; only trajectories with token ids are learned from")


def _error(fields: Fields, name: str, problem: str) -> TrainError:
    return TrainError(f"supervised.file: {fields.error(name, problem)}")
