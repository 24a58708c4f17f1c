"""The shell and its supervisor in a process sandbox, and hostile supervisors."""

import itertools
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent.errors import SandboxError
from agent.sandbox import supervised
from agent.sandbox.base import CommandEnd, OutputChunk, SandboxLimits
from agent.sandbox.client import files, shell
from agent.sandbox.client.link import Link, LinkLost
from agent.sandbox.client.transport import Connection, EngineConnection
from agent.sandbox.process import ProcessSandbox
from agent.sandbox.supervisor import frames
from agent.util.stop import Stop
from tests.contract.sandbox_helpers import check_output, run
from tests.contract.sandbox_suite import SandboxSuite
from tests.support.threads import call_at_once

pytestmark = pytest.mark.contract


class TestProcessSandbox(SandboxSuite):
    """The contract suite for the process sandbox."""


@pytest.mark.parametrize(
    ("command", "translated"),
    [
        ("cat /workspace/input/a", "cat {home}/input/a"),
        ("cd /workspace&&ls '/workspace'", "cd {home}&&ls '{home}'"),
        ("ls x/workspace /workspaces ./workspace", "ls x/workspace /workspaces ./workspace"),
    ],
)
def test_a_process_sandbox_translates_the_workspace_path(
    sandbox: ProcessSandbox, command: str, translated: str
) -> None:
    assert sandbox._translate(command) == translated.format(home=sandbox.workspace)


