"""Nodes, deltas and manifests of a workspace."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import JournalError
from agent.workspace.versions.manifest import Delta, Manifest, Node

PATHS = st.binary(min_size=1, max_size=20).filter(lambda raw: b"\0" not in raw).map(os.fsdecode)
NODES = st.one_of(
    st.builds(Node, kind=st.just("folder"), mode=st.integers(0, 0o7777)),
    st.builds(Node, kind=st.just("link"), mode=st.just(0o777), target=PATHS),
    st.builds(
        Node, kind=st.just("file"), size=st.integers(0, 2**60), mode=st.integers(0, 0o7777),
        hash=st.just("ab" * 32) | st.none(),
    ),
    st.builds(
        Node, kind=st.just("file"), size=st.just(5), stored=st.just(False),
        reason=st.text(min_size=1),
    ),
    st.builds(Node, kind=st.sampled_from(["fifo", "socket", "device"])),
)  # fmt: skip
MANIFESTS = st.dictionaries(PATHS, NODES, max_size=8)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MANIFESTS, MANIFESTS)
def test_a_delta_survives_json_and_yields_the_next_manifest(
    before: dict[str, Node], after: dict[str, Node]
) -> None:
    delta = Manifest(before).diff(after)
    line = json.dumps(delta.to_json(), ensure_ascii=False)
    assert line.encode("utf-8").decode("utf-8") == line
    decoded = Delta.from_json(json.loads(line))
    assert decoded == delta
    manifest = Manifest(before)
    manifest.apply(decoded)
    assert manifest.nodes == after
    assert delta.added == after.keys() - before.keys()


def test_a_delta_contains_only_changes() -> None:
    node = Node("file", 1, 0o644, "ab" * 32)
    delta = Manifest({"a": node, "b": node}).diff({"a": node})
    assert not delta.changed
    assert delta.removed == ("b",)
    assert not Manifest({"a": node}).diff({"a": node})


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"changed": [], "removed": []},
        {"changed": {"a": {"kind": "ghost", "mode": 0}}, "removed": []},
        {"changed": {"a": {"kind": "file", "size": "big", "mode": 0}}, "removed": []},
        {"changed": {"a": {"kind": "file", "hash": 5, "mode": 0}}, "removed": []},
        {"changed": {"a": {"kind": "file", "hash": "../a", "mode": 0}}, "removed": []},
        {"changed": {"a": {"kind": "file", "size": -1, "mode": 0}}, "removed": []},
        {"changed": {"a": {"kind": "file", "size": 10**400, "mode": 0}}, "removed": []},
        {"changed": {"a": {"kind": "link", "target": "b%00c", "mode": 0}}, "removed": []},
        {"changed": {"a": None}, "removed": []},
        {"changed": {}, "removed": None},
    ],
)
def test_a_damaged_record_is_reported(data: dict[str, object]) -> None:
    with pytest.raises(JournalError):
        Delta.from_json(data)
