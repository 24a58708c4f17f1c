"""The README and docs/: their examples run, and their links and files exist."""

import ast
import importlib
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

import pytest
from PIL import Image

import agent
from agent.data_folder import DataFolder
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from tests.support import file_run, httpx
from tests.support.file_run import ServedRun
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.turns import SUBMIT, bash
from tests.support.server import create_app, run_server

Body = dict[str, Any]
RunExample = Callable[[str, Callable[[Body], Turn]], str]

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
OUR_PACKAGES = ("agent", "app", "sandbox_ui", "llm_in_sandbox_studio")
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/*.md"))]


def test_every_relative_link_points_to_a_file() -> None:
    broken = [
        f"{page.name}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text())
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_every_mentioned_source_file_exists() -> None:
    missing = [
        f"{page.name}: {name}"
        for page in PAGES
        for name in re.findall(r"`((?:agent|sandbox_ui|static|tests)/[\w./-]+)`", page.read_text())
        if not (ROOT / name).exists()
    ]
    assert missing == []


DESCRIPTIVE = ("What is not protected", "Images", "Dependencies", "Reporting")
"""Sections of SECURITY.md that promise nothing about an attack."""


def test_every_claim_about_security_names_its_test() -> None:
    unnamed = list[str]()
    for section in (ROOT / "SECURITY.md").read_text().split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        if title not in DESCRIPTIVE:
            waiting = list[str]()  # claims that the paragraph after them may name the test of
            for claim in re.split(r"\n(?=- )|\n\n", text.strip()):
                if not re.search("`(tests/|test_|make bench`)", claim):
                    waiting += [] if claim.endswith(":") else [f"{title}: {claim[:60]}"]
                elif not claim.startswith("- "):
                    waiting = []
            unnamed += waiting
    assert unnamed == []


def test_every_test_that_is_named_about_security_exists() -> None:
    named = set(re.findall(r"`(test_\w+)(?:\.py)?`", (ROOT / "SECURITY.md").read_text()))
    files = sorted(ROOT.glob("tests/**/test_*.py"))
    known = {each.stem for each in files}
    known |= {name for each in files for name in re.findall(r"def (test_\w+)", each.read_text())}
    assert named - known == set()


