"""What may differ between two executions, and what may not."""

from datetime import UTC, datetime

import pytest

from agent.replay.volatile import RULES, normalise

RECORDED = datetime(2026, 3, 5, 14, 7, 9, tzinfo=UTC).timestamp()
REPLAYED = datetime(2026, 11, 23, 9, 30, 1, tzinfo=UTC).timestamp()

VOLATILE = {
    "temporary paths": [
        ("/tmp/tmp.Xy3kQ9abcd", "/tmp/tmp.aaBB12ccdd"),
        ("saved /tmp/tmpab3d_9xz/out.csv", "saved /tmp/tmp0000aaaa/out.csv"),
        ("/tmp/pip-install-k3jx9q2a", "/tmp/pip-install-a1b2c3d4"),
        ("/tmp/report.AbCdEf", "/tmp/report.xYzUvW"),
    ],
    "random identifiers": [
        ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
    "dates": [
        ("2026-03-05", "2026-11-23"),
        ("2026-03-05T14:07:09.123456+00:00", "2026-11-23T09:30:01+00:00"),
        ("2026-03-05 14:07:09 UTC", "2026-11-23 09:30:01 UTC"),
        ("log-20260305_140709.txt", "log-20261123_093001.txt"),
        ("Thu Mar  5 14:07:09 UTC 2026", "Mon Nov 23 09:30:01 UTC 2026"),
        ("-rw-r--r-- 1 u u 5 Mar  5 14:07 a.txt", "-rw-r--r-- 1 u u 5 Nov 23 09:30 a.txt"),
        ("Thu, 05 Mar 2026 14:07:09 GMT", "Mon, 23 Nov 2026 09:30:01 GMT"),
        ("5 March 2026", "23 November 2026"),
    ],
    "times": [
        (str(int(RECORDED)), str(int(REPLAYED))),
        (f"{RECORDED:.3f}", f"{REPLAYED:.6f}"),
        (f"{RECORDED * 1000:.0f}", f"{REPLAYED * 1000:.0f}"),
        ("started at 14:07:09", "started at 9:30:01.5"),
    ],
    "durations": [
        ("real\t0m0.012s", "real\t0m1.902s"),
        ("3 passed in 0.12s", "3 passed in 1.4s"),
        ("took 1.25 seconds", "took 90 ms"),
        ("Elapsed: 2 min 3 s", "Elapsed: 1 min 59 s"),
        ("1.2 ms per loop", "900 µs per loop"),
    ],
    "transfer rates": [("1.2 MB/s", "845 kB/s"), ("12.3it/s", "9.87it/s")],
    "memory addresses": [
        ("<A object at 0x7f2b3c4d5e60>", "<A object at 0x7fffab12cd30>"),
        ("0x7f2b3c4d5e60", "0x55d0c0ffee10"),
    ],
    "process ids": [
        ("pid 123", "pid 4567"),
        ("[1] 812", "[1] 9"),
        ("bash: line 3:   117 Killed", "bash: line 3:   42 Killed"),
        ("==17== Memcheck", "==9981== Memcheck"),
    ],
    "host names": [("root@0123456789ab", "root@ba9876543210")],
}  # fmt: skip

CONTENT = [
    ("1994-05-06", "1994-05-07"),
    ("born 6 May 1994", "born 7 May 1994"),
    ("May 1", "May 2"),
    ("t = 2.5 s", "t = 2.6 s"),
    ("the ball falls 5 m in 1.01 s", "the ball falls 6 m in 1.01 s"),
    ("0xdeadbeef", "0xdeadbee0"),
    ("1234567890", "1234567891"),
    ("total: 17", "total: 18"),
    ("/tmp/report.txt", "/tmp/result.txt"),
    ("/workspace/output/a1b2c3d4e5", "/workspace/output/a1b2c3d4e6"),
    ("12 MB", "13 MB"),
    ("3 passed", "4 passed"),
    ("a  b", "a b"),
]

PAIRS = [(rule, *pair) for rule, pairs in VOLATILE.items() for pair in pairs]


def test_each_rule_has_an_example() -> None:
    assert VOLATILE.keys() == {rule.name for rule in RULES}


@pytest.mark.parametrize(("rule", "one", "other"), PAIRS)
def test_a_volatile_part_is_replaced(rule: str, one: str, other: str) -> None:
    first, second = normalise(one, RECORDED), normalise(other, REPLAYED)
    assert first.text == second.text
    assert rule in first.rules & second.rules


@pytest.mark.parametrize(("one", "other"), CONTENT)
def test_content_stays(one: str, other: str) -> None:
    assert normalise(one, RECORDED).text != normalise(other, REPLAYED).text


def test_a_date_is_volatile_only_on_the_day_of_the_execution() -> None:
    assert normalise("2026-03-05", RECORDED).text == "<date>"
    assert normalise("2026-03-05", REPLAYED).text == "2026-03-05"


def test_a_line_without_volatile_parts_or_a_very_long_one_is_unchanged() -> None:
    for line in ("a,  b\t1", "pid 1 " * 10_000):
        assert normalise(line, RECORDED).text == line


def test_columns_may_move_with_a_volatile_value() -> None:
    assert normalise("pid 1    done", 0).text == normalise("pid 12345 done", 0).text
