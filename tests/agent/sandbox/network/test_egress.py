"""Sandbox network: only through the proxy, never to this machine or another sandbox."""

import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.errors import SandboxError
from agent.sandbox.base import Sandbox
from agent.sandbox.docker.container import host_certificates
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, list_containers
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.sandbox.network import proxy as proxy_module
from agent.sandbox.network import subnets
from agent.sandbox.network.policy import PACKAGE_HOSTS, NetworkPolicy, NetworkRequest
from agent.sandbox.network.proxy import Proxy
from agent.sandbox.network.subnets import PROXY_PORT
from agent.util.ip_addresses import own_addresses, own_networks
from tests.contract.sandbox_helpers import run
from tests.contract.shared_sandbox import SharedSandbox, new_spec
from tests.support.server import wait_until

pytestmark = [pytest.mark.contract, pytest.mark.engine]

ALL_HOSTS, PACKAGES_ONLY = NetworkPolicy(), NetworkPolicy("listed", PACKAGE_HOSTS)
PRINT_STATUS = "curl -s -m 5 -o /dev/null -w '%{{http_code}} ' {}"
PRINT_PROXY_STATUS = (
    "curl -s --noproxy '' -x $http_proxy -m 20 -o /dev/null -w '%{{http_code}} ' {}"
)
METADATA, WIRE_SERVER = "169.254.169.254", "168.63.129.16"


@pytest.fixture(scope="module")
def instance() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture(scope="module")
def proxy_image(engine: Client) -> str:
    return ensure_image(engine, dockerfile_path(), lambda _: None, "proxy")


@pytest.fixture(scope="module")
def egress(
    engine: Client,
    proxy_image: str,
    instance: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("egress")
    sandboxes = Proxy(engine, proxy_image, folder, (INSTANCE_LABEL, instance))
    sandboxes.open()
    sandboxes.start()
    yield sandboxes
    sandboxes.close()


@pytest.fixture(scope="module")
def shared(
    engine: Client,
    image: str,
    egress: Proxy,
    instance: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SharedSandbox]:
    """The sandbox of the tests that need only one."""
    spec = new_spec(
        image, tmp_path_factory.mktemp("shared"), instance=instance,
        certificates=host_certificates(), proxy=egress,
    )  # fmt: skip
    with closing(SharedSandbox(lambda: DockerSandbox.create(engine, spec))) as shared:
        yield shared


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, shared: SharedSandbox) -> Sandbox:
    """A fresh sandbox that may reach all public hosts, or what the parameter says."""
    sandbox = shared.fresh()
    sandbox.take_network_requests()
    sandbox.set_network_policy(getattr(request, "param", ALL_HOSTS))
    return sandbox


def policy(policy: NetworkPolicy) -> pytest.MarkDecorator:
    """Give the test's sandbox another network policy."""
    return pytest.mark.parametrize("sandbox", [policy], indirect=True)


@pytest.fixture
def other_sandbox(
    engine: Client, image: str, egress: Proxy, tmp_path: Path, instance: str
) -> Iterator[DockerSandbox]:
    """A container of the test's own, without a network policy."""
    spec = new_spec(image, tmp_path, instance=instance, proxy=egress)
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        yield sandbox


@contextmanager
def assert_no_connection(
    kind: socket.SocketKind, address: str = "0.0.0.0", port: int = 0
) -> Iterator[int]:
    """Listen on a port of this machine; fails the test if anything connects."""
    with socket.socket(socket.AF_INET, kind) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        if kind == socket.SOCK_STREAM:
            server.listen()
        yield server.getsockname()[1]
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept() if kind == socket.SOCK_STREAM else server.recvfrom(512)


def stdout_of(sandbox: Sandbox, command: str) -> str:
    return run(sandbox, command).stdout.decode()


def http_statuses(sandbox: Sandbox, *addresses: str, direct: bool = False) -> list[str]:
    """Return the statuses of HTTP requests from inside the sandbox; 000 without an answer."""
    before = "unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY; " if direct else ""
    commands = [before + PRINT_STATUS.format(f"'{address}'") for address in addresses]
    return outputs_of(sandbox, commands)


def outputs_of(sandbox: Sandbox, commands: Sequence[str]) -> list[str]:
    """Run commands at the same time, since most of them wait; return their outputs in order."""
    started = "".join(f"({each}) > /tmp/output{n:03} & " for n, each in enumerate(commands))
    return stdout_of(sandbox, f"({started} wait); cat /tmp/output*; rm /tmp/output*").split()


