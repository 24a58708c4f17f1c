"""The README and docs/: their examples run, their links and files exist."""

import ast
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest
from PIL import Image

from agent.data_folder import DataFolder
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from tests.support import made_run
from tests.support.made_run import ServedRun
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import create_app, run_server

Body = dict[str, Any]
RunExample = Callable[[str, Callable[[Body], Turn]], str]

ROOT = Path(__file__).parents[1]
SUBMIT = Turn(calls=[("submit", {})])
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_the_code_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`((?:agent|sandbox_ui|static|tests)/[\w./-]+)`", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_readme_fits_on_a_few_screens() -> None:
    assert len(README.splitlines()) <= 150


def test_the_tree_of_the_readme_is_that_of_the_repository() -> None:
    tree = re.search(r"## How it is built\n.*?```\n(.*?)```", README, re.DOTALL)
    assert tree
    folder = ROOT
    for line in tree[1].splitlines():
        names = re.split(r"\s{2,}", line.strip())[0]
        if not line.startswith(" "):
            folder = ROOT / names if names.endswith("/") else ROOT
        parent = folder if line.startswith(" ") else ROOT
        for name in names.split(", "):
            assert (parent / name).exists(), name


def block(containing: str) -> str:
    """The one example that contains this text."""
    found = [
        each
        for page in PAGES
        for each in re.findall(r"```\w+\n(.*?)```", page.read_text(), re.DOTALL)
        if containing in each
    ]
    assert len(found) == 1
    return str(found[0])


def shell(script: str, folder: Path, **environment: str) -> str:
    """Run an example as a person does; fails where one of its commands fails."""
    (folder / ".curlrc").write_text("silent\nshow-error\nfail\n")
    python = str(Path(sys.executable).parent)
    known = {**os.environ, "CURL_HOME": str(folder), "PYTHONPATH": str(ROOT), **environment}
    known["PATH"] = f"{python}:{known['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def looks_like_a_chart(data: bytes) -> bool:
    """Whether it is a picture of some size in which something is drawn."""
    with Image.open(io.BytesIO(data)) as picture:
        colours = picture.convert("RGB").getcolors(1 << 24)
    return min(picture.size) >= 300 and colours is not None and len(colours) > 1


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    draw = made_run.DRAW.replace("COLOUR", "#2474b5")
    played = [made_run.bash("", f"{draw}echo a > output/a.txt"), *made_run.submit("Done.\n")]
    with made_run.serve_recorded_run(tmp_path_factory.mktemp("data"), played) as world:
        yield world


def test_the_examples_of_files_over_http_run(world: ServedRun, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.4\n")
    example = block("curl -T report.pdf").replace("http://127.0.0.1:7860", world.address)
    shell(example.replace("runs/RUN", f"runs/{world.run}"), tmp_path)
    assert looks_like_a_chart((tmp_path / "chart.png").read_bytes())
    assert "output/chart.png" in ZipFile(tmp_path / "output.zip").namelist()
    assert "trajectory.json" in " ".join(ZipFile(tmp_path / "run.zip").namelist())
    assert (world.workspace / "input" / "report.pdf").read_bytes() == b"%PDF-1.4\n"
    assert (world.workspace / "output" / "b.txt").read_text() == "a\n"


def test_the_examples_of_the_history_over_http_run(world: ServedRun, tmp_path: Path) -> None:
    example = block("runs?q=airlines").replace("http://127.0.0.1:7860", world.address)
    pinned, rest = example.replace("runs/RUN", f"runs/{world.run}").split("curl -X DELETE")
    shell(pinned, tmp_path)
    listed = json.loads(shell(f'curl "{world.address}/api/runs?q=airlines"', tmp_path))
    assert [(each["title"], each["pinned"]) for each in listed["runs"]] == [("Airlines", True)]
    unpin = f"""curl -X PATCH -d '{{"pinned": false}}' {world.address}/api/runs/{world.run}"""
    told = shell(f"{unpin} > /dev/null\ncurl -X DELETE{rest}", tmp_path)
    assert '"freed"' in told
    assert json.loads(shell(f"curl {world.address}/api/runs", tmp_path))["runs"] == []


@pytest.mark.engine
def test_the_example_of_a_run_without_the_page_runs(tmp_path: Path, image: str) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "north.txt").write_text("Air A, Air B\n")
    count = {"command": "wc -w < input/reports/north.txt > output/answer.txt || ls -R input"}
    played = [Turn(calls=[("execute_bash", count)]), Turn(calls=[("submit", {})])]
    with Endpoint(played) as endpoint:
        shell(
            block("Which report names"), tmp_path, STUDIO_DATA=str(tmp_path / "data"),
            STUDIO_IMAGE=image, OPENAI_BASE_URL=endpoint.url, OPENAI_MODEL="m", OPENAI_API_KEY="k",
        )  # fmt: skip
    assert (tmp_path / "results" / "files" / "answer.txt").read_text() == "4\n"
    assert {"journal.jsonl", "trajectory.json"} <= {
        each.name for each in (tmp_path / "results").iterdir()
    }


