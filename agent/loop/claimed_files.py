"""Check that the files a model claims to have created exist."""

import re

from agent.errors import ToolError
from agent.loop.failures import FALSE_CLAIM
from agent.sandbox.base import Sandbox

_DONE_PATTERN = re.compile(r"^Done: (output/\S*)\s*$", re.MULTILINE)


def check_claimed_files(message: str, sandbox: Sandbox) -> str:
    """Check the built-in model's last message, ``Done: PATH``.

    Returns a sentence that names the first missing or empty file; an empty string if none is.
    """
    for path in _DONE_PATTERN.findall(message):
        if problem := _file_problem(path, sandbox):
            return FALSE_CLAIM.format(path=path, problem=problem)
    return ""


def _file_problem(path: str, sandbox: Sandbox) -> str:
    kind = sandbox.kind(path)
    if kind == "missing":
        return "it does not exist"
    if kind == "folder":
        return "" if sandbox.list_folder(path, depth=1, limit=1) else "it is empty"
    try:
        return "" if sandbox.read(path, limit=1) else "it is empty"
    except ToolError:  # more than one byte
        return ""
