"""Public IP addresses, to which the endpoints of visitors are limited."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import ModelRefused, ModelUnavailable
from agent.models.base import ModelConfig
from agent.models.passport import probe
from agent.runs.spec import RunSpec
from agent.settings import Settings
from agent.util import ip_addresses
from agent.util.ip_addresses import (
    NON_PUBLIC_NETWORKS,
    is_public,
    own_addresses,
    own_addresses_and_networks,
    own_networks,
)
from sandbox_ui.auth.user import OPERATOR, user_for_account, user_for_visitor
from sandbox_ui.runs.service import RunRequest, model_config
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.model_requests import stream_from

VISITOR = user_for_visitor("x")


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "168.63.129.16",
        "169.254.169.254", "172.31.255.255", "192.168.1.1", "198.18.0.1", "224.0.0.1",
        "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fc00::1",
        "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "ff02::1", "2002:7f00:1::",
    ],
)  # fmt: skip
def test_local_and_reserved_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "172.32.0.1", "203.0.113.7", "2606:4700::1"])
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address)


def test_the_sandbox_proxy_refuses_the_same_networks() -> None:
    script = (Path(__file__).parents[4] / "agent/sandbox/network/squid/start.sh").read_text()
    lists = re.findall(r'^(?:four|six)="([^"]*)"', script, re.MULTILINE)
    mapped = "::ffff:0:0/96"  # IPv4-mapped addresses are checked as IPv4 addresses
    assert {*" ".join(lists).split()} - {mapped} == {str(each) for each in NON_PUBLIC_NETWORKS}


def test_no_address_of_the_host_is_public() -> None:
    assert not [address for address in own_addresses() if is_public(address)]


# A machine with public addresses: 203.0.113.9 in a /26, a VPN that splits the internet in two, a
# network behind a router, a rejected network, and a private network.
ROUTES = """Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 00000000 017100CB 0003 0 0 0 00000000 0 0 0
eth0 007100CB 00000000 0001 0 0 0 C0FFFFFF 0 0 0
tun0 00000000 00000000 0001 0 0 0 00000080 0 0 0
tun0 00000080 00000000 0001 0 0 0 00000080 0 0 0
eth0 006433C6 057100CB 0003 0 0 0 00FFFFFF 0 0 0
*    00010106 00000000 0201 0 0 0 00FFFFFF 0 0 0
br0  0000A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0
"""
ADDRESSES = "|-- 203.0.113.9\n/32 host LOCAL\n|-- 198.51.100.9\n/32 host LOCAL\n"
ZERO, NEXT = "0" * 32, f"20010db8000000010000{'0' * 12}"
IPV6_ROUTES = f"""{NEXT} 40 {ZERO} 00 {ZERO} 00000100 00000001 00000000 00000001 eth0
{ZERO} 00 {ZERO} 00 {NEXT[:-1]}1 00000400 00000003 00000000 00000003 eth0
{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 00000001 00000000 00200200 lo
{ZERO[:-1]}1 80 {ZERO} 00 {ZERO} 00000000 00000004 00000000 80200001 lo
2{ZERO[1:]} 03 {ZERO} 00 {ZERO} 00000100 00000001 00000000 00000001 tun0
"""
TABLES = {"route": ROUTES, "ipv6_route": IPV6_ROUTES, "fib_trie": ADDRESSES, "if_inet6": ""}


@pytest.fixture
def public_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace this machine's routing tables by those of a machine with public addresses."""
    tables = {f"/proc/net/{name}": text.splitlines() for name, text in TABLES.items()}
    monkeypatch.setattr(ip_addresses, "_read_lines", tables.__getitem__)


@pytest.mark.skipif(sys.byteorder == "big", reason="the tables are of the usual machines")
@pytest.mark.usefixtures("public_machine")
def test_networks_of_the_host_are_not_public_and_the_proxy_receives_each_once() -> None:
    assert [str(each) for each in own_networks()] == [
        "203.0.113.0/26", "192.168.0.0/24", "2001:db8:0:1::/64"
    ]  # fmt: skip
    for neighbour in ("203.0.113.1", "203.0.113.63", "::ffff:203.0.113.1", "2001:db8:0:1::7"):
        assert not is_public(neighbour)
    for elsewhere in ("203.0.113.64", "198.51.100.1", "6.1.1.1", "1.1.1.1", "2001:db8:0:2::7"):
        assert is_public(elsewhere)
    # Without networks within others, and those that are refused anyway.
    assert own_addresses_and_networks() == [
        "198.51.100.9/32", "203.0.113.0/26", "2001:db8:0:1::/64"
    ]  # fmt: skip


def test_without_routing_tables_there_are_no_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ip_addresses, "_read_lines", lambda _: [])
    assert own_addresses_and_networks() == []


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint([Turn(text="x")] * 2) as endpoint:
        yield endpoint