def test_a_process_sandbox_receives_no_api_keys(
    sandbox: ProcessSandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    other = ProcessSandbox(tmp_path / "other")
    assert b"sk-mine" not in run(other, "env").stdout
    other.close()


def test_a_lost_supervisor_is_restarted_with_the_shell_state(sandbox: ProcessSandbox) -> None:
    run(sandbox, "x=kept; cd input")
    result = run(sandbox, "kill -9 $PPID; sleep 1000")
    assert (result.end_reason, result.code) == ("lost", None)
    assert "unchanged" in result.note
    assert check_output(sandbox, "echo $x; basename $PWD") == "kept\ninput"


def test_a_supervisor_lost_between_commands_is_noted_with_the_next(
    sandbox: ProcessSandbox,
) -> None:
    assert sandbox.process is not None
    sandbox.process.kill()
    sandbox.process.wait()
    assert sandbox.kind("input") == "folder"
    assert "restarted" in run(sandbox, "true").note
    assert run(sandbox, "true").note == ""


def test_the_wait_for_what_a_command_needs_counts_as_its_time(
    sandbox: ProcessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the network's proxy, which starts beside the first sandbox."""
    hours = itertools.count(step=3600)
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + next(hours))
    monkeypatch.setattr(supervised, "time", clock)
    assert run(sandbox, "true").finished.seconds >= 3600


def test_a_partial_state_file_is_never_used(sandbox: ProcessSandbox) -> None:
    run(sandbox, "x=kept")
    run(sandbox, "trap - EXIT; x=new; printf 'x=half' > ../state/shell.new; exec true")
    assert check_output(sandbox, "echo $x") == "kept"


def test_without_a_saved_state_the_note_names_what_is_lost(sandbox: ProcessSandbox) -> None:
    assert "are lost" in run(sandbox, "x=1; rm -rf ../state; kill -9 $$").note
    assert check_output(sandbox, "echo ${x-gone}") == "gone"


def test_the_kept_output_of_each_stream_is_limited(tmp_path: Path) -> None:
    small = ProcessSandbox(tmp_path, SandboxLimits(keep_bytes=1000))
    result = run(small, "seq 100000; seq 100000 >&2")
    small.close()
    for data in (result.stdout, result.stderr):
        assert data.startswith(b"1\n2\n")
        assert data.endswith(b"\n100000\n")
        assert len(data) == 1000 + frames.TAIL_BYTES
    assert result.skipped == 2 * (588_895 - 1000 - frames.TAIL_BYTES)


def test_closing_ends_every_process(sandbox: ProcessSandbox) -> None:
    pid = int(check_output(sandbox, "setsid sleep 1005 >/dev/null & echo $!"))
    sandbox.close()
    assert not Path(f"/proc/{pid}").exists()


# Hostile supervisors


PeerScript = Callable[[socket.socket], object]


@pytest.fixture
def link_to_peer() -> Iterator[Callable[[PeerScript], Link]]:
    """Creates links to a peer that answers the first request with a function of the test."""
    with ThreadPoolExecutor() as pool, ExitStack() as ends:

        def start(respond: PeerScript) -> Link:
            local_socket, peer_socket = socket.socketpair()

            def answer() -> None:
                # the host closes the link to a hostile peer, as it should
                with peer_socket, suppress(OSError):
                    receive_request(peer_socket)
                    respond(peer_socket)

            ends.callback(pool.submit(answer).result)
            return ends.enter_context(closing(Link(Connection(local_socket))))

        yield start


def execute(link: Link, keep: int = 1000) -> list[OutputChunk | CommandEnd]:
    return list(shell.execute(link, b"x", timeout=5, keep_bytes=keep, stop=Stop()))


def receive_request(peer: socket.socket) -> None:
    """Wait for a request."""
    assert peer.recv(65536)


def output_frame(data: bytes, stream: int = 0) -> bytes:
    return frames.pack(frames.OUTPUT, 1, frames.OUTPUT_HEADER.pack(stream, 0) + data)


def finished_frame(
    code: int = 0, ending: int = 0, seconds: float = 1.0, note: bytes = b""
) -> bytes:
    head = frames.FINISHED_HEADER.pack(code, ending, seconds)
    return frames.pack(frames.FINISHED, 1, head + note)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff" * 100,
        b"\xff\xff\xff\xff\x11\x00\x00\x00\x01",
        frames.pack(frames.OUTPUT, 99),
        frames.pack(frames.OUTPUT, 1, b"short"),
        frames.pack(frames.FINISHED, 1, b"short"),
        finished_frame(ending=200),
        finished_frame(seconds=math.nan),
        finished_frame(seconds=math.inf),
        finished_frame(seconds=-math.inf),
        finished_frame(seconds=-0.5),
        finished_frame(seconds=1e9),
        finished_frame(code=1 << 30),
        finished_frame(code=-(1 << 30)),
        finished_frame(note=b"n" * 100_000),
        frames.pack(frames.OUTPUT, 1, frames.OUTPUT_HEADER.pack(0, 2**64 - 1) + b"x"),
        frames.pack(77, 1, b"what"),
        frames.pack(frames.OBSERVED, 1, b"short"),
        frames.pack(frames.OBSERVED, 1, frames.OBSERVED_HEADER.pack(math.nan, 0)),
        frames.pack(frames.OBSERVED, 1, frames.OBSERVED_HEADER.pack(1e12, 0)),
        frames.pack(frames.OBSERVED, 1, frames.OBSERVED_HEADER.pack(1, 2**53)),
        frames.pack(frames.OBSERVED, 1, frames.OBSERVED_HEADER.pack(1, -2)),
        frames.pack(frames.OBSERVED, 1, frames.OBSERVED_HEADER.pack(1, 0) + b"n" * 10_000),
        output_frame(b"x", stream=9),
        output_frame(b"x" * 70_000),
        output_frame(b"x" * 1000)[:50],
    ],
)
def test_an_invalid_response_is_an_error(
    link_to_peer: Callable[[PeerScript], Link], answer: bytes
) -> None:
    with pytest.raises(SandboxError):
        execute(link_to_peer(lambda peer: peer.sendall(answer)))


@pytest.mark.parametrize(
    ("sent", "known"), [((0.25, 2**40), (0.25, 2**40)), ((-1.0, -1), (None, None))]
)
def test_what_the_sandbox_observed_comes_with_the_result(
    link_to_peer: Callable[[PeerScript], Link], sent: tuple[float, int], known: object
) -> None:
    names = b"numpy 2.1.0\0libopsin-java\0\x1b[2J\0a\nb\0" + b"\xff"

    def respond(peer: socket.socket) -> None:
        head = frames.OBSERVED_HEADER.pack(*sent)
        peer.sendall(frames.pack(frames.OBSERVED, 1, head + names) + finished_frame())
        peer.recv(1)

    end = execute(link_to_peer(respond))[-1]
    assert isinstance(end, CommandEnd)
    assert (end.cpu_seconds, end.peak_memory) == known
    assert end.packages == ("numpy 2.1.0", "libopsin-java")


