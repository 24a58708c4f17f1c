"""The studio's sandbox as an Inspect ``SandboxEnvironment``: ``--sandbox studio``."""

import contextlib
import errno
import os
import re
import shlex
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

import anyio
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxConnection,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from inspect_ai.util import (
    concurrency as limit_concurrency,
)
from inspect_ai.util._subprocess import max_subprocesses_context_var
from pydantic import BaseModel

from agent.api.sandbox import CommandResult, Sandbox
from agent.errors import CommandError, SandboxError
from agent.inspect_extension import studios
from agent.inspect_extension.commands import run_program
from agent.inspect_extension.config import CONFIG_FILE, StudioSandboxConfig, load_config
from agent.inspect_extension.files import UserFiles
from agent.sandbox.docker.lifecycle import SANDBOX_LABEL
from agent.settings import Settings, load
from agent.tools.toolbox import Toolbox
from agent.util.stop import Stop
from agent.util.text import plural

T = TypeVar("T")

_NO_TIMEOUT = 30 * 24 * 3600.0
_KILLED = 137
_CREATE_USER = (
    'id -u "$1" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$1" || exit 1; '
    'chown "$1" /workspace /workspace/*'
)


async def in_thread(call: Callable[[], T], stop: Stop | None = None) -> T:
    """Call a function in a thread of its own; where the await is cancelled, set ``stop``."""
    try:
        return await anyio.to_thread.run_sync(
            call, abandon_on_cancel=stop is not None, limiter=anyio.CapacityLimiter(1)
        )
    except anyio.get_cancelled_exc_class():
        if stop is not None:
            stop.set()
        raise