# Permitted requests


@policy(PACKAGES_ONLY)
def test_python_and_debian_packages_are_reachable(sandbox: Sandbox) -> None:
    assert run(sandbox, "pip download -q --no-deps -d /tmp/x six && ls /tmp/x").code == 0
    assert run(sandbox, "apt-get update -qq -o Acquire::Retries=3").code == 0


def test_transferred_bytes_are_measured(sandbox: Sandbox) -> None:
    assert run(sandbox, "pip download -q --no-deps -d /tmp/x six").code == 0
    requests = list[NetworkRequest]()

    def all_logged() -> bool:
        requests.extend(sandbox.take_network_requests())
        return {each.host for each in requests} >= {"pypi.org", "files.pythonhosted.org"}

    wait_until(all_logged)
    assert all(each.port == 443 and each.received > 1000 and not each.refused for each in requests)
    assert sandbox.take_network_requests() == []


def test_only_host_and_port_of_a_request_are_logged(sandbox: Sandbox, egress: Proxy) -> None:
    long, six = f"http://{METADATA}/secret{'x' * 4000}", "http://[2606:4700::1]:8080/secret"
    http_statuses(sandbox, long, six, "https://pypi.org/secret")
    requests = {
        (each.host, each.port, bool(each.refused)) for each in sandbox.take_network_requests()
    }
    assert {(METADATA, 80, True), ("pypi.org", 443, False)} <= requests
    assert ("2606:4700::1", 8080) in {(host, port) for host, port, _ in requests}
    log = egress._folder.access_log.read_text()
    assert "secret" not in log
    assert max(map(len, log.splitlines())) < 500


# Network policy


@pytest.mark.main_path
@policy(NetworkPolicy("listed", ("pypi.org", ".pythonhosted.org")))
def test_an_unlisted_host_is_refused_and_reported(sandbox: Sandbox) -> None:
    assert http_statuses(sandbox, "http://deb.debian.org/") == ["403"]
    (requests,) = sandbox.take_network_requests()
    assert (requests.host, requests.port) == ("deb.debian.org", 80)
    assert "may not reach it" in requests.refused
    assert run(sandbox, "pip download -q --no-deps -d /tmp/x six").code == 0


def test_a_refusal_is_one_line_of_text(sandbox: Sandbox) -> None:
    assert stdout_of(sandbox, f"curl -s http://{METADATA}/").splitlines() == [
        f"{METADATA} refused: the network of this sandbox does not lead there."
    ]
    assert stdout_of(sandbox, "curl -s http://nowhere.invalid/").splitlines() == [
        "nowhere.invalid not found: no address is known by this name."
    ]


def test_everything_is_denied_without_a_policy(other_sandbox: Sandbox) -> None:
    assert http_statuses(other_sandbox, "http://deb.debian.org/") == ["403"]
    other_sandbox.set_network_policy(ALL_HOSTS)
    assert http_statuses(other_sandbox, "http://deb.debian.org/") != ["403"]
    other_sandbox.set_network_policy(NetworkPolicy("none"))
    assert http_statuses(other_sandbox, "http://deb.debian.org/") == ["403"]


# Unreachable addresses


def test_the_host_is_unreachable_by_any_address(sandbox: Sandbox) -> None:
    four = [each for each in own_addresses() if ":" not in each]
    number = int.from_bytes(socket.inet_aton(four[-1]))
    with assert_no_connection(socket.SOCK_STREAM, port=8080) as port:
        urls = [f"http://{each}:{port}/" for each in four]
        urls += [f"http://{number}:{port}/", f"http://localhost:{port}/"]
        urls += [f"http://[::ffff:{four[-1]}]:{port}/", f"http://[::1]:{port}/"]
        requests = [PRINT_PROXY_STATUS.format(f"'{each}'") for each in urls]
        assert set(outputs_of(sandbox, requests)) <= {"403", "400", "503"}
        assert set(http_statuses(sandbox, *urls[: len(four)], direct=True)) == {"000"}


def test_the_gateway_does_not_respond(sandbox: Sandbox) -> None:
    own = stdout_of(sandbox, "hostname -I").split()[0]
    gateway = f"{own.rpartition('.')[0]}.{int(own.rpartition('.')[2]) - 2}"
    with assert_no_connection(socket.SOCK_STREAM, port=8000) as port:
        assert http_statuses(sandbox, f"http://{gateway}:{port}/", direct=True) == ["000"]


