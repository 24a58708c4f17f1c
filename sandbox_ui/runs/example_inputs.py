"""Input files of the examples, for runs of an example's task."""

from agent import examples
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import copy_in


def copy_example_inputs(workspace: Workspace, task: str) -> None:
    """Copy the files that an example's task refers to into a draft's ``input/``."""
    example = examples.find(task)
    if example is None:
        return
    with example.input_files() as paths:
        for path in paths:
            copy_in(workspace, path, RelPath("input"))
