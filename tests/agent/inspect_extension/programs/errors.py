"""Errors, output limits, cancellation, connection and cleanup of the provider."""

import asyncio
import contextlib
import subprocess
from collections.abc import Awaitable

from inspect_ai.util import OutputLimitExceededError, SandboxConnection, SandboxEnvironment
from inspect_ai.util._sandbox.limits import override_max_exec_output_size

from agent.errors import SettingError
from agent.inspect_extension import StudioSandboxConfig, StudioSandboxEnvironment
from agent.inspect_extension.config import load_config

CONFIG = StudioSandboxConfig(user="agent", memory="1g")


async def raised(call: Awaitable[object]) -> Exception:
    """Return the error that a call raises."""
    try:
        await call
    except Exception as error:  # noqa: BLE001 - the caller checks its type
        return error
    raise AssertionError("nothing was raised")


async def check_commands(sandbox: SandboxEnvironment) -> None:
    missing = await sandbox.exec(["no-such-program"])
    assert (missing.success, missing.returncode) == (False, 127), missing
    nobody = await sandbox.exec(["true"], user="nobody-else")
    assert not nobody.success
    assert "nobody-else" in nobody.stderr
    nowhere = await sandbox.exec(["true"], cwd="/no/such/folder")
    assert not nowhere.success
    assert "/no/such/folder" in nowhere.stderr
    builtin = await sandbox.exec(["echo", "$HOME"], env={"HOME": "/x"})
    assert builtin.stdout == "$HOME\n"
    # A program that itself says so is not an error of the provider.
    denied = await sandbox.exec(["bash", "-c", "echo '/x: Permission denied' >&2; exit 126"])
    assert denied.returncode == 126


async def check_limits(sandbox: SandboxEnvironment) -> None:
    with override_max_exec_output_size(1000):
        error = await raised(sandbox.exec(["bash", "-c", "yes | head -c 5000"]))
    assert isinstance(error, OutputLimitExceededError)
    assert error.truncated_output == "y\n" * 500
    error = await raised(sandbox.exec(["bash", "-c", "yes | head -c 20000000"]))
    assert isinstance(error, OutputLimitExceededError)
    assert len(error.truncated_output or "") == 10 * 1024**2
    await sandbox.write_file("data.bin", b"\xff\xfe")
    assert isinstance(await raised(sandbox.read_file("data.bin")), UnicodeDecodeError)
    await sandbox.write_file("lines.txt", "a\r\nb\r\n")
    assert await sandbox.read_file("lines.txt") == "a\r\nb\r\n"


async def check_cancellation(sandbox: SandboxEnvironment) -> None:
    task = asyncio.create_task(sandbox.exec(["bash", "-c", "touch begun; sleep 987654"]))
    while not (await sandbox.exec(["test", "-e", "begun"])).success:
        assert not task.done()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    while "987654" in (await sandbox.exec(["ps", "-ef"])).stdout:
        await asyncio.sleep(0.05)


def check_connection(connection: SandboxConnection) -> None:
    assert connection.type == "studio"
    command = connection.command.replace("--tty", "") + " -c 'whoami; pwd'"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["agent", "/workspace"], result


async def main() -> None:
    await StudioSandboxEnvironment.task_init("errors", CONFIG)
    environments = await StudioSandboxEnvironment.sample_init("errors", CONFIG, {})
    sandbox = environments["default"]
    await check_commands(sandbox)
    await check_limits(sandbox)
    await check_cancellation(sandbox)
    check_connection(await sandbox.connection())
    await sandbox.exec(["sh", "-c", "umask 077; echo secret > /tmp/secret"], user="root")
    assert isinstance(await raised(sandbox.read_file("/tmp/secret")), PermissionError)
    await StudioSandboxEnvironment.sample_cleanup("errors", CONFIG, environments, True)
    assert isinstance(await raised(sandbox.connection()), ConnectionError)

    # Left running where the user asks for it, until they remove it.
    environments = await StudioSandboxEnvironment.sample_init("errors", CONFIG, {})
    await StudioSandboxEnvironment.task_cleanup("errors", CONFIG, False)
    check_connection(await environments["default"].connection())
    await StudioSandboxEnvironment.task_init("errors", CONFIG)
    await StudioSandboxEnvironment.task_cleanup("errors", CONFIG, True)

    error = await raised(asyncio.to_thread(load_config, "compose.yaml"))
    assert isinstance(error, SettingError)
    assert "compose.yaml is not a configuration of the sandbox" in str(error)
    print("all as documented")


asyncio.run(main())