@pytest.fixture
def python_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str) -> RunExample:
    """Runs an example as a program, with an endpoint that plays these turns."""

    def run_example(containing: str, play: Callable[[Body], Turn]) -> str:
        (tmp_path / "data.csv").write_text("a,b\n1,2\n2,5\n")
        (tmp_path / "prompt.md").write_text("Answer in one line, in output/answer.txt.")
        with Endpoint(play) as endpoint:
            text = block(containing).replace("http://localhost:8000/v1", endpoint.url)
            (tmp_path / "example.py").write_text(text)
            return shell(
                "python example.py", tmp_path, PYTHONPATH=f"{ROOT}:{ROOT / 'agent' / 'packaging'}",
                STUDIO_DATA=str(tmp_path / "data"), STUDIO_IMAGE=image,
                OPENAI_BASE_URL=endpoint.url, OPENAI_MODEL="m", OPENAI_API_KEY="k",
            )  # fmt: skip

    return run_example


def bash(command: str) -> Turn:
    return Turn(calls=[("execute_bash", {"command": command})])


def once(turn: Turn) -> Callable[[Body], Turn]:
    """Plays a turn after each message of the user, then submits."""

    def play(body: Body) -> Turn:
        said = [each["role"] for each in body["messages"]]
        return SUBMIT if said[-1] == "tool" else turn

    return play


@pytest.mark.engine
def test_the_python_example_of_a_run_runs(python_example: RunExample, tmp_path: Path) -> None:
    draw = (
        'python3 -c "import pandas, matplotlib.pyplot as plt; '
        "pandas.read_csv('input/data.csv').plot('a', 'b'); plt.savefig('output/chart.png')\""
    )
    told = python_example("for event in run:  #", once(bash(draw))).split()
    assert (told[0], told[-1]) == ("run_started", "run_ended")
    assert looks_like_a_chart((tmp_path / "chart.png").read_bytes())
    assert (tmp_path / "results" / "trajectory.json").exists()


@pytest.mark.engine
def test_the_python_example_of_a_result_runs(python_example: RunExample) -> None:
    count = bash("wc -l < input/data.csv >> output/answer.txt")
    told = python_example("How many lines has the file", once(count)).splitlines()
    assert told == ["submitted 3 2", "3", "3 ['input/data.csv', 'output/answer.txt']"]


@pytest.mark.engine
def test_the_python_example_of_prompts_runs(python_example: RunExample) -> None:
    systems: list[str] = []

    def play(body: Body) -> Turn:
        systems.append(body["messages"][0]["content"])
        return once(bash("echo 42 > output/answer.txt"))(body)

    assert python_example("brief = Prompt(", play).split() == ["42", "42"]
    assert systems[0].endswith("in one line, in output/answer.txt.")
    assert systems[-1] == "Answer in one line, in output/answer.txt."


