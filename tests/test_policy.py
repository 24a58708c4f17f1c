"""Who may ask for which host."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sandbox.access_log import LARGEST, AccessLog, parsed
from agent.sandbox.network import MOST_HOSTS, READY_LIST, Policy, Request, hosts_of
from agent.sandbox.proxy.policy import allows, answer

ONE, OTHER = "198.18.3.3", "198.18.3.11"
LINE = "1795169356.143 {} 200 TCP_TUNNEL CONNECT pypi.org:443 13538 2368\n"
ASKED = Request(1795169356.143, "pypi.org", 443, 13538, 2368)


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
def test_a_line_names_a_host_or_a_domain(line: str, host: str, allowed: bool) -> None:
    assert allows(line, host) is allowed


def test_each_sandbox_has_a_list_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ONE).write_text("\n".join(Policy("listed", ("pypi.org",)).lines()))
    assert answer(tmp_path, f"7 {ONE} pypi.org -\n") == "7 OK"
    assert answer(tmp_path, f"8 {ONE} example.org -\n") == "8 ERR"
    assert answer(tmp_path, f"9 {OTHER} pypi.org -\n") == "9 ERR"


@given(st.text())
def test_no_line_of_the_proxys_makes_it_fail_or_allow(line: str) -> None:
    assert answer(Path("/nonexistent"), line).endswith("ERR")


def test_hosts_are_read_as_a_person_types_them() -> None:
    assert hosts_of("PyPI.org, .debian.org\n pypi.org") == ("pypi.org", ".debian.org")
    assert hosts_of(" ".join(READY_LIST)) == READY_LIST


@pytest.mark.parametrize("text", ["http://pypi.org", "*", "a..b", "-x.org", "x" * 300, "a/b"])
def test_what_is_no_host_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="not the name of a host"):
        hosts_of(text)


def test_a_list_has_an_end() -> None:
    with pytest.raises(ValueError, match=str(MOST_HOSTS)):
        hosts_of(" ".join(f"h{number}.org" for number in range(MOST_HOSTS + 1)))


def test_the_log_is_read_as_it_grows_each_sandbox_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    log = AccessLog(path)
    assert log.take(ONE) == []
    path.write_text(LINE.format(ONE) + LINE.format(OTHER) + LINE.format(ONE)[:20])
    assert log.take(ONE) == [ASKED]
    with path.open("a") as file:
        file.write(LINE.format(ONE)[20:])
    assert log.take(ONE) == [ASKED]
    assert log.take(ONE) == []
    assert log.take(OTHER) == [ASKED]


def test_a_log_that_grew_large_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    log = AccessLog(path)
    path.write_text(LINE.format(OTHER) * (LARGEST // len(LINE.format(OTHER)) + 1))
    assert log.take(ONE) == []
    assert path.stat().st_size == 0
    path.write_text(LINE.format(ONE))
    assert log.take(ONE) == [ASKED]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        f"1.0 {ONE} 000 NONE_NONE - error:transaction-end-before-headers 0 0",
        f"1.0 {ONE} 200 TCP_MISS GET http://[broken 1 1",
        f"x {ONE} 200 TCP_MISS GET http://a.org/ 1 1",
    ],
)
def test_what_is_no_request_is_none(line: str) -> None:
    assert parsed(line)[1] is None


def test_a_refusal_is_told_as_one() -> None:
    request = parsed(f"1.0 {ONE} 403 TCP_DENIED GET http://10.0.0.1:8080/x 3338 129")[1]
    assert request is not None
    assert (request.host, request.port) == ("10.0.0.1", 8080)
    assert request.refused
