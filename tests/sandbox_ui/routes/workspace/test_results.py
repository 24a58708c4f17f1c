"""The routes of a run's results, and of the files that words name."""

from collections.abc import Iterator

import pytest

from tests.support import file_run, httpx
from tests.support.file_run import ServedRun

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def served_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    with file_run.serve_recorded_run(tmp_path_factory.mktemp("data")) as served_run:
        yield served_run


def test_only_existing_files_of_the_run_are_links(served_run: ServedRun) -> None:
    url = f"{served_run.studio_url}/api/runs/{served_run.run}/file-links"
    links = {
        "output/chart.png": "output/chart.png", "./draw.py": "draw.py", "draw.py": "draw.py",
        "/workspace/input/rows.csv": "input/rows.csv", "chart.png": "output/chart.png",
        "rows.csv": "input/rows.csv",
    }  # fmt: skip
    outside = ("/etc/hosts", "../x", "output/../draw.py", "output", "", "\0", "x" * 5000)
    assert httpx.post(url, json=[*links, *outside]).json()["paths"] == links
    for body in ("", "{}", "[1]", "[" * 100_000):
        answer = httpx.post(url, content=body)
        assert answer.status_code == 400, body[:9]
        assert answer.json()["error"].endswith(".")


def test_results_are_limited_and_exclude_hidden_files(served_run: ServedRun) -> None:
    run = httpx.post(f"{served_run.studio_url}/api/runs").json()["run"]
    base = f"{served_run.studio_url}/api/runs/{run}"
    for at in range(203):
        httpx.put(f"{base}/files/output/{at}.txt", content=b"x")
    httpx.put(f"{base}/files/output/.git/config", content=b"x")
    tab = httpx.get(f"{base}/results").json()["outputs"]
    assert (len(tab["files"]), tab["more"], tab["complete"]) == (200, 3, True)
    assert {each["step"] for each in tab["files"]} == {None}
