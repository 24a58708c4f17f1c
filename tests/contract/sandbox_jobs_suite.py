"""The contract of every sandbox for jobs: commands in separate processes beside the shell."""

import errno
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agent.errors import ToolError
from agent.sandbox.base import Sandbox
from agent.util.stop import Stop
from tests.contract.sandbox_helpers import (
    MEGABYTE,
    Result,
    check_output,
    collect_result,
    run,
    unique_duration,
)
from tests.support.server import wait_until


def run_job(
    sandbox: Sandbox, command: str, timeout: float = 30.0, stop: Stop | None = None, **options: Any
) -> Result:
    """Run a command beside the shell until it ends."""
    return collect_result(sandbox.spawn(command, timeout=timeout, stop=stop or Stop(), **options))


class SandboxJobsSuite:
    def test_a_job_has_the_given_folder_variables_and_input(self, sandbox: Sandbox) -> None:
        result = run_job(
            sandbox, "pwd; echo $A; cat", cwd="/tmp", env={"A": "two words"}, input=b"in\0put"
        )
        assert (result.stdout, result.stderr, result.code) == (b"/tmp\ntwo words\nin\0put", b"", 0)

    def test_a_job_starts_in_the_workspace_without_input_by_default(self, sandbox: Sandbox) -> None:
        assert run_job(sandbox, "ls; cat; echo no >&2; exit 3").stdout == b"input\noutput\n"
        assert run_job(sandbox, "echo no >&2; exit 3").stderr == b"no\n"
        assert run_job(sandbox, "exit 3").code == 3
        assert run_job(sandbox, "kill -9 $$").code == 137

    def test_a_job_neither_sees_nor_changes_the_shell(self, sandbox: Sandbox) -> None:
        run(sandbox, "x=1; export X=2; cd input")
        assert run_job(sandbox, "echo $x$X; x=3; cd /tmp").stdout == b"\n"
        assert check_output(sandbox, "echo $x; basename $PWD") == "1\ninput"

    def test_eight_jobs_and_the_shell_run_concurrently(self, sandbox: Sandbox) -> None:
        names = [f"gate{number}" for number in range(8)]
        await_all = " && ".join(f"[ -e {name} ]" for name in names)
        meet = f"until {await_all}; do sleep 0.02; done"
        with ThreadPoolExecutor(9) as threads:
            jobs = [
                threads.submit(run_job, sandbox, f"touch {name}; {meet}; echo {name}")
                for name in names
            ]
            assert run(sandbox, f"{meet}; echo shell").stdout == b"shell\n"
            assert [each.result().stdout.decode().strip() for each in jobs] == names

    def test_a_time_limit_ends_a_job_with_its_children_and_nothing_else(
        self, sandbox: Sandbox
    ) -> None:
        duration, other = unique_duration(), unique_duration()
        run(sandbox, f"x=kept; sleep {other} &")
        result = run_job(sandbox, f"echo up; sleep {duration} & sleep {duration}", timeout=0.5)
        assert (result.stdout, result.code, result.end_reason) == (b"up\n", None, "timeout")
        assert run(sandbox, f"pgrep -f '^sleep {duration}'").code == 1
        assert run(sandbox, f"pgrep -f '^sleep {other}'; echo $x").stdout.endswith(b"kept\n")

    def test_a_stop_ends_only_its_job(self, sandbox: Sandbox) -> None:
        stop, late = Stop(), unique_duration()
        with ThreadPoolExecutor(2) as threads:
            other = threads.submit(
                run_job, sandbox, "until [ -e gate ]; do sleep 0.02; done; echo on"
            )
            stopped = threads.submit(run_job, sandbox, f"touch up; sleep {late}", stop=stop)
            run_job(sandbox, "until [ -e up ]; do sleep 0.02; done")
            stop.set()
            assert stopped.result().end_reason == "stop"
            assert run(sandbox, f"pgrep -f '^sleep {late}'").code == 1
            run(sandbox, "touch gate")
            assert other.result().stdout == b"on\n"

    def test_long_input_and_output_pass_within_limits(self, sandbox: Sandbox) -> None:
        result = run_job(sandbox, "wc -c; head -c 20000000 /dev/zero", input=b"x" * 20 * MEGABYTE)
        assert result.stdout.startswith(b"20971520\n")
        assert len(result.stdout) + result.skipped == 20_000_000 + 9
        assert result.skipped > 0
        with pytest.raises(ToolError, match="too long") as error:
            run_job(sandbox, "cat", input=b"x" * 33 * MEGABYTE)
        assert error.value.errno == errno.E2BIG

    @pytest.mark.parametrize(
        ("options", "number", "words"),
        [
            ({"cwd": "nowhere"}, errno.ENOENT, "nowhere does not exist"),
            ({"cwd": "/etc/passwd"}, errno.ENOTDIR, "is not a folder"),
            ({"user": "nobody-there"}, errno.EINVAL, "There is no user nobody-there"),
            ({"env": {"A": "b\0c"}}, errno.EINVAL, "NUL"),
            ({"env": {"A=B": "c"}}, errno.EINVAL, "contains “=”"),
        ],
    )
    def test_a_job_that_cannot_start_reports_its_errno(
        self, sandbox: Sandbox, options: dict[str, Any], number: int, words: str
    ) -> None:
        with pytest.raises(ToolError, match=words) as error:
            run_job(sandbox, "true", **options)
        assert error.value.errno == number
        assert run_job(sandbox, "echo on").stdout == b"on\n"

    def test_hundreds_of_commands_and_jobs_leak_no_descriptors(self, sandbox: Sandbox) -> None:
        def descriptors() -> str:
            return check_output(sandbox, "ls /proc/$PPID/fd | wc -l")

        before = descriptors()
        for _ in range(200):
            run(sandbox, "true")
            run_job(sandbox, "true", input=b"x")
        run(sandbox, "exit")
        run(sandbox, "sleep 9", timeout=0.1)
        with pytest.raises(ToolError):
            run_job(sandbox, "true", cwd="nowhere")
        wait_until(lambda: descriptors() == before)  # the last job's are being closed
