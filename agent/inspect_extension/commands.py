"""Commands and inputs of any size: what is too large for one message goes through a file."""

import shlex
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from agent.api.sandbox import CommandResult, Sandbox
from agent.util.stop import Stop

_MAX_COMMAND_BYTES = 100_000
"""An argument of a program has at most 128 KiB on Linux, and the command is bash's argument."""
_MAX_INPUT_BYTES = 16 * 1024**2


def run_program(
    sandbox: Sandbox,
    program: Sequence[str],
    *,
    timeout: float,
    cwd: str,
    env: Mapping[str, str] | None,
    data: bytes,
    user: str,
    stop: Stop,
) -> CommandResult:
    """Run a program, which the sandbox's ``PATH`` finds, and return its result."""
    command = f"exec -- {shlex.join(program)}"
    with ExitStack() as files:

        def store(content: bytes) -> str:
            path = f"/tmp/.inspect-{uuid.uuid4().hex}"
            files.callback(sandbox.remove, path)
            sandbox.write(path, content)
            return path

        if len(data) > _MAX_INPUT_BYTES:
            command, data = f"{command} < {store(data)}", b""
        text = command.encode("utf-8", "surrogateescape")
        if len(text) > _MAX_COMMAND_BYTES:
            command = f". {store(text)}"
        return sandbox.run(
            command, timeout=timeout, cwd=cwd, env=env, input=data, user=user, stop=stop
        )
