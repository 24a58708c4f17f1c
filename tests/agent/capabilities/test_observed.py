"""What a call used: what was observed while it ran outweighs what its text says."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent import Settings, Studio, load_settings
from agent.capabilities.observed import call_usage
from agent.capabilities.parsed import CallReader
from agent.capabilities.usage import CapabilityUsage, rates
from agent.events import ToolEnded, decode, encode
from agent.models.base import ToolCall
from agent.sandbox.network.policy import NetworkRequest
from agent.train.rollouts.sandboxes import ProcessSandboxProvider
from tests.agent.api.conftest import bash, call, script
from tests.support.models.scripted import ScriptedModel, ScriptedTurn

WHEEL = """
python3 - <<'EOF'
import zipfile
with zipfile.ZipFile("lake-1.2-py3-none-any.whl", "w") as wheel:
    wheel.writestr("lake.py", "DEPTH = 4\\n")
    info = "lake-1.2.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: lake\\nVersion: 1.2\\n")
    tags = "Root-Is-Purelib: true\\nTag: py3-none-any\\n"
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\n" + tags)
    wheel.writestr(info + "RECORD", "")
EOF
pip install -q --no-index ./lake-1.2-py3-none-any.whl
"""
BUSY = "python3 -c 'n = 0\nfor i in range(15_000_000): n += i * i\nprint(n)'"


def usage(command: str, **observed: object) -> CapabilityUsage:
    arguments = {"command": command}
    return call_usage(CallReader(), "execute_bash", arguments, ok=True, **observed)  # type: ignore[arg-type]


def request(host: str, refused: str = "") -> NetworkRequest:
    return NetworkRequest(1.0, host, 443, 1000, 10, refused)


def test_answered_requests_and_packages_are_observed_and_a_refused_request_is_an_attempt() -> None:
    found = usage("./tool", requests=[request("example.org")], packages=["numpy 2.1.0"])
    assert (found.external, found.hosts, found.received) == ("observed", ("example.org",), 1000)
    assert usage("./setup.sh", packages=["numpy 2.1.0"]).external == "observed"
    assert found.packages == ("numpy 2.1.0",)
    refused = usage("curl https://example.org", requests=[request("example.org", "not permitted")])
    assert (refused.external, refused.received) == ("parsed", None)


@pytest.mark.parametrize(
    ("command", "seconds", "expected"),
    [
        ("python3 -c 'print(2 * 3)'", 0.02, "parsed"),
        ("python3 -c 'print(2 * 3)'", 0.9, "observed"),
        ("python3 -c 'print(2 * 3)'", None, "parsed"),
        ("./a.out", 2.0, "observed"),
        ("./a.out", 0.01, None),
        ("grep -r word .", 2.0, None),
        ("pip install numpy", 9.0, None),
    ],
)
def test_cpu_time_shows_computation_by_programs_that_may_compute(
    command: str, seconds: float | None, expected: str | None
) -> None:
    assert usage(command, cpu_seconds=seconds).compute == expected


def test_a_file_that_the_editor_shows_is_read() -> None:
    arguments = {"command": "view", "path": "input/a.txt"}
    shown = call_usage(CallReader(), "str_replace_editor", arguments, ok=True)
    assert (shown.file, shown.read) == ("observed", ("input/a.txt",))
    failed = call_usage(CallReader(), "str_replace_editor", arguments, ok=False)
    assert (failed.file, failed.read) == ("parsed", None)


def test_names_from_a_command_are_short_single_lines() -> None:
    found = usage("'a\nb" + "c" * 500 + "'; " + "; ".join(f"p{n}" for n in range(100)))
    assert len(found.programs) == 16
    assert all("\n" not in name and len(name) <= 80 for name in found.programs)


def test_a_call_of_an_earlier_version_has_no_usage() -> None:
    line = (
        b'{"kind":"tool_ended","at":1,"step":1,"call_id":"a","name":"execute_bash","ok":true,'
        b'"exit_code":0,"end_reason":"exit","seconds":0.1,"observation":"x"}'
    )
    event = decode(line)
    assert isinstance(event, ToolEnded)
    assert (event.used, event.cpu_seconds, event.packages) == (None, None, ())
    again = replace(event, used=usage("curl https://example.org"))
    assert decode(encode(again)) == again


@pytest.mark.contract
def test_each_step_of_a_run_says_what_it_used(tmp_path: Path) -> None:
    """In a sandbox without a container, neither CPU time nor packages are known."""
    settings = replace(load_settings({}), data=tmp_path / "data", warm_sandboxes=0)
    create = call("str_replace_editor", command="create", path="a.py", file_text="print(6 * 7)")
    failing = call("str_replace_editor", command="view", path="missing.txt")
    unknown = ScriptedTurn(calls=(ToolCall("", "no_such_tool", "{}"),))
    model = ScriptedModel(
        [create, bash("python3 a.py"), failing, unknown, bash("echo 1"), call("submit")]
    )
    with Studio(settings, ProcessSandboxProvider) as studio, studio.run("Go.", model=model) as run:
        run.wait()
        steps = run.recorded.state.steps
    used = [step.used for step in steps if step.used]
    assert [(each.file, each.compute) for each in used] == [
        ("observed", None), (None, "parsed"), ("parsed", None), (None, None), (None, None),
        (None, None),
    ]  # fmt: skip
    assert [each.read for each in used] == [None] * 6  # the view failed
    assert used[0].written == 1
    assert (used[1].programs, used[1].cpu_seconds) == (("python3",), None)
    found = rates(used)
    assert found is not None
    assert found.ours.file == pytest.approx(2 / 6)


@pytest.fixture
def settings(tmp_path: Path, image: str) -> Settings:
    return replace(load_settings(), data=tmp_path / "data", warm_sandboxes=0, image=image)


@pytest.mark.contract
@pytest.mark.engine
def test_a_container_shows_cpu_time_packages_and_files(settings: Settings) -> None:
    model = script(bash(WHEEL), bash(BUSY), bash("ls"), bash("echo text > output/a.txt"))
    with Studio(settings) as studio, studio.run("Go.", model=model) as run:
        run.wait()
        steps = run.recorded.state.steps
    used = [step.used for step in steps if step.used]
    wheel, busy, listing, written, submit = used
    assert (wheel.external, wheel.packages) == ("observed", ("lake 1.2",))
    assert (busy.compute, busy.packages) == ("observed", ())
    assert 0.3 < (busy.cpu_seconds or 0) < 60
    assert (listing.file, listing.compute) == ("parsed", None)
    assert listing.cpu_seconds is not None
    assert listing.cpu_seconds < 0.5
    assert (written.file, written.written) == ("observed", 1)
    assert submit == CapabilityUsage(cpu_seconds=submit.cpu_seconds)
