"""Out-of-scope tasks: the built-in model must refuse them and create no files."""

from agent.tasks.file_tasks.sampler import DraftFactory, TaskSampler
from agent.tasks.file_tasks.task import FileTaskDraft, output_files


def out_of_scope_task(sampler: TaskSampler) -> FileTaskDraft:
    """Generate an out-of-scope task, sometimes with input files."""
    for slot in ("topic", "program", "language", "fact_question", "chat"):
        if sampler.has_slot(slot):
            sampler.slots[slot] = sampler.sample(slot)
    if sampler.has_slot("phrase"):
        sampler.slots["phrase"] = sampler.quote(sampler.sample("phrase"))
    if not sampler.rng.randbelow(5):
        sampler.add_unrelated_files()
    return FileTaskDraft((), files_check=lambda files: not output_files(files))


_KINDS = ("essay", "research", "translate", "code", "knowledge", "chat")
FAMILIES: dict[str, dict[str, DraftFactory]] = {"outside": dict.fromkeys(_KINDS, out_of_scope_task)}
