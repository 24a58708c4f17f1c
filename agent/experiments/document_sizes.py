"""What a comparison's documents would take if they were pasted into a prompt."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent.documents.text import extract_text
from agent.errors import ContextTooLong, WorkspaceError
from agent.experiments.folder import ExperimentFolder
from agent.experiments.outcomes import Outcome
from agent.models.errors.context_errors import ErrorDetails, length_error
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath

_FILE = "documents.json"
_MAX_BYTES = 4 * 1024**2
_USUAL_CHARACTERS = 4.0
USUAL_NOTE = (
    "an estimate without a tokenizer: characters ÷ 4; English text differs by up to a quarter, "
    "numbers, code and other scripts take up to three times as much"
)
MEASURED_NOTE = "the endpoint’s own tokenizer: {ratio:.2f} characters per token in plain mode"
_CUT_RATIO = 12.0
"""More characters per token than any text has: the endpoint has not read all of it."""


@dataclass(frozen=True, slots=True)
class DocumentSize:
    """Characters and pages of an input's text; ``reason`` says why it has none."""

    path: str
    characters: int | None
    pages: int | None = None
    reason: str = ""


def measure_documents(folder: ExperimentFolder, workspace: Workspace) -> list[DocumentSize]:
    """Extract the text of all inputs and store their sizes; this may take seconds."""
    sizes = [_measured(workspace, each.path) for each in folder.definition.inputs]
    new = folder.path / f"{_FILE}.new"
    new.write_text(json.dumps([asdict(each) for each in sizes]))
    new.replace(folder.path / _FILE)
    return sizes


def stored_sizes(folder: ExperimentFolder) -> dict[str, DocumentSize]:
    """Return the stored sizes by path; none if they were not measured."""
    try:
        with (folder.path / _FILE).open("rb") as file:
            rows = json.loads(file.read(_MAX_BYTES))
        return {row["path"]: DocumentSize(**row) for row in rows}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def characters_per_token(outcomes: Iterable[Outcome]) -> float | None:
    """Return how many characters of a prompt the endpoint counted as a token in plain mode."""
    for outcome in outcomes:
        tokens, characters = counted_prompt(outcome), outcome.metrics.prompt_characters
        if tokens and characters and not was_cut(outcome):
            return characters / tokens
    return None


def counted_prompt(outcome: Outcome) -> int | None:
    """Return the tokens of a prompt in plain mode, as the endpoint counted or refused it."""
    metrics, summary = outcome.metrics, outcome.summary
    if summary is None or summary.mode != "plain" or metrics.estimated:
        return None
    if metrics.first_prompt is not None or not did_not_fit(outcome):
        return metrics.first_prompt
    refusal = length_error(ErrorDetails(summary.reason), "")
    return refusal.used if isinstance(refusal, ContextTooLong) else None


def did_not_fit(outcome: Outcome) -> bool:
    """Whether the model read nothing, because the documents do not fit into its context."""
    summary = outcome.summary
    return (
        summary is not None
        and (summary.mode, summary.state) == ("plain", "token_limit")
        and outcome.metrics.prompt_tokens is None
    )


def was_cut(outcome: Outcome) -> bool:
    """Whether the endpoint counted so few tokens that it cannot have read the whole prompt."""
    metrics = outcome.metrics
    if metrics.estimated or not metrics.first_prompt or not metrics.prompt_characters:
        return False
    return metrics.prompt_characters / metrics.first_prompt > _CUT_RATIO


def documents_to_json(
    folder: ExperimentFolder, members: Sequence[Sequence[Outcome]]
) -> list[dict[str, Any]]:
    """Return the inputs, with the tokens that their texts take in a prompt."""
    sizes = stored_sizes(folder)
    ratio = characters_per_token(outcome for runs in members for outcome in runs)
    note = USUAL_NOTE if ratio is None else MEASURED_NOTE.format(ratio=ratio)
    rows = []
    for each in folder.definition.inputs:
        row: dict[str, Any] = asdict(each)
        size = sizes.get(each.path)
        if size is not None:
            characters = size.characters
            row |= {
                "pages": size.pages,
                "characters": characters,
                "tokens": tokens_for(characters, ratio),
                "tokensNote": note if characters is not None else size.reason,
            }
        rows.append(row)
    return rows


def tokens_for(characters: int | None, ratio: float | None) -> int | None:
    """Return the tokens of a text of this length."""
    return None if characters is None else round(characters / (ratio or _USUAL_CHARACTERS))


def _measured(workspace: Workspace, path: str) -> DocumentSize:
    try:
        with workspace.open_read(RelPath(f"input/{path}")) as file:
            document = extract_text(file, path.rpartition("/")[2])
    except WorkspaceError as error:
        return DocumentSize(path, None, None, str(error))
    return DocumentSize(path, len(document.text), document.pages)