@pytest.mark.contract
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]",
     "[::ffff:127.0.0.1]", socket.gethostname(), "LOCALHOST"],
)  # fmt: skip
def test_a_visitor_cannot_reach_the_host_by_any_address(endpoint: Endpoint, host: str) -> None:
    port = endpoint.url.rpartition(":")[2]
    config = ModelConfig(f"http://{host}:{port}", "m", public_only=True)
    with pytest.raises(ModelRefused, match="private network"):
        stream_from(config)
    assert "private network" in probe.check_endpoint(config).message
    assert endpoint.requests == []


@pytest.mark.contract
@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", f"{'x' * 70}.example"])
def test_a_name_that_does_not_resolve_is_said_to_a_visitor(host: str) -> None:
    config = ModelConfig(f"https://{host}/v1", "m", public_only=True)
    with pytest.raises(ModelUnavailable, match="cannot be found"):
        stream_from(config)
    assert "cannot be found" in probe.check_endpoint(config).message


def checked_behind_a_proxy(url: str, proxy: Endpoint, *, public_only: bool) -> str:
    """Return what a process says about an endpoint whose environment has this proxy."""
    program = (
        "from agent.models.passport import probe\nfrom agent.models.base import ModelConfig\n"
        f"config = ModelConfig({url!r}, 'm', public_only={public_only})\n"
        "print(probe.check_endpoint(config).message)"
    )
    environment = os.environ | {"HTTP_PROXY": proxy.address, "NO_PROXY": ""}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.contract
def test_the_environment_proxy_is_not_a_bypass(endpoint: Endpoint) -> None:
    said = checked_behind_a_proxy("http://169.254.169.254/v1", endpoint, public_only=True)
    assert "private network" in said
    assert endpoint.requests == []


@pytest.mark.contract
@pytest.mark.parametrize("public_only", [False, True])
def test_a_public_name_uses_the_environment_proxy(endpoint: Endpoint, public_only: bool) -> None:
    endpoint.passes_test = False
    url = "http://models.example.com/v1"
    assert "answers" in checked_behind_a_proxy(url, endpoint, public_only=public_only)
    assert endpoint.requests[0].path == f"{url}/chat/completions"


@pytest.mark.contract
def test_visitors_can_use_the_operators_endpoint_anywhere(endpoint: Endpoint) -> None:
    settings = Settings(base_url=endpoint.url, model="m", api_key="secret")
    config = model_config(RunRequest(RunSpec()), settings, VISITOR)
    assert (config.public_only, config.api_key) == (False, "secret")
    assert stream_from(config)


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://API.openai.com:443/v1/"])
def test_only_the_operator_may_omit_the_endpoint_of_a_key(url: str) -> None:
    options = RunRequest(RunSpec(base_url=url, model="m"))
    keys = [
        model_config(options, Settings(api_key="secret"), user).api_key
        for user in (VISITOR, user_for_account("ann"), OPERATOR)
    ]
    assert keys == ["", "", "secret"]


def test_only_the_operator_may_use_private_endpoints() -> None:
    settings = Settings(base_url="http://10.0.0.1/v1")
    options = RunRequest(RunSpec(base_url="http://10.0.0.2/v1", model="m"))
    assert model_config(options, settings, VISITOR).public_only
    assert not model_config(options, settings, OPERATOR).public_only