@sandboxenv(name="studio")
class StudioSandboxEnvironment(SandboxEnvironment):
    """A sample's sandbox: a container of the studio, with its limits and network policy."""

    def __init__(self, sandbox: Sandbox, config: StudioSandboxConfig, settings: Settings) -> None:
        super().__init__()
        self.sandbox = sandbox
        self._config, self._settings = config, settings
        self._files = UserFiles(sandbox, "" if config.user == "root" else config.user)
        self._closed = False

    def toolbox(self) -> Toolbox:
        """Return the three tools of a run, for this sandbox."""
        return self.sandbox.toolbox(command_seconds=self._settings.command_timeout)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command; see ``SandboxEnvironment.exec``.

        A command that ran into its time limit is not repeated: what it did would be done twice. An
        unknown user or folder is a failed result. The error of an output above the limit has its
        beginning.
        """
        del timeout_retry
        stop = Stop()

        def run() -> CommandResult:
            return run_program(
                self.sandbox,
                cmd,
                timeout=timeout or _NO_TIMEOUT,
                cwd=cwd or "",
                env=env,
                data=input.encode() if isinstance(input, str) else input or b"",
                user=user or self._config.user,
                stop=stop,
            )

        slot = (
            limit_concurrency("subprocesses", max_subprocesses_context_var.get(), resizable=True)
            if concurrency
            else contextlib.nullcontext()
        )
        try:
            async with slot:
                result = await in_thread(run, stop)
        except CommandError as error:
            if error.errno == errno.EPERM:
                raise SandboxUserUnsupportedError(str(error)) from error
            return ExecResult(False, 126, "", f"{error}\n")
        except SandboxError as error:
            raise SandboxUnavailableError(str(error)) from error
        return _exec_result(cmd, result, timeout)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file as the configured user; see ``SandboxEnvironment.write_file``."""
        data = contents.encode() if isinstance(contents, str) else contents
        await self._on_files(lambda: self._files.write(file, data), file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file as the configured user; see ``SandboxEnvironment.read_file``."""
        limit, limit_text = (
            SandboxEnvironmentLimits.MAX_READ_FILE_SIZE,
            SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR,
        )
        try:
            data = await self._on_files(lambda: self._files.read(file, limit), file)
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise OutputLimitExceededError(limit_text, None) from error
            raise
        return data.decode("utf-8") if text else data

    async def _on_files(self, call: Callable[[], T], file: str) -> T:
        """Call a file operation, and raise Python's own error for what it refuses."""
        try:
            return await in_thread(call)
        except CommandError as error:
            number = error.errno or errno.EIO
            number = errno.ENOENT if number == errno.ENOTDIR else number
            raise OSError(number, os.strerror(number), file) from error
        except SandboxError as error:
            raise SandboxUnavailableError(str(error)) from error

    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        """Return the command that opens a shell in the container."""
        if self._closed:
            raise ConnectionError("The sandbox was closed when its sample ended.")
        engine = f"DOCKER_HOST={shlex.quote(self._settings.docker_host)} "
        find = f"docker ps --quiet --filter label={SANDBOX_LABEL}={self.sandbox.id}"
        command = (
            f"{engine if self._settings.docker_host else ''}docker exec --interactive --tty "
            f"--user {shlex.quote(user or self._config.user)} $({find}) bash --login"
        )
        return SandboxConnection(type="studio", command=command)

    def default_polling_interval(self) -> float:
        """Return the seconds between two polls: a command takes milliseconds to start."""
        return 0.2

    async def close(self) -> None:
        """Remove the container and its files."""
        self._closed = True
        await in_thread(self.sandbox.close)

    @classmethod
    def default_concurrency(cls) -> int | None:
        """Return the number of sandboxes at a time: two for each processor, as for Docker."""
        return 2 * (os.cpu_count() or 1)

    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Check the configuration and open the studio."""
        del task_name
        await in_thread(lambda: studios.open_studio(_settings(load_config(config))))

    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        metadata: dict[str, str],
    ) -> dict[str, SandboxEnvironment]:
        """Start the sample's sandbox."""
        del task_name, metadata
        options = load_config(config)
        settings = _settings(options)
        studio = studios.find_studio(settings)
        with anyio.CancelScope(shield=True):  # a sandbox that has started must be known to close
            sandbox = await in_thread(lambda: studio.sandbox(network=options.network))
        environment = cls(sandbox, options, settings)
        try:
            await environment._create_user()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await environment.close()
            raise
        return {"default": environment}

    async def _create_user(self) -> None:
        name = self._config.user
        if name == "root":
            return
        result = await self.exec(["sh", "-c", _CREATE_USER, "sh", name], user="root", timeout=60)
        if not result.success:
            raise SandboxError(f"The user {name} cannot be created: {result.stderr.strip()}")

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Remove the sample's sandbox, also where the evaluation was interrupted."""
        del task_name, config, interrupted
        with anyio.CancelScope(shield=True):
            for environment in environments.values():
                await environment.as_type(StudioSandboxEnvironment).close()

    @classmethod
    async def task_cleanup(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, cleanup: bool
    ) -> None:
        """Close the studio after its last task; without ``cleanup``, leave its sandboxes."""
        del task_name
        settings = _settings(load_config(config))
        if not cleanup:
            print(
                "The sandboxes are left running until the next evaluation. To remove them now: "
                "inspect sandbox cleanup studio"
            )
        with anyio.CancelScope(shield=True):
            await in_thread(lambda: studios.close_studio(settings, keep=not cleanup))

    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Remove one sandbox, or all that ended evaluations have left."""
        settings = _settings(StudioSandboxConfig())
        removed = await in_thread(lambda: studios.remove_leftovers(settings, id))
        print(f"{plural(removed, 'sandbox', 'sandboxes')} removed.")

    @classmethod
    def config_files(cls) -> list[str]:
        """Return the name of the file that Inspect finds beside a task."""
        return [CONFIG_FILE]

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """Return the configuration from a log."""
        return StudioSandboxConfig.model_validate(config)


def _settings(config: StudioSandboxConfig) -> Settings:
    limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
    return config.apply(studios.evaluation_settings(load(), limit))


def _exec_result(cmd: list[str], result: CommandResult, timeout: int | None) -> ExecResult[str]:
    """Convert a result to Inspect's, or raise its errors."""
    if result.end_reason == "timeout":
        raise TimeoutError(f"The command took longer than {timeout} seconds and was ended.")
    if result.end_reason == "lost":
        raise SandboxUnavailableError("The sandbox was lost while the command ran.")
    limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
    for data in (result.stdout_bytes, result.stderr_bytes):
        if len(data) > limit or (result.skipped and len(data) > limit // 2):
            text = data[:limit].decode("utf-8", "replace")
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, text)
    if result.exit_code == 126 and _is_permission_error(cmd, result.stderr):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), cmd[0])
    code = _KILLED if result.exit_code is None else result.exit_code
    note = f"{result.note}\n" if result.note else ""
    return ExecResult(code == 0, code, result.stdout, result.stderr + note)


def _is_permission_error(cmd: list[str], stderr: str) -> bool:
    """Return whether the shell that starts the program reports that it may not be executed."""
    pattern = (
        rf"bash: line \d+: (exec: )?{re.escape(cmd[0])}: .*([Pp]ermission denied|annot exec).*"
    )
    last = stderr.strip().splitlines()[-1:]
    return bool(last and re.fullmatch(pattern, last[0]))