def test_the_docs_import_the_installed_package() -> None:
    examples = [
        each
        for page in PAGES
        for each in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    imports = {
        (node.module or "", alias.name)
        for example in examples
        for node in ast.walk(ast.parse(example))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = {(name, what) for name, what in imports if name.partition(".")[0] in OUR_PACKAGES}
    assert {name.partition(".")[0] for name, _ in own} == {"llm_in_sandbox_studio"}
    for name, what in own:
        _, _, inner = name.partition(".")
        if not inner:
            assert what in agent.__all__
        elif inner != "inspect_extension":  # which needs an environment of its own
            assert hasattr(importlib.import_module(f"agent.{inner}"), what)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_the_file_tree_in_the_readme_matches_the_repository() -> None:
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


def example_containing(containing: str) -> str:
    """Return the only example that contains this text."""
    matches = [
        each
        for page in PAGES
        for each in re.findall(r"```\w+\n(.*?)```", page.read_text(), re.DOTALL)
        if containing in each
    ]
    assert len(matches) == 1
    return str(matches[0])


def run_shell(script: str, folder: Path, **environment: str) -> str:
    """Run an example in bash; fails if one of its commands fails."""
    (folder / ".curlrc").write_text("silent\nshow-error\nfail\n")
    python = str(Path(sys.executable).parent)
    variables = {**os.environ, "CURL_HOME": str(folder), "PYTHONPATH": str(ROOT), **environment}
    variables["PATH"] = f"{python}:{variables['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", script]
    result = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def variables(folder: Path, image: str, endpoint: Endpoint) -> dict[str, str]:
    """Return the environment of an example: its data folder, the image, an endpoint."""
    return {
        "STUDIO_DATA": str(folder / "data"), "STUDIO_IMAGE": image,
        "OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "m", "OPENAI_API_KEY": "k",
    }  # fmt: skip


def is_chart(data: bytes) -> bool:
    """Whether the data is an image of a minimum size with more than one colour."""
    with Image.open(io.BytesIO(data)) as picture:
        colours = picture.convert("RGB").getcolors(1 << 24)
    return min(picture.size) >= 300 and colours is not None and len(colours) > 1


@pytest.fixture(scope="module")
def served_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    draw = file_run.DRAW_CHART.replace("COLOUR", "#2474b5")
    turns = [file_run.bash("", f"{draw}echo a > output/a.txt"), *file_run.submit("Done.\n")]
    with file_run.serve_recorded_run(tmp_path_factory.mktemp("data"), turns) as served_run:
        yield served_run


def http_example(containing: str, served: ServedRun) -> str:
    """Return an example with the address and the run of a served studio."""
    example = example_containing(containing).replace("http://127.0.0.1:7860", served.studio_url)
    return example.replace("runs/RUN", f"runs/{served.run}")


@pytest.mark.contract
def test_the_http_examples_for_files_work(served_run: ServedRun, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.4\n")
    run_shell(http_example("curl -T report.pdf", served_run), tmp_path)
    assert is_chart((tmp_path / "chart.png").read_bytes())
    assert "output/chart.png" in ZipFile(tmp_path / "output.zip").namelist()
    assert "trajectory.json" in " ".join(ZipFile(tmp_path / "run.zip").namelist())
    assert (served_run.workspace / "input" / "report.pdf").read_bytes() == b"%PDF-1.4\n"
    assert (served_run.workspace / "output" / "b.txt").read_text() == "a\n"


@pytest.mark.contract
def test_the_http_examples_for_the_history_work(served_run: ServedRun, tmp_path: Path) -> None:
    pinned, rest = http_example("runs?q=airlines", served_run).split("curl -X DELETE")
    run_shell(pinned, tmp_path)
    history = json.loads(run_shell(f'curl "{served_run.studio_url}/api/runs?q=airlines"', tmp_path))
    assert [(each["title"], each["pinned"]) for each in history["runs"]] == [("Airlines", True)]
    run_url = f"{served_run.studio_url}/api/runs/{served_run.run}"
    unpin = f"""curl -X PATCH -d '{{"pinned": false}}' {run_url}"""
    output = run_shell(f"{unpin} > /dev/null\ncurl -X DELETE{rest}", tmp_path)
    assert '"freed"' in output
    assert json.loads(run_shell(f"curl {served_run.studio_url}/api/runs", tmp_path))["runs"] == []


@pytest.mark.contract
@pytest.mark.engine
def test_the_command_line_example_works(tmp_path: Path, image: str) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "north.txt").write_text("Air A, Air B\n")
    count = bash("wc -w < input/reports/north.txt > output/answer.txt || ls -R input")
    with Endpoint([count, SUBMIT]) as endpoint:
        example = example_containing("Which report names")
        run_shell(example, tmp_path, **variables(tmp_path, image, endpoint))
    assert (tmp_path / "results" / "files" / "answer.txt").read_text() == "4\n"
    assert {"journal.jsonl", "trajectory.json"} <= {
        each.name for each in (tmp_path / "results").iterdir()
    }


@pytest.fixture
def python_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str) -> RunExample:
    """Runs a Python example in a child process, with a scripted endpoint."""

    def run_example(containing: str, respond: Callable[[Body], Turn]) -> str:
        (tmp_path / "data.csv").write_text("a,b\n1,2\n2,5\n")
        (tmp_path / "prompt.md").write_text("Answer in one line, in output/answer.txt.")
        with Endpoint(respond) as endpoint:
            text = example_containing(containing).replace("http://localhost:8000/v1", endpoint.url)
            (tmp_path / "example.py").write_text(text)
            path = f"{ROOT}:{ROOT / 'agent' / 'packaging'}"
            environment = variables(tmp_path, image, endpoint)
            return run_shell("python example.py", tmp_path, PYTHONPATH=path, **environment)

    return run_example


def turn_then_submit(turn: Turn) -> Callable[[Body], Turn]:
    """Answer each message of the user with a turn, and its result with submit."""

    def respond(body: Body) -> Turn:
        roles = [each["role"] for each in body["messages"]]
        return SUBMIT if roles[-1] == "tool" else turn

    return respond


@pytest.mark.contract
@pytest.mark.engine
@pytest.mark.main_path
def test_the_python_example_of_a_run_works(python_example: RunExample, tmp_path: Path) -> None:
    draw = (
        'python3 -c "import pandas, matplotlib.pyplot as plt; '
        "pandas.read_csv('input/data.csv').plot('a', 'b'); plt.savefig('output/chart.png')\""
    )
    output = python_example("for event in run:  #", turn_then_submit(bash(draw))).split()
    assert (output[0], output[-1]) == ("run_started", "run_ended")
    assert is_chart((tmp_path / "chart.png").read_bytes())
    assert (tmp_path / "results" / "trajectory.json").exists()
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.contract
@pytest.mark.engine
def test_the_python_example_of_a_result_works(python_example: RunExample) -> None:
    count = bash("wc -l < input/data.csv >> output/answer.txt")
    output = python_example("And how many columns?", turn_then_submit(count)).splitlines()
    assert output == ["submitted 3 2", "3", "3 ['input/data.csv', 'output/answer.txt']"]


