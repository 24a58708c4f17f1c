"""Which addresses are the public internet's, and that a visitor's endpoint lies there."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.addresses import REFUSED, is_public, own_addresses
from agent.errors import ModelRefused
from agent.models import listing
from agent.models.base import ModelConfig
from agent.models.openai import OpenAIModel
from agent.settings import Settings
from agent.stop import Stop
from sandbox_ui import choices as choosing
from sandbox_ui.choices import Choices
from sandbox_ui.people.person import OPERATOR, visitor
from tests.contract.model_suite import REQUEST
from tests.endpoint import Endpoint, Turn

ANSWER = Turn(
    chunks=[{"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}]
)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254",
        "172.31.255.255", "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fc00::1",
        "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "ff02::1", "2002:7f00:1::",
    ],
)  # fmt: skip
def test_local_and_special_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "172.32.0.1", "203.0.113.7", "2606:4700::1"])
def test_the_rest_is(address: str) -> None:
    assert is_public(address)


def test_the_sandboxes_proxy_refuses_the_same_networks() -> None:
    script = (Path(__file__).parents[1] / "agent/sandbox/proxy/start.sh").read_text()
    lists = re.findall(r'^(?:four|six)="([^"]*)"', script, re.MULTILINE)
    mapped = "::ffff:0:0/96"  # addresses of IPv4 in IPv6, which are looked at as those of IPv4
    assert {*" ".join(lists).split()} - {mapped} == {str(each) for each in REFUSED}


def test_this_machine_is_not_public_by_any_of_its_addresses() -> None:
    assert not [address for address in own_addresses() if is_public(address)]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint([ANSWER, ANSWER]) as endpoint:
        yield endpoint


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]",
     "[::ffff:127.0.0.1]", socket.gethostname(), "LOCALHOST"],
)  # fmt: skip
def test_a_visitor_does_not_reach_this_machine_however_it_is_spelt(
    endpoint: Endpoint, host: str
) -> None:
    port = endpoint.url.rpartition(":")[2]
    config = ModelConfig(f"http://{host}:{port}", "m", public=True)
    with pytest.raises(ModelRefused, match="private network"):
        list(OpenAIModel(config).stream(REQUEST, Stop()))
    assert "private network" in listing.check(config)
    assert endpoint.requests == []


VISIT = """
from agent.models import listing
from agent.models.base import ModelConfig
print(listing.check(ModelConfig("http://169.254.169.254/v1", "m", public=True)))
"""


def test_a_proxy_of_the_environment_is_no_way_around(endpoint: Endpoint) -> None:
    environment = os.environ | {"HTTP_PROXY": endpoint.url.removesuffix("/v1")}
    command = [sys.executable, "-c", VISIT]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "private network" in said.stdout
    assert endpoint.requests == []


def test_visitors_reach_the_operators_endpoint_wherever_it_is(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    settings = Settings(data=tmp_path, base_url=endpoint.url, model="m", api_key="secret")
    config = choosing.config(Choices(), settings, visitor("x"))
    assert (config.public, config.api_key) == (False, "secret")
    assert list(OpenAIModel(config).stream(REQUEST, Stop()))


def test_only_the_operator_names_endpoints_of_private_networks(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, base_url="http://10.0.0.1/v1")
    chosen = Choices(base_url="http://10.0.0.2/v1", model="m")
    assert choosing.config(chosen, settings, visitor("x")).public
    assert not choosing.config(chosen, settings, OPERATOR).public