def test_other_sandboxes_are_unreachable(sandbox: Sandbox, other_sandbox: Sandbox) -> None:
    serve = "python3 -m http.server 8000 --bind 0.0.0.0"
    run(other_sandbox, f"(cd /tmp && {serve} >/dev/null 2>&1 &)")
    wait_until(lambda: http_statuses(other_sandbox, "http://127.0.0.1:8000/") == ["200"])
    address = stdout_of(other_sandbox, "hostname -I").split()[0]
    assert http_statuses(sandbox, f"http://{address}:8000/") == ["403"]
    assert http_statuses(sandbox, f"http://{address}:8000/", direct=True) == ["000"]


def test_non_public_addresses_are_refused(sandbox: Sandbox) -> None:
    networks = [each for each in own_networks() if each.version == 4 and each.prefixlen < 31]
    neighbours = [str(each[-2]) for each in networks]
    refused = [METADATA, WIRE_SERVER, "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1"]
    refused += ["224.0.0.1", *neighbours]
    assert set(http_statuses(sandbox, *(f"http://{each}/" for each in refused))) == {"403"}
    assert {each.host for each in sandbox.take_network_requests() if each.refused} == set(refused)


def test_no_connection_leaves_the_sandbox_but_through_the_proxy(sandbox: Sandbox) -> None:
    connect = "import socket; socket.create_connection(('203.0.113.80', 80), 1)"
    assert "Error" in stdout_of(sandbox, f'python3 -c "{connect}" 2>&1 | tail -1')


INTERNAL_REQUESTS = [
    "GET cache_object://studio:80/ipcache",
    "GET cache_object://studio/info",
    "GET cache_object://deb.debian.org:80/active_requests",
    "GET http://studio/squid-internal-mgr/menu",
    "GET http://STUDIO.:80/Squid-Internal-mgr/menu",
    "GET http://deb.debian.org/squid-internal-mgr/ipcache",
    "GET /squid-internal-mgr/ipcache",
    "GET /squid-internal-static/icons/silk/image.png",
    "GET http://studio/squid-internal-periodic/store_digest",
    "GET http://studio/squid-internal-dynamic/netdb",
    "CONNECT studio:443",
]
OTHER_REQUESTS = [
    "GET ftp://deb.debian.org:80/debian/",
    "GET urn:isbn:1",
    "GET whois://deb.debian.org:80/x",
    "GET wais://deb.debian.org:80/x",
    "GET https://deb.debian.org/",
    "TRACE http://deb.debian.org/",
    "PURGE http://deb.debian.org/",
    "PROPFIND http://deb.debian.org/",
    "ANYTHING http://deb.debian.org/",
    "GET gopher://deb.debian.org:80/x",
    "GET coap://deb.debian.org:80/x",
]


SEND_REQUESTS = """
import os, socket, sys
host, port = os.environ["http_proxy"].removeprefix("http://").strip("/").split(":")
for request in sys.stdin.read().splitlines():
    with socket.create_connection((host, int(port)), 20) as connection:
        head = f"{request} HTTP/1.1\\r\\nHost: studio\\r\\nMax-Forwards: 0\\r\\n"
        connection.sendall(head.encode() + b"Connection: close\\r\\n\\r\\n")
        print(connection.makefile().readline().split()[1])
"""


def proxy_statuses(sandbox: Sandbox, requests: list[str]) -> dict[str, str]:
    """Send raw request lines to the proxy; returns their statuses."""
    lines = "\n".join(requests)
    command = (
        f"cat > /tmp/a.py <<'END'\n{SEND_REQUESTS}\nEND\npython3 /tmp/a.py <<'END'\n{lines}\nEND"
    )
    return dict(zip(requests, stdout_of(sandbox, command).split(), strict=True))


def test_the_proxy_reveals_nothing_about_itself(sandbox: Sandbox) -> None:
    """The cache manager would reveal the hosts and connections of all sandboxes."""
    assert proxy_statuses(sandbox, INTERNAL_REQUESTS) == dict.fromkeys(INTERNAL_REQUESTS, "403")


