"""Set up a run from a task: copy its input files and build the prompt."""

from collections.abc import Iterator
from contextlib import closing

from agent import prompts
from agent.errors import TaskError, WorkspaceError
from agent.events import Mode
from agent.runs.recorder import Task
from agent.tasks.task import Content, FileAt, Problem, shown
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.uploads import check_room

ANSWER = RelPath("output/answer.txt")

_CHUNK = 1024**2
_FORMS = {
    "single_choice": "The answer is one capital letter.",
    "multiple_choice": "The answer is the capital letters of all that are right, such as: A, C",
}


def lay(problem: Problem, workspace: Workspace) -> None:
    """Write a task's files to ``input/`` in a workspace that has none of them yet.

    Raises:
        TaskError: a file cannot be read or written, or exists; names the task and the file.
    """
    for name, content in problem.input_files.items():
        try:
            path = RelPath(f"input/{name}")
            check_room(workspace, path, _size(content), floor=0)
            written = workspace.write(path, _chunks(content))
        except WorkspaceError as error:
            raise TaskError(f"{shown(problem.id)}: input_files[{shown(name)}]: {error}") from error
        if written != path:
            raise TaskError(f"{shown(problem.id)}: input_files[{shown(name)}] is there already.")


def task_of(problem: Problem, mode: Mode = "sandbox") -> Task:
    """Build the run's task: the question, where the files are, and where to answer."""
    asked = [problem.problem_statement, _FORMS.get(problem.qa_type, "")]
    if mode == "sandbox":
        if problem.input_files:
            asked.append(f"The documents are in {prompts.INPUT_DIR}.")
        asked.append(f"Write the answer and nothing else to {prompts.OUTPUT_DIR}/{ANSWER.name}.")
    else:
        asked.append("Reply with the answer and nothing else.")
    text = "\n\n".join([asked[0], " ".join(part for part in asked[1:] if part)])
    return Task(text, prompts.named("general"), mode)


def _size(content: Content) -> int:
    if isinstance(content, FileAt):
        with content.open() as file:
            return file.seek(0, 2)
    return len(content if isinstance(content, bytes) else content.encode())


def _chunks(content: Content) -> Iterator[bytes]:
    if isinstance(content, FileAt):
        with closing(content.open()) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    else:
        yield content if isinstance(content, bytes) else content.encode()
