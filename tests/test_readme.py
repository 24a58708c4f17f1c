"""The README: what it shows works, what it links to is there."""

import re
from pathlib import Path

import pytest

from tests.endpoint import Endpoint, Turn

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_what_it_links_to_is_there() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_files_that_it_names_are_there() -> None:
    house = re.search(r"## How it is built\n```\n(.*?)```", README, re.DOTALL)
    assert house
    room = ROOT
    for line in house[1].splitlines():
        names = re.split(r"\s{2,}", line.strip())[0]
        if not line.startswith(" "):
            room = ROOT / names if names.endswith("/") else ROOT
        parent = room if line.startswith(" ") else ROOT
        for name in names.split(", "):
            assert (parent / name).exists(), name


@pytest.mark.engine
def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str
) -> None:
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example
    monkeypatch.setenv("STUDIO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STUDIO_IMAGE", image)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    draw = {"command": "cp input/data.csv output/chart.png"}
    with Endpoint([Turn(calls=[("execute_bash", draw)]), Turn(calls=[("submit", {})])]) as endpoint:
        exec(example[1].replace("http://localhost:8000/v1", endpoint.url), {})
    assert (tmp_path / "results" / "files" / "chart.png").read_text() == "a,b\n1,2\n"
    assert (tmp_path / "results" / "trajectory.json").exists()