def test_tunnels_are_limited_to_https_ports(sandbox: Sandbox) -> None:
    """The proxy does not inspect tunnels: at other ports, they could carry any protocol."""
    ports = (22, 25, 53, 5432, 80, 8000, 8080)
    tunnels = [f"CONNECT deb.debian.org:{port}" for port in ports]
    assert proxy_statuses(sandbox, tunnels) == dict.fromkeys(tunnels, "403")
    assert {each.port for each in sandbox.take_network_requests() if each.refused} == set(ports)
    wait_until(lambda: http_statuses(sandbox, "https://pypi.org/") != ["000"])


def test_only_plain_http_and_tunnels_pass(sandbox: Sandbox) -> None:
    plain = ["GET http://deb.debian.org/", "HEAD http://deb.debian.org/"]
    answers = proxy_statuses(sandbox, [*plain, *OTHER_REQUESTS])
    assert "403" not in {answers.pop(request) for request in plain}
    # Squid itself does not know the last two schemes.
    assert answers == dict.fromkeys(OTHER_REQUESTS[:-2], "403") | dict.fromkeys(
        OTHER_REQUESTS[-2:], "501"
    )


def test_the_firewall_refuses_requests_of_the_proxy_itself(egress: Proxy, engine: Client) -> None:
    address = next(each for each in own_addresses() if each.startswith("172."))
    with assert_no_connection(socket.SOCK_STREAM, port=8081) as port:
        connect = f"import socket; socket.create_connection(('{address}', {port}), 3)"
        result = engine.containers.get(egress._container).exec_run(["python3", "-c", connect])
    assert result.exit_code != 0
    assert b"Error" in result.output


# Neighbours


OPEN_CONNECTIONS = """
import os, select, socket, time
host, port = os.environ["http_proxy"].removeprefix("http://").strip("/").split(":")
waiting, opened, connected = select.poll(), {}, 0
for _ in range(3000):
    connection = socket.socket()
    connection.setblocking(False)
    connection.connect_ex((host, int(port)))
    opened[connection.fileno()] = connection
    waiting.register(connection, select.POLLOUT)
while ready := waiting.poll(1500):
    for number, _ in ready:
        waiting.unregister(number)
        opened[number].send(b"GET http://a.example/ HTTP/1.1\\r\\nHost: ")
        connected += 1
print(connected, flush=True)
time.sleep(30)
"""


def test_a_sandbox_leaves_connections_of_the_proxy_to_others(
    sandbox: Sandbox, other_sandbox: Sandbox
) -> None:
    other_sandbox.set_network_policy(ALL_HOSTS)
    hoard = f"cat > /tmp/a.py <<'END'\n{OPEN_CONNECTIONS}\nEND\n"
    hoard += "python3 /tmp/a.py > /tmp/connected & until [ -s /tmp/connected ]; do sleep 0.1; done"
    assert stdout_of(sandbox, f"{hoard}; cat /tmp/connected").split() == ["64"]
    assert http_statuses(other_sandbox, f"http://{METADATA}/") == ["403"]
    assert http_statuses(sandbox, f"http://{METADATA}/") == ["000"]


WAIT_FOR_THE_END = """
import os, socket, sys
host, port = os.environ["http_proxy"].removeprefix("http://").strip("/").split(":")
connection = socket.create_connection((host, int(port)))
connection.sendall(sys.argv[1].encode())
while connection.recv(1000):
    pass
print("closed")
"""


@pytest.mark.nightly
def test_a_connection_without_a_whole_request_is_closed(sandbox: Sandbox) -> None:
    run(sandbox, f"cat > /tmp/a.py <<'END'\n{WAIT_FOR_THE_END}\nEND")
    heads = ("", "GET http://a.example/ HTTP/1.1\r\nHost: ")
    waits = [f"timeout 25 python3 /tmp/a.py '{head}'" for head in heads]
    assert outputs_of(sandbox, waits) == ["closed", "closed"]


# Name resolution


@pytest.mark.skipif(
    subprocess.run(["id", "-u"], capture_output=True, check=True).stdout != b"0\n",
    reason="only root can listen where name servers do",
)
def test_only_the_proxy_resolves_names(sandbox: Sandbox) -> None:
    send_query = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1);"
        "s.sendto(b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6secret\\3com\\0\\0\\1\\0\\1',"
        " ('127.0.0.11', 53)); print(s.recv(512)[3] & 15)"
    )
    with assert_no_connection(socket.SOCK_DGRAM, "127.0.0.1", 53):
        lookup = run(sandbox, "getent hosts deb.debian.org; echo $?")
        assert lookup.stdout.decode().strip() == "2"
        assert lookup.finished.seconds < 5
        answer = stdout_of(sandbox, f'python3 -c "{send_query}" 2>&1 | tail -1').strip()
    assert answer != "0"


