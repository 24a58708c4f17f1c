"""Network policies: host rules, the proxy's access log and refusals."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sandbox.network.access_log import (
    CHUNK_BYTES,
    MAX_LOG_BYTES,
    MAX_REQUESTS,
    MAX_SUMMED_HOSTS,
    OTHER_HOSTS,
    AccessLog,
    parse_line,
)
from agent.sandbox.network.policy import (
    MAX_HOSTS,
    MAX_LISTED_REFUSALS,
    PACKAGE_HOSTS,
    NetworkPolicy,
    NetworkRequest,
    describe_refusals,
    parse_hosts,
    parse_policy,
)
from agent.sandbox.network.squid.acl_helper import answer_query, matches

SANDBOX, OTHER_SANDBOX = "198.18.3.3", "198.18.3.11"
LOGGED, OTHER_LOGGED = (
    f"1795169356.143 {each} TCP_TUNNEL pypi.org:443 13538 2368\n"
    for each in (SANDBOX, OTHER_SANDBOX)
)
REQUEST = NetworkRequest(1795169356.143, "pypi.org", 443, 13538, 2368)


@pytest.mark.parametrize(
    ("line", "host", "allowed"),
    [
        ("pypi.org", "pypi.org", True),
        ("pypi.org", "PyPI.org.", True),
        ("pypi.org", "evil-pypi.org", False),
        ("pypi.org", "pypi.org.evil.com", False),
        ("pypi.org", "www.pypi.org", False),
        (".debian.org", "deb.debian.org", True),
        (".debian.org", "debian.org", True),
        (".debian.org", "notdebian.org", False),
        ("*", "anything.example", True),
        ("", "", False),
        ("", "pypi.org", False),
    ],
)
def test_a_rule_is_a_host_or_a_domain(line: str, host: str, allowed: bool) -> None:
    assert matches(line, host) is allowed


@pytest.mark.parametrize("text", ["opn", "everything", "pypi.org opn"])
def test_a_policy_that_is_no_name_of_one_and_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither a network policy"):
        parse_policy(text)


def test_each_sandbox_has_its_own_rules(tmp_path: Path) -> None:
    (tmp_path / SANDBOX).write_text(
        "\n".join(NetworkPolicy("listed", ("pypi.org",)).host_patterns())
    )
    assert answer_query(tmp_path, f"7 {SANDBOX} pypi.org -\n") == "7 OK"
    assert answer_query(tmp_path, f"8 {SANDBOX} example.org -\n") == "8 ERR"
    assert answer_query(tmp_path, f"9 {OTHER_SANDBOX} pypi.org -\n") == "9 ERR"


@given(st.text())
def test_malformed_helper_input_never_fails_or_allows(line: str) -> None:
    assert answer_query(Path("/nonexistent"), line).endswith("ERR")


def test_hosts_are_parsed_as_users_type_them() -> None:
    assert parse_hosts("PyPI.org, .debian.org\n pypi.org") == ("pypi.org", ".debian.org")
    assert parse_hosts(" ".join(PACKAGE_HOSTS)) == PACKAGE_HOSTS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *[
            (text, "not a host name")
            for text in ("http://pypi.org", "*", "a..b", "-x.org", "x" * 300, "a/b")
        ],
        (" ".join(f"h{number}.org" for number in range(MAX_HOSTS + 1)), str(MAX_HOSTS)),
    ],
)
def test_invalid_hosts_and_too_many_are_reported(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_hosts(text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The proxy's access log."""
    return tmp_path / "access.log"


def test_the_log_is_read_incrementally_per_sandbox(path: Path) -> None:
    log = AccessLog(path)
    assert log.take(SANDBOX) == []
    path.write_text(LOGGED + OTHER_LOGGED + LOGGED[:20])
    assert log.take(SANDBOX) == [REQUEST]
    with path.open("a") as file:
        file.write(LOGGED[20:])
    assert log.take(SANDBOX) == [REQUEST]
    assert log.take(SANDBOX) == []
    assert log.take(OTHER_SANDBOX) == [REQUEST]


