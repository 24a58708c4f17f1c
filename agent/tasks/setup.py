"""Set up a run from a task: copy its input files and build the prompt."""

from collections.abc import Mapping

from agent import prompts
from agent.errors import TaskError, WorkspaceError
from agent.events import Mode
from agent.runs.recorded_run import Task
from agent.tasks.task import Content, TaskRecord, chunks_of, size_of
from agent.util.text import quote
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.uploads import check_space

ANSWER_PATH = RelPath("output/answer.txt")

_ANSWER_FORMATS = {
    "single_choice": "The answer is one capital letter.",
    "multiple_choice": "The answer is the capital letters of all that are right, such as: A, C",
}


def write_inputs(task: TaskRecord, workspace: Workspace) -> None:
    """Write a task's files to ``input/`` in a workspace; a ``TaskError`` names task and file."""
    write_files(task.id, task.input_files, workspace)


def write_files(task: str, files: Mapping[str, Content], workspace: Workspace) -> None:
    """Write files by relative path to ``input/`` in a workspace; see ``write_inputs``."""
    for name, content in files.items():
        try:
            path = RelPath(f"input/{name}")
            check_space(workspace, path, size_of(content), min_free=0)
            written = workspace.write(path, chunks_of(content))
        except WorkspaceError as error:
            raise TaskError(f"{quote(task)}: input_files[{quote(name)}]: {error}") from error
        if written != path:
            raise TaskError(f"{quote(task)}: input_files[{quote(name)}] already exists.")


def build_task(task: TaskRecord, mode: Mode = "sandbox") -> Task:
    """Build the run's task: the question, where the files are, and where to answer."""
    sentences = [task.problem_statement, _ANSWER_FORMATS.get(task.qa_type, "")]
    if mode == "sandbox":
        if task.input_files:
            sentences.append(f"The documents are in {prompts.INPUT_DIR}.")
        sentences.append(
            f"Write the answer and nothing else to {prompts.OUTPUT_DIR}/{ANSWER_PATH.name}."
        )
    else:
        sentences.append("Reply with the answer and nothing else.")
    text = "\n\n".join([sentences[0], " ".join(part for part in sentences[1:] if part)])
    return Task(text, prompts.get_bundled("general"), mode)