def test_notes_from_the_container_contain_no_control_sequences(
    link_to_peer: Callable[[PeerScript], Link],
) -> None:
    def respond(peer: socket.socket) -> None:
        peer.sendall(finished_frame(note=b"\x1b[2Jhello\xff"))
        peer.recv(1)

    (item,) = execute(link_to_peer(respond))
    assert isinstance(item, CommandEnd)
    assert item.note == "␛[2Jhello�"


def data_frame(payload: bytes) -> bytes:
    return frames.pack(frames.DATA, 1, payload)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda link: files.kind(link, "/x"), data_frame(b"socket")),
        (lambda link: files.kind(link, "/x"), data_frame(b"file") + data_frame(b"file")),
        (lambda link: files.kind(link, "/x"), frames.pack(frames.FAILED, 1, b"\0")),
        (lambda link: files.kind(link, "/x"), frames.pack(frames.READY, 1)),
        (lambda link: files.read(link, "/x", 10), data_frame(b"")),
        (lambda link: files.read(link, "/x", 10), frames.pack(frames.DONE, 1, b"more")),
        (lambda link: files.list_folder(link, "/x", 1, 10), data_frame(b"")),
        (lambda link: files.list_folder(link, "/x", 1, 10), data_frame(b"file 1 /x")),
        (lambda link: files.list_folder(link, "/x", 1, 10), data_frame(b"device 1 /x\0")),
        (lambda link: files.list_folder(link, "/x", 1, 10), data_frame(b"file nan /x\0")),
        (lambda link: files.list_folder(link, "/x", 1, 10), data_frame(b"file %d /x\0" % 10**18)),
        (files.end_processes, data_frame(b"x")),
    ],
)
def test_a_malformed_file_response_breaks_the_link(
    link_to_peer: Callable[[PeerScript], Link], call: Callable[[Link], object], answer: bytes
) -> None:
    def respond(peer: socket.socket) -> None:
        peer.sendall(answer)
        while peer.recv(65536):  # answer every further request with DONE
            peer.sendall(frames.pack(frames.DONE, 1))

    with pytest.raises(LinkLost, match="invalid answer"):
        call(link_to_peer(respond))


def test_an_endless_output_ends_the_link(link_to_peer: Callable[[PeerScript], Link]) -> None:
    def respond(peer: socket.socket) -> None:
        while True:
            peer.sendall(output_frame(b"x" * 500))

    with pytest.raises(LinkLost):
        execute(link_to_peer(respond))


def test_endless_unread_output_ends_the_link(link_to_peer: Callable[[PeerScript], Link]) -> None:
    peer_failed = threading.Event()

    def respond(peer: socket.socket) -> None:
        try:
            while True:
                peer.sendall(output_frame(b""))
        finally:
            peer_failed.set()

    link = link_to_peer(respond)
    with link.open_exchange() as exchange:
        exchange.send(frames.EXECUTE)
        assert peer_failed.wait(30)
    assert "more unread bytes" in link.failure


def test_silence_beyond_the_time_limit_is_an_error(
    link_to_peer: Callable[[PeerScript], Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "_GRACE_SECONDS", -4.9)

    with pytest.raises(LinkLost, match="did not end"):
        execute(link_to_peer(lambda peer: peer.recv(1)))


def test_the_engine_stream_is_demultiplexed_across_any_chunks() -> None:
    local_socket, peer_socket = socket.socketpair()
    connection = EngineConnection(local_socket)
    pieces = [(1, b"one"), (2, b"noise"), (1, b""), (1, b"two" * 1000), (2, b"!")]
    stream_bytes = b"".join(bytes([n, 0, 0, 0]) + len(d).to_bytes(4, "big") + d for n, d in pieces)

    def send() -> None:
        with peer_socket:
            for start in range(0, len(stream_bytes), 7):
                peer_socket.sendall(stream_bytes[start : start + 7])

    received: list[bytes] = []
    call_at_once(send, lambda: received.extend(iter(connection.receive, b"")))
    connection.close()
    assert b"".join(received) == b"one" + b"two" * 1000
    assert connection.diagnostics == b"noise!"