def test_a_large_log_is_truncated_and_malformed_lines_are_skipped(path: Path) -> None:
    log = AccessLog(path)
    path.write_text(OTHER_LOGGED * (MAX_LOG_BYTES // len(OTHER_LOGGED) + 1))
    assert log.take(SANDBOX) == []
    assert path.stat().st_size == 0
    path.write_text("x" * 3 * CHUNK_BYTES + "\n" + LOGGED)
    assert log.take(SANDBOX) == [REQUEST]


def test_lines_split_across_reads_are_joined(path: Path) -> None:
    count = 2 * CHUNK_BYTES // len(LOGGED)
    path.write_text(LOGGED * count + LOGGED[:20])
    log = AccessLog(path)
    assert sum(each.sent for each in log.take(SANDBOX)) == count * REQUEST.sent
    with path.open("a") as file:
        file.write(LOGGED[20:])
    assert log.take(SANDBOX) == [REQUEST]


def test_frequent_requests_do_not_hide_other_hosts(path: Path) -> None:
    other = LOGGED.replace("pypi.org", "other.example")
    refused = other.replace("TCP_TUNNEL", "TCP_DENIED")
    path.write_text(LOGGED * (MAX_REQUESTS + 3) + other * 2 + refused + LOGGED)
    requests = AccessLog(path).take(SANDBOX)
    assert requests[:MAX_REQUESTS] == [REQUEST] * MAX_REQUESTS
    summed = [(each.host, each.received, bool(each.refused)) for each in requests[MAX_REQUESTS:]]
    assert summed == [
        ("pypi.org", 4 * REQUEST.received, False),
        ("other.example", 2 * REQUEST.received, False),
        ("other.example", REQUEST.received, True),
    ]


def test_hosts_beyond_the_limit_are_counted_together(path: Path) -> None:
    hosts = range(MAX_REQUESTS + MAX_SUMMED_HOSTS + 5)
    path.write_text("".join(LOGGED.replace("pypi", f"h{each}") for each in hosts))
    requests = AccessLog(path).take(SANDBOX)
    assert len(requests) == MAX_REQUESTS + MAX_SUMMED_HOSTS + 1
    assert (requests[-1].host, requests[-1].sent) == (OTHER_HOSTS, 5 * REQUEST.sent)


def test_the_model_is_told_the_number_of_further_refusals() -> None:
    refused = [
        NetworkRequest(1.0, f"h{each}.org", 80, 0, 0, "no")
        for each in range(MAX_LISTED_REFUSALS + 7)
    ]
    lines = describe_refusals(refused).strip().splitlines()
    assert lines[0] == "[The network refused h0.org:80: no.]"
    assert lines[MAX_LISTED_REFUSALS:] == ["[And 7 more.]"]
    assert describe_refusals(refused[:MAX_LISTED_REFUSALS]).count("\n") == MAX_LISTED_REFUSALS


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        f"1.0 {SANDBOX} NONE_NONE -:- 0 0",
        f"1.0 {SANDBOX} NONE_NONE -:80 3251 38",
        f"1.0 {SANDBOX} TCP_MISS broken 1 1",
        f"x {SANDBOX} TCP_MISS a.org:80 1 1",
    ],
)
def test_other_entries_are_not_requests(line: str) -> None:
    assert parse_line(line)[1] is None


@pytest.mark.parametrize(
    ("entry", "host", "port", "refused"),
    [
        ("TCP_DENIED 10.0.0.1:8080 3338 129", "10.0.0.1", 8080, True),
        ("TCP_TUNNEL %5B2606:4700::1%5D:443 0 120", "2606:4700::1", 443, False),
    ],
)
def test_denied_requests_and_ipv6_addresses_are_parsed(
    entry: str, host: str, port: int, refused: bool
) -> None:
    request = parse_line(f"1.0 {SANDBOX} {entry}")[1]
    assert request is not None
    assert (request.host, request.port, bool(request.refused)) == (host, port, refused)