# Cleanup


def networks_of(engine: Client, instance: str) -> dict[str, Any]:
    """Return an instance's networks by their names, as the engine describes them."""
    found = engine.api.networks(filters={"label": f"{INSTANCE_LABEL}={instance}"})
    return {each["Name"]: engine.api.inspect_network(each["Id"]) for each in found}


def test_a_network_is_removed_with_its_sandbox(
    other_sandbox: DockerSandbox, engine: Client, instance: str
) -> None:
    assert other_sandbox._network is not None
    assert other_sandbox._network.name in networks_of(engine, instance)
    other_sandbox.close()
    assert other_sandbox._network.name not in networks_of(engine, instance)


OpenProxy = Callable[[str], Proxy]


@pytest.fixture
def own_instance() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def open_proxy(engine: Client, own_instance: str, tmp_path: Path) -> Iterator[OpenProxy]:
    """Opens a proxy of an instance of its own, from an image."""

    def open_one(image: str) -> Proxy:
        proxy = Proxy(engine, image, tmp_path / "proxy", (INSTANCE_LABEL, own_instance))
        proxies.callback(proxy.close)
        proxy.open()
        return proxy

    with ExitStack() as proxies:
        yield open_one


def test_networks_of_a_dead_process_are_removed(
    engine: Client, proxy_image: str, open_proxy: OpenProxy, own_instance: str
) -> None:
    crashed_proxy = open_proxy(proxy_image)
    crashed_proxy.create_network()
    crashed_proxy.close()
    label = (INSTANCE_LABEL, own_instance)
    subnets.reap(engine, label)
    assert engine.api.networks(filters={"label": "=".join(label)}) == []


def test_some_networks_are_made_ahead_with_the_proxy_in_them(
    engine: Client, proxy_image: str, open_proxy: OpenProxy, own_instance: str
) -> None:
    proxy = open_proxy(proxy_image)
    taken = [proxy.create_network()]
    assert set(networks_of(engine, own_instance)) == {taken[0].name}  # one sandbox needs no more
    for spares in (0, proxy_module._SPARE_NETWORKS):
        known = networks_of(engine, own_instance).keys() - {each.name for each in taken}
        assert len(known) == spares
        taken.append(proxy.create_network())
        assert (taken[-1].name in known) == bool(spares)
        expected = len(taken) + proxy_module._SPARE_NETWORKS
        wait_until(lambda: proxy._spares is not None and proxy._spares.wait_full(60))
        found = networks_of(engine, own_instance)
        assert len(found) == expected
        others = [each for name, each in found.items() if name != taken[0].name]
        assert all(proxy._container in each["Containers"] for each in others)
    proxy.close()
    for each in taken:
        proxy.remove_network(each)
    assert networks_of(engine, own_instance) == {}


def test_the_first_command_creates_and_starts_a_proxy_that_does_not_exist_yet(
    engine: Client, image: str, proxy_image: str, open_proxy: OpenProxy, own_instance: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    def proxy_states() -> list[str]:
        found = list_containers(engine, own_instance)
        return [each.state for each in found if not each.sandbox_id]

    spec = new_spec(image, tmp_path, instance=own_instance, proxy=open_proxy(proxy_image))
    with closing(DockerSandbox.create(engine, spec)) as sandbox:
        assert proxy_states() == []
        stdout_of(sandbox, "true")
        assert proxy_states() == ["running"]


def test_a_proxy_that_cannot_start_reports_the_reason(
    engine: Client, image: str, open_proxy: OpenProxy, own_instance: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(proxy_module, "_READY_SECONDS", 3.0)
    broken_proxy = open_proxy(image)
    with pytest.raises(SandboxError, match="nft"):
        broken_proxy.start()
    broken_proxy.close()
    assert list_containers(engine, own_instance) == []


@pytest.mark.nightly
def test_more_networks_than_docker_has_addresses_for_coexist(egress: Proxy) -> None:
    networks = [egress.create_network() for _ in range(40)]  # Docker's own address pools: 31
    assert len({network.address for network in networks}) == 40
    assert all(network.proxy_url.endswith(f":{PROXY_PORT}") for network in networks)
    for network in networks:
        egress.remove_network(network)