@pytest.mark.contract
@pytest.mark.engine
def test_the_python_example_of_a_comparison_works(
    python_example: RunExample, tmp_path: Path
) -> None:
    count = turn_then_submit(bash("wc -l < input/data.csv > output/answer.txt"))

    def respond(body: Body) -> Turn:
        return count(body) if body.get("tools") else Turn(text="It has 2 lines.")

    output = python_example("studio.compare(", respond)
    assert output.startswith("With a computer: right 2 of 2. Without: right 0 of 2.\n1.0 ")
    assert "Score, mean of 2" in output
    assert (tmp_path / "table.tex").read_text().endswith("How many lines has the file?\n")


@pytest.mark.contract
@pytest.mark.engine
def test_the_python_example_of_prompts_works(python_example: RunExample) -> None:
    systems: list[str] = []

    def respond(body: Body) -> Turn:
        systems.append(body["messages"][0]["content"])
        return turn_then_submit(bash("echo 42 > output/answer.txt"))(body)

    assert python_example("brief = Prompt(", respond).split() == ["42", "42"]
    assert systems[0].endswith("in one line, in output/answer.txt.")
    assert systems[-1] == "Answer in one line, in output/answer.txt."


@pytest.mark.contract
@pytest.mark.engine
def test_the_python_example_of_a_sandbox_works(python_example: RunExample) -> None:
    output = python_example("studio.sandbox(network=", turn_then_submit(SUBMIT))
    assert output.startswith("a\nb\n/tmp\nhello\n  0\n")
    assert "b'some text'" in output
    assert output.endswith("missing.txt does not exist. 2\n")


@pytest.mark.contract
@pytest.mark.engine
def test_the_python_example_of_tools_works(python_example: RunExample) -> None:
    script = [
        Turn(calls=[("price", {"item": "bread"}), ("price", {"item": "salt", "currency": "EUR"})]),
        bash("echo 4 3 4 > words; echo 4.3 > output/answer.txt"),
        Turn(calls=[("count_words", {"path": "words"})]),
        SUBMIT,
    ]
    results: list[str] = []

    def respond(body: Body) -> Turn:
        results[:] = [each["content"] for each in body["messages"] if each["role"] == "tool"]
        turn_index: int = sum(each["role"] == "assistant" for each in body["messages"])
        return script[turn_index]

    assert python_example("def count_words", respond) == "4.3\n"
    seconds = [result.split("\n")[1] for result in (*results[:2], results[3])]
    assert seconds == ["3.2 CHF", "1.1 EUR", '{"4": 2, "3": 1}']


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.parametrize("containing", ["ThreadPoolExecutor(8)", "asyncio.run(main())"])
def test_the_python_examples_of_concurrent_runs_work(
    python_example: RunExample, containing: str
) -> None:
    output = python_example(containing, turn_then_submit(bash("echo hello > output/answer.txt")))
    assert "hello" in output
    if "asyncio" in containing:
        assert output.endswith("['1\\n', '1\\n2\\n', '1\\n2\\n3\\n']\n")
    else:
        assert output.count("hello") == 8


def test_every_python_example_of_the_api_is_executed() -> None:
    page = (ROOT / "docs" / "python-api.md").read_text()
    source = Path(__file__).read_text()
    referenced = re.findall(r'(?:python_example\(|parametrize\("containing", \[)"([^"]+)"', source)
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    referenced += ["asyncio.run(main())"]
    assert [each for each in examples if not any(name in each for name in referenced)] == []


@pytest.mark.nightly
@pytest.mark.engine
def test_the_gradio_client_example_works_without_an_endpoint(
    tmp_path: Path, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(data=tmp_path, image=image, warm_sandboxes=0)
    provider = DockerSandboxProvider(settings, DataFolder(tmp_path))
    with run_server(create_app(settings, provider)) as studio_url:
        exec(example_containing("gradio_client").replace("http://127.0.0.1:7860", studio_url), {})
        *states, files = capsys.readouterr().out.strip().splitlines()
        assert states[-1].startswith("submitted ")
        by_name = {each["name"]: each["address"] for each in ast.literal_eval(files)}
        chart = httpx.get(f"{studio_url}{by_name['daylight.png']}").content
    assert is_chart(chart)


@pytest.mark.nightly
@pytest.mark.engine
def test_the_examples_of_tasks_and_rollouts_work(tmp_path: Path, image: str) -> None:
    example = example_containing("python -m agent rollout").replace("--count 100", "--count 2")
    with Endpoint(turn_then_submit(bash("echo no > output/answer.txt"))) as endpoint:
        output = run_shell(example, tmp_path, **variables(tmp_path, image, endpoint))
    assert len((tmp_path / "tasks.jsonl").read_text().splitlines()) == 2
    assert len((tmp_path / "results" / "results.jsonl").read_text().splitlines()) == 2
    assert "95 %" in output
