"""Generate file tasks from a seed: a kind's draft, worded with a template.

The split ``parameters`` has held-out names, values and numbers, ``wording`` held-out wordings.
"""

from collections.abc import Iterator, Mapping

from agent.errors import TaskError
from agent.tasks.document_qa.rng import Rng
from agent.tasks.file_tasks import checks
from agent.tasks.file_tasks.families import arithmetic, documents, out_of_scope, tables, texts
from agent.tasks.file_tasks.sampler import DraftFactory, TaskSampler
from agent.tasks.file_tasks.task import REFUSAL, FileTask, FileTaskDraft, Split
from agent.tasks.file_tasks.wording import Part, decorate, expand_choices, load_wordings

FAMILIES: Mapping[str, Mapping[str, DraftFactory]] = {
    **texts.FAMILIES,
    **tables.FAMILIES,
    **arithmetic.FAMILIES,
    **documents.FAMILIES,
    **out_of_scope.FAMILIES,
}
_MAX_ATTEMPTS = 200


def families() -> tuple[str, ...]:
    """Return the families of file tasks; the model must refuse tasks of ``outside``."""
    return tuple(FAMILIES)


def kinds(family: str) -> tuple[str, ...]:
    """Return the kinds of a family."""
    return tuple(FAMILIES[family])


def generate_file_tasks(
    split: Split, count: int, seed: int, family: str = ""
) -> Iterator[FileTask]:
    """Generate distinct file tasks, of all families in turn or one; ``TaskError`` if too few."""
    if family and family not in FAMILIES:
        raise TaskError(f"family: there is none named {family!r}; {', '.join(families())}.")
    selected_families = [family] if family else families()
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for number in range(count):
        name = selected_families[number % len(selected_families)]
        kind = kinds(name)[number // len(selected_families) % len(kinds(name))]
        yield _generate_one(name, kind, split, f"{seed}-{number:05}", seen)


def _generate_one(
    family: str, kind: str, split: Split, number: str, seen: set[tuple[str, tuple[str, ...]]]
) -> FileTask:
    for attempt in range(_MAX_ATTEMPTS):
        rng = Rng("chore", family, kind, split, number, attempt)
        task = _build_task(family, kind, split, rng, f"{family}-{kind}-{split}-{number}")
        key = (task.text, tuple(task.input_files))
        if key not in seen:
            seen.add(key)
            return task
    raise TaskError(f"{family}: there are not that many different tasks of the kind {kind}.")


def _build_task(family: str, kind: str, split: Split, rng: Rng, name: str) -> FileTask:
    wording_part: Part = "held_out" if split == "wording" else "train"
    # Values identify an out-of-scope task, so a held-out wording gets held-out values too.
    held_out_values = split == "parameters" or (split == "wording" and family == "outside")
    part: Part = "held_out" if held_out_values else "train"
    template = expand_choices(rng.choice(load_wordings(wording_part)[family][kind]), rng)
    sampler = TaskSampler(rng, part, wording_part, template)
    draft = FAMILIES[family][kind](sampler)
    for clause in ("to", "then", "range"):
        if not sampler.slots[clause]:
            template = template.replace(f"{{{clause}}}", "")
    text = decorate(template, rng, wording_part).format_map(sampler.slots)
    return FileTask(
        id=name,
        family=family,
        kind=kind,
        text=text,
        input_files=dict(sorted(sampler.files.items())),
        commands=draft.commands,
        stdout=draft.stdout,
        reply=f"Done: {sampler.out_path or 'output/'}" if draft.commands else REFUSAL,
        check=_solution_check(draft, sampler),
    )


def _solution_check(draft: FileTaskDraft, sampler: TaskSampler) -> checks.FilesCheck:
    if draft.files_check is not None:
        return draft.files_check
    if draft.content_check is None:
        raise TaskError("A draft says neither what its file nor what its files must be.")
    return checks.output_file(
        sampler.out_path, draft.content_check, exact_path=sampler.path_is_given
    )
