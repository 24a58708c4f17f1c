"""The built-in model solves file tasks of two families, and every example on the page.

The model is small: of six tasks of a family, and of six attempts at an example, one must succeed.
``python -m tests.bench builtin`` measures how often it solves those of every family.
"""

import io
import math
import re
import zipfile
from collections.abc import Iterator, Mapping

import pytest
from playwright.sync_api import Browser, FilePayload, expect

from agent.data_folder import DataFolder
from agent.examples import Example, examples
from agent.models.builtin.install import find_files
from agent.provisioning.provider import DockerSandboxProvider
from agent.sandbox.engine.client import Client
from agent.settings import Settings
from agent.tasks.file_tasks import chart_checks, checks
from agent.tasks.file_tasks.generate import generate_file_tasks
from agent.tasks.file_tasks.task import ContentCheck, FileTask
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab, open_studio

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.engine,
    pytest.mark.browser,
    pytest.mark.builtin,
    pytest.mark.timeout(400),
]

END_STATES = re.compile("answered|submitted|limit|failed")
RUN_TIMEOUT_MS = 100_000
"""Milliseconds that a run may take on a busy machine."""

ATTEMPTS = 6
EXAMPLES = [each for each in examples() if each.builtin and not each.expected]
VISITORS = [1840, 2115, 2760, 3320, 3985, 4210, 5130, 5475, 3640, 2895, 1980, 2410]
BUSY_MONTHS = ["April", "May", "June", "July", "August", "September"]
EXPECTED_FILES: Mapping[str, tuple[str, ContentCheck]] = {
    "Plot a function": ("output/sine.png", chart_checks.shows_curves([math.sin], 0, 10)),
    "Chart a table": ("output/visitors.png", chart_checks.shows_bars(VISITORS)),
    "Average a column": ("output/answer.txt", checks.number_equals(3313.333)),
    "Filter a table": (
        "output/busy.csv",
        lambda data: [row.split(",")[0] for row in data.decode().split()[1:]] == BUSY_MONTHS,
    ),
    "Convert a table": ("output/museum.md", checks.contains_all("| January", "| 12050 |")),
    "Look something up": ("output/answer.txt", checks.short_answer("040 555 0183")),
    "Search a text": ("output/garden.txt", lambda data: data.count(b"garden") == 3),
    "Make a web page": ("output/diary.html", checks.contains_all("Ann came by", "Sunday.")),
}


@pytest.fixture(scope="module")
def studio_url(
    engine: Client, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    settings = Settings(data=tmp_path_factory.mktemp("data"), image=image)
    data = DataFolder(settings.data)
    with run_server(create_app(settings, DockerSandboxProvider(settings, data))) as studio_url:
        yield studio_url


@pytest.fixture
def studio(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    with open_studio(browser, studio_url) as studio:
        yield studio


def read_workspace(studio: StudioTab) -> Mapping[str, bytes]:
    """Return the files of the shown run's workspace, path → content."""
    run = studio.page.evaluate("new URLSearchParams(location.search).get('run')")
    root = studio.page.url.split("?")[0]
    response = studio.page.request.get(f"{root}api/runs/{run}/zip", fail_on_status_code=True)
    with zipfile.ZipFile(io.BytesIO(response.body())) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: archive.read(name) for name in names}


def upload_payloads(task: FileTask) -> list[FilePayload]:
    return [
        {
            "name": name,
            "mimeType": "application/octet-stream",
            "buffer": content.encode() if isinstance(content, str) else content,
        }
        for name, content in task.input_files.items()
    ]


def solve(studio: StudioTab, studio_url: str, task: FileTask) -> bool:
    """Run a task on a newly loaded page; returns whether it is solved.

    Without the reload, the page would show the state of the previous run until the new one starts.
    """
    studio.open(studio_url)
    if task.input_files:
        studio.page.get_by_label("Files to attach").set_input_files(upload_payloads(task))
        chips = studio.page.get_by_role("group", name="Attached files").locator(".chip")
        expect(chips).to_have_count(len(task.input_files))
    studio.task.fill(task.text)
    studio.button("Run").click()
    expect(studio.state).to_have_text(END_STATES, timeout=RUN_TIMEOUT_MS)
    answer = studio.timeline.inner_text()
    return task.is_solved(read_workspace(studio), answer)


@pytest.mark.parametrize("family", ["document", "outside"])
def test_a_task_of_a_family_succeeds_on_the_page(
    studio: StudioTab, studio_url: str, family: str
) -> None:
    tasks = list(generate_file_tasks("parameters", ATTEMPTS, 20261121, family))
    texts = [task.text for task in tasks]
    assert any(solve(studio, studio_url, task) for task in tasks), texts


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.title)
def test_each_example_is_solved_correctly(
    studio: StudioTab, studio_url: str, example: Example
) -> None:
    path, is_correct = EXPECTED_FILES[example.title]
    attempts = (run_example(studio, studio_url, example) for _ in range(ATTEMPTS))
    assert any(is_correct(files.get(path, b"")) for files in attempts)


def run_example(studio: StudioTab, studio_url: str, example: Example) -> Mapping[str, bytes]:
    """Run an example on a newly loaded page; returns the files that it submitted."""
    studio.open(studio_url)
    studio.button("Examples").click()
    dialog = studio.page.get_by_role("dialog", name="Examples")
    dialog.get_by_role("button", name=example.title).click()
    expect(studio.state).to_have_text(END_STATES, timeout=RUN_TIMEOUT_MS)
    return read_workspace(studio) if studio.state.inner_text() == "submitted" else {}
