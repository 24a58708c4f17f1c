"""The HTTP examples of comparisons in docs/ run."""

import re
from pathlib import Path

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support.comparisons import ComparisonClient, run_ids
from tests.support.models.endpoint import Endpoint
from tests.support.server import wait_until
from tests.test_docs import example_containing, run_shell

READ_TO_RUN_EVENT = "timeout 60 sed '/event: run/q' <(exec {} 2>/dev/null); kill $!"
"""Prints the output of an endless command up to a run's first event, then ends the command."""


@pytest.mark.nightly
def test_the_http_examples_for_comparisons_work(
    client: ComparisonClient, script: Script, endpoint: Endpoint, tmp_path: Path
) -> None:
    gate = script.hold()
    (tmp_path / "book.pdf").write_bytes(b"%PDF-1.4\n")
    example = example_containing("$at/comparisons/ID/export.tex")
    example = example.replace("http://127.0.0.1:7860", str(client.http.base_url).rstrip("/"))
    example = example.replace("https://…/v1", endpoint.url)
    example = example.replace("sk-…", "sk-1")
    address, _, rest = example.partition("\n")
    start, rest = re.split(r"(?<=\$at/comparisons )", rest, maxsplit=1)
    comparison = re.findall(r'"id":"([^"]+)"', run_shell(f"{address}\n{start}", tmp_path))[0]
    lines = [each.replace("/ID", f"/{comparison}") for each in rest.splitlines()[1:]]

    def run(part: str, template: str = "{}") -> str:
        line = next(each for each in lines if part in each)
        lines.remove(line)
        command = template.format(line.partition("  #")[0])
        return run_shell(f"{address}\n{command}", tmp_path)

    wait_until(lambda: run_ids(client.read(comparison)) != [])
    assert '"state":"running"' in run(f"curl $at/comparisons/{comparison} ")
    assert "event: run" in run("/events", READ_TO_RUN_EVENT)
    run('"member": 1')
    client.http.post(f"/api/comparisons/{comparison}/stop").raise_for_status()
    client.wait(comparison, "stopped")
    gate.set()
    run("/resume")
    described = client.wait(comparison)
    assert [len(each["runs"]) for each in described["members"]] == [5, 5, 5]
    run("/export.tex")
    assert "toprule" in (tmp_path / "export.tex").read_text()
    for each in run_ids(described)[:2]:
        lines = [line.replace('"RUN"', f'"{each}"', 1) for line in lines]
    assert '"id"' in run("/from-runs")
    run("-X PATCH")
    assert client.read(comparison)["title"] == "Orta"
    assert '"shared/' in run("/links")
    client.http.patch(f"/api/comparisons/{comparison}", json={"pinned": False}).raise_for_status()
    run("-X DELETE")
    assert client.http.get(f"/api/comparisons/{comparison}").status_code == 404
    assert lines == []