@pytest.mark.engine
def test_the_python_example_of_a_sandbox_runs(python_example: RunExample) -> None:
    told = python_example("studio.sandbox(network=", once(SUBMIT))
    assert told.startswith("a\nb\n/tmp\nhello\n  0\n")
    assert "b'some text'" in told
    assert told.endswith("missing.txt does not exist. 2\n")


@pytest.mark.engine
def test_the_python_example_of_tools_runs(python_example: RunExample) -> None:
    script = [
        Turn(calls=[("price", {"item": "bread"}), ("price", {"item": "salt", "currency": "EUR"})]),
        bash("echo 4 3 4 > words; echo 4.3 > output/answer.txt"),
        Turn(calls=[("count_words", {"path": "words"})]),
        SUBMIT,
    ]
    results: list[str] = []

    def play(body: Body) -> Turn:
        results[:] = [each["content"] for each in body["messages"] if each["role"] == "tool"]
        place: int = sum(each["role"] == "assistant" for each in body["messages"])
        return script[place]

    assert python_example("def count_words", play) == "4.3\n"
    named = [result.split("\n", 1)[1] for result in (*results[:2], results[3])]
    assert [each.split("\n")[0] for each in named] == ["3.2 CHF", "1.1 EUR", '{"4": 2, "3": 1}']


@pytest.mark.engine
@pytest.mark.parametrize("containing", ["ThreadPoolExecutor(8)", "asyncio.run(main())"])
def test_the_python_examples_of_runs_in_parallel_run(
    python_example: RunExample, containing: str
) -> None:
    told = python_example(containing, once(bash("echo hello > output/answer.txt")))
    assert "hello" in told
    if "asyncio" in containing:
        assert told.endswith("['1\\n', '1\\n2\\n', '1\\n2\\n3\\n']\n")
    else:
        assert told.count("hello") == 8


def test_every_python_example_of_the_api_is_executed() -> None:
    page = (ROOT / "docs" / "python-api.md").read_text()
    source = Path(__file__).read_text()
    named = re.findall(r'(?:python_example\(|parametrize\("containing", \[)"([^"]+)"', source)
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    named += ["asyncio.run(main())"]
    assert [each for each in examples if not any(name in each for name in named)] == []


@pytest.mark.engine
def test_the_example_of_gradio_s_client_makes_a_chart_without_an_endpoint(
    tmp_path: Path, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(data=tmp_path, image=image)
    machine = DockerSandboxProvider(settings, DataFolder(tmp_path))
    with run_server(create_app(settings, machine)) as address:
        exec(block("gradio_client").replace("http://127.0.0.1:7860", address), {})
        *states, files = capsys.readouterr().out.strip().splitlines()
        assert states[-1].startswith("submitted ")
        by_name = {each["name"]: each["address"] for each in ast.literal_eval(files)}
        chart = httpx.get(f"{address}{by_name['daylight.png']}").content
    assert looks_like_a_chart(chart)


@pytest.mark.engine
def test_the_examples_of_tasks_with_answers_run(tmp_path: Path, image: str) -> None:
    example = block("python -m agent rollout").replace("--count 100", "--count 2")
    answer = {"command": "echo no > output/answer.txt"}

    def play(body: dict[str, Any]) -> Turn:
        first = not any(each["role"] == "tool" for each in body["messages"])
        return Turn(calls=[("execute_bash", answer) if first else ("submit", {})])

    with Endpoint(play) as endpoint:
        told = shell(
            example, tmp_path, STUDIO_DATA=str(tmp_path / "data"), STUDIO_IMAGE=image,
            OPENAI_BASE_URL=endpoint.url, OPENAI_MODEL="m", OPENAI_API_KEY="k",
        )  # fmt: skip
    assert len((tmp_path / "tasks.jsonl").read_text().splitlines()) == 2
    assert len((tmp_path / "results" / "results.jsonl").read_text().splitlines()) == 2
    assert "95 %" in told
