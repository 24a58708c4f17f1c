"""The contract of every sandbox; each implementation subclasses ``SandboxSuite``."""

import pytest

from agent.errors import SandboxError, ToolError
from agent.sandbox.base import OutputChunk, Sandbox
from agent.util.stop import Stop
from tests.contract.sandbox_files_suite import SandboxFilesSuite
from tests.contract.sandbox_helpers import (
    MEGABYTE,
    SEQ_BYTES,
    check_output,
    collect_result,
    run,
    run_until_first_output,
    touch,
    unique_duration,
)
from tests.contract.sandbox_jobs_suite import SandboxJobsSuite
from tests.support.server import wait_until


class SandboxSuite(SandboxFilesSuite, SandboxJobsSuite):
    """Subclasses provide the fixture ``sandbox``: a fresh one, with default limits."""

    # Persistent shell state

    def test_folder_variables_and_functions_persist(self, sandbox: Sandbox) -> None:
        assert check_output(sandbox, "ls") == "input\noutput"
        run(sandbox, "mkdir -p a/b && cd a/b && x=1 && export Y='two words'")
        run(sandbox, "greet() { echo \"hello $1\"; }; alias there='echo here'; list=(1 '2 3')")
        assert check_output(sandbox, "basename $PWD; echo $x $Y ${#list[@]}; greet you; there") == (
            "b\n1 two words 2\nhello you\nhere"
        )

    def test_an_activated_environment_persists(self, sandbox: Sandbox) -> None:
        check_output(sandbox, "python3 -m venv --without-pip env && . env/bin/activate")
        assert check_output(sandbox, "command -v python") == check_output(
            sandbox, "echo $PWD/env/bin/python"
        )
        check_output(sandbox, "deactivate")
        assert "env/bin" not in check_output(sandbox, "command -v python3")

    def test_shell_options_and_umask_persist(self, sandbox: Sandbox) -> None:
        run(sandbox, "set -o pipefail; shopt -s nullglob; umask 077")
        assert run(sandbox, "false | true").code == 1
        assert check_output(sandbox, "set +o pipefail; echo none*; umask") == "0077"

    def test_a_heredoc_and_many_lines_are_one_command(self, sandbox: Sandbox) -> None:
        text = "cat > f <<'END'\n$(no) `no` \\n\ttab\nEND\ncat f\necho after"
        assert check_output(sandbox, text) == "$(no) `no` \\n\ttab\nafter"
        body = "x" * 99 + "\n"
        assert check_output(sandbox, f"wc -c <<'END'\n{body * 10_000}END") == "1000000"

    def test_a_nul_character_in_a_command_is_reported(self, sandbox: Sandbox) -> None:
        with pytest.raises(ToolError, match="NUL"):
            run(sandbox, "echo a\0b")

    # Output

    def test_stdout_and_stderr_are_separate_and_unchanged(self, sandbox: Sandbox) -> None:
        command = "head -c 300000 /dev/urandom > r; cat r; tac r >&2; tac r > s; (exit 7)"
        result = run(sandbox, command)
        assert result.stdout == sandbox.read("r", limit=300_000)
        assert result.stderr == sandbox.read("s", limit=300_000)
        assert result.code == 7

    def test_beside_a_command_files_are_served_and_a_second_one_is_refused(
        self, sandbox: Sandbox
    ) -> None:
        command = "echo first; until [ -e gate ]; do sleep 0.01; done; echo second"
        items = sandbox.execute(command, timeout=30, stop=Stop())
        assert next(items) == OutputChunk("stdout", b"first\n")  # streamed before it ends
        with pytest.raises(SandboxError, match="still running"):
            run(sandbox, "echo other")
        sandbox.write("gate", b"")
        assert collect_result(items).stdout == b"second\n"

    def test_beginning_and_end_of_100_mb_are_kept(self, sandbox: Sandbox) -> None:
        result = run(sandbox, "seq 12500000; echo the end")  # 101 MB
        assert result.code == 0
        assert result.stdout.startswith(b"1\n2\n3\n")
        assert result.stdout.endswith(b"12500000\nthe end\n")
        assert 8 * MEGABYTE < len(result.stdout) < 9 * MEGABYTE
        assert len(result.stdout) + result.skipped == SEQ_BYTES + len("the end\n")

    def test_large_output_does_not_use_memory(self, sandbox: Sandbox) -> None:
        run(sandbox, f"head -c {300 * MEGABYTE} /dev/zero")
        peak = check_output(sandbox, "awk '/VmHWM/ {print $2}' /proc/$PPID/status")
        assert int(peak) < 128 * 1024, peak  # KiB

    def test_a_line_of_10_mb_works(self, sandbox: Sandbox) -> None:
        result = run(sandbox, f"head -c {10 * MEGABYTE} /dev/zero | tr '\\0' x")
        assert len(result.stdout) + result.skipped == 10 * MEGABYTE
        assert set(result.stdout) == {ord("x")}

    def test_a_background_process_holding_the_output_causes_no_delay(
        self, sandbox: Sandbox
    ) -> None:
        command = "(until [ -e gate ]; do sleep 0.01; done; echo late; touch said) & echo now"
        assert run(sandbox, command).stdout == b"now\n"
        assert run(sandbox, "touch gate; until [ -e said ]; do sleep 0.01; done").stdout == b""

    def test_a_flooding_background_process_causes_no_delay(self, sandbox: Sandbox) -> None:
        assert run(sandbox, "yes & sleep 0.1; echo there").code == 0
        assert run(sandbox, "echo next").stdout == b"next\n"
        sandbox.end_processes()

    def test_a_slow_reader_blocks_the_command_without_loss(self, sandbox: Sandbox) -> None:
        items = sandbox.execute(f"head -c {7 * MEGABYTE} /dev/zero", timeout=60, stop=Stop())
        first = next(items)
        assert isinstance(first, OutputChunk)
        assert len(first.data) + len(collect_result(items).stdout) == 7 * MEGABYTE

    # Time limits

    def test_a_time_limit_ends_the_command_and_keeps_its_output_and_state(
        self, sandbox: Sandbox
    ) -> None:
        result = run(sandbox, "x=new; cd input; echo before; sleep 1000; echo never", timeout=0.3)
        assert (result.stdout, result.code, result.end_reason) == (b"before\n", None, "timeout")
        assert "kept" in result.note
        assert check_output(sandbox, "echo $x; basename $PWD") == "new\ninput"

    def test_a_background_job_survives_a_time_limit(self, sandbox: Sandbox) -> None:
        run(sandbox, "sleep 1000 & echo $! > job")
        duration = unique_duration()
        assert run(sandbox, f"sleep {duration} | cat", timeout=0.3).end_reason == "timeout"
        assert run(sandbox, "kill -0 $(cat job)").code == 0
        assert run(sandbox, f"pgrep -f '^sleep {duration}'").code == 1

    def test_a_process_that_ignores_sigterm_is_killed(self, sandbox: Sandbox) -> None:
        command = "bash -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.1; done'"
        assert run(sandbox, command, timeout=0.5).end_reason == "timeout"
        assert run(sandbox, "kill -0 $(cat pid)").code != 0

    def test_sigterm_comes_first_so_that_a_command_can_clean_up(self, sandbox: Sandbox) -> None:
        # A loop: the signal may reach ``sleep``, whose end ends ``wait``, before it reaches bash.
        trap = 'trap "echo cleaned; exit" TERM'
        command = f"bash -c '{trap}; echo up; sleep 1000 & while :; do wait; done'"
        assert run(sandbox, command, timeout=2).stdout == b"up\ncleaned\n"

    @pytest.mark.parametrize(
        "command",
        [
            "while :; do :; done",
            "while :; do sleep 0.01; done",
            "y=$(sleep 1000)",
            "exec sleep 1000",
            "(sleep 1000; echo x) | cat",
            "mkfifo f; exec 3<f",
            "mkfifo f; read line < f",
            "sleep 1000 & wait",
        ],
    )
    def test_a_time_limit_ends_whatever_the_shell_executes(
        self, sandbox: Sandbox, command: str
    ) -> None:
        run(sandbox, "x=kept")
        assert run(sandbox, command, timeout=0.3).end_reason == "timeout"
        assert check_output(sandbox, "echo $x") == "kept"

    # Commands that affect the shell

    @pytest.mark.parametrize(
        ("command", "code", "note"),
        [
            ("exit 3", 3, "exited and has been restarted"),
            ("exec true", 0, "exited and has been restarted"),
            ("set -e; false; echo never", 1, "exited and has been restarted"),
            ("echo ${nothing?really}", 127, "exited and has been restarted"),
            ("kill -9 $$", 137, "terminated by signal 9 and has been restarted"),
            ("kill $$; sleep 10", 143, "has been restarted"),
            ("exec >&- 2>&-", 0, ""),
            ("exec > /dev/null", 0, ""),
            ("echo 'unmatched", 2, ""),
            ("if then; fi (", 2, ""),
            ("false", 1, ""),
            ("(exit 124)", 124, ""),
            ("continue", 0, ""),
            ("for i in 1 2; do break 2; done", 0, ""),
            ("break 9", 0, "exited and has been restarted"),
            ("enable -n eval", 0, ""),
            ("trap 'echo bye' EXIT; exit 4", 4, "has been restarted"),
            ('for i in $(seq 3 255); do eval "exec $i>&-"; done', 0, ""),
            ("set -C; set -u; set -f; set -x; IFS=0123456789", 0, ""),
        ],
    )
    def test_the_shell_survives(self, sandbox: Sandbox, command: str, code: int, note: str) -> None:
        run(sandbox, 'x=kept; cd input; f() { echo "f $x"; }')
        result = run(sandbox, command)
        assert (result.code, result.end_reason) == (code, "exit")
        assert note in result.note
        assert bool(result.note) == bool(note)
        result = run(sandbox, 'basename "$PWD"; f')
        assert (result.stdout, result.note) == (b"input\nf kept\n", "")

    @pytest.mark.parametrize("name", ["__studio", "__studio_text"])
    def test_an_unusable_shell_state_is_dropped(self, sandbox: Sandbox, name: str) -> None:
        run(sandbox, f"x=1; readonly {name}=1")
        result = run(sandbox, "echo ${x-gone}")
        assert (result.stdout, result.code) == (b"gone\n", 0)
        assert "are lost" in result.note
        assert "kept" not in result.note
        assert run(sandbox, "true").note == ""

    def test_variables_of_any_type_survive_a_shell_restart(self, sandbox: Sandbox) -> None:
        run(sandbox, "declare -A m=([a b]='c \"d\"'); readonly r=1; n=$'new\\nline'; unset HOME")
        run(sandbox, "x=changed; exit 3")
        shown = check_output(sandbox, 'echo "${m[a b]} $r $n ${HOME-unset} $x"')
        assert shown == 'c "d" 1 new\nline unset changed'

    def test_a_command_that_waits_for_input_gets_none(self, sandbox: Sandbox) -> None:
        assert run(sandbox, "cat; read line; echo $?").stdout == b"1\n"

    def test_a_shell_killed_between_commands_is_restarted(self, sandbox: Sandbox) -> None:
        is_dead = "grep -q '^State:.[ZX]' /proc/$$/status || [ ! -e /proc/$$ ]"
        kill_shell = f"kill -9 $$; until {is_dead}; do sleep 0.01; done; touch done"
        run(sandbox, f"x=kept; (until [ -e gate ]; do sleep 0.01; done; {kill_shell}) &")
        touch(sandbox, "gate")
        wait_until((sandbox.workspace / "done").exists)
        result = run(sandbox, "echo $x")
        assert (result.stdout, "has been restarted" in result.note) == (b"kept\n", True), result

    # Stop

    def test_stop_ends_the_command_and_keeps_the_shell(self, sandbox: Sandbox) -> None:
        run(sandbox, "x=kept")
        result = run_until_first_output(sandbox, "echo up; sleep 1000")
        assert (result.end_reason, result.code, result.stdout) == ("stop", None, b"up\n")
        stop = Stop()
        stop.set()  # earlier than the command
        assert run(sandbox, "sleep 1000", stop=stop).end_reason == "stop"
        assert check_output(sandbox, "echo $x") == "kept"

    def test_stop_ends_processes_that_left_the_group(self, sandbox: Sandbox) -> None:
        duration = unique_duration()
        run(sandbox, f"sleep {duration} & setsid sleep {duration} & (setsid sleep {duration} &)")
        ignoring_sigterm = (
            f"setsid bash -c 'trap \"\" TERM; while :; do sleep 0.1; done' {duration} & echo up"
        )
        run_until_first_output(sandbox, f"{ignoring_sigterm}; sleep {duration}")
        assert run(sandbox, f"pgrep -f {duration}$").stdout == b""

    @pytest.mark.parametrize("beside_the_shell", [False, True])
    def test_closing_the_output_ends_the_command(
        self, sandbox: Sandbox, beside_the_shell: bool
    ) -> None:
        duration = unique_duration()
        begin = sandbox.spawn if beside_the_shell else sandbox.execute
        items = begin(f"echo up; sleep {duration}", timeout=60, stop=Stop())
        next(items)
        items.close()  # type: ignore[attr-defined]
        assert run(sandbox, f"pgrep -f '^sleep {duration}'").code == 1

    def test_end_processes_ends_background_processes_and_keeps_the_shell(
        self, sandbox: Sandbox
    ) -> None:
        duration = unique_duration()
        run(sandbox, f"x=1; sleep {duration} & setsid sleep {duration} &")
        sandbox.end_processes()
        result = run(sandbox, f"pgrep -f '^sleep {duration}'; echo $x")
        assert (result.stdout, result.note) == (b"1\n", "")

    # Closing

    def test_a_closed_sandbox_raises_an_error_and_keeps_the_workspace(
        self, sandbox: Sandbox
    ) -> None:
        sandbox.write("kept", b"1")
        sandbox.close()
        sandbox.close()
        with pytest.raises(SandboxError, match="closed"):
            sandbox.read("kept", limit=1)
        assert (sandbox.workspace / "kept").exists()
