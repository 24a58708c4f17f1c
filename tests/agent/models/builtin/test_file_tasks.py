"""The built-in model at one chore of each family, and at each task that the page offers.

Through the real page, its own engine and a real sandbox. It is a small model at its default
temperature: of three chores of a family one has to be done. How often it does them is measured by
``python -m tests.bench builtin``.
"""

import io
import math
import re
import zipfile
from collections.abc import Iterator, Mapping

import docker
import pytest
from playwright.sync_api import Browser, FilePayload, expect

from agent.data_folder import DataFolder
from agent.examples import Example, examples
from agent.models.builtin.install import find_files
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from agent.tasks.file_tasks import chart_checks, checks
from agent.tasks.file_tasks.generate import families, generate_file_tasks
from agent.tasks.file_tasks.task import ContentCheck, FileTask
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab, open_studio

pytestmark = [
    pytest.mark.long,
    pytest.mark.engine,
    pytest.mark.browser,
    pytest.mark.builtin,
    pytest.mark.timeout(400),
]

OVER = re.compile("answered|submitted|limit|failed")
LONG = 100_000
"""Milliseconds that a run may take on processors that are busy."""

OFFERED = [each for each in examples() if each.builtin]
VISITORS = [1840, 2115, 2760, 3320, 3985, 4210, 5130, 5475, 3640, 2895, 1980, 2410]
BUSY = ["April", "May", "June", "July", "August", "September"]
RIGHT: Mapping[str, tuple[str, ContentCheck]] = {
    "Plot a function": ("output/sine.png", chart_checks.shows_curves([math.sin], 0, 10)),
    "Chart a table": ("output/visitors.png", chart_checks.shows_bars(VISITORS)),
    "Average a column": ("output/answer.txt", checks.number_equals(3313.333)),
    "Filter a table": (
        "output/busy.csv",
        lambda data: [row.split(",")[0] for row in data.decode().split()[1:]] == BUSY,
    ),
    "Convert a table": ("output/museum.md", checks.contains_all("| January", "| 12050 |")),
    "Look something up": ("output/answer.txt", checks.short_answer("040 555 0183")),
    "Search a text": ("output/garden.txt", lambda data: data.count(b"garden") == 3),
    "Make a web page": ("output/diary.html", checks.contains_all("Ann came by", "Sunday.")),
}


@pytest.fixture(scope="module")
def address(
    engine: docker.DockerClient, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    settings = Settings(data=tmp_path_factory.mktemp("data"), image=image)
    data = DataFolder(settings.data)
    with run_server(create_app(settings, DockerSandboxProvider(settings, data))) as address:
        yield address


@pytest.fixture
def studio(browser: Browser, address: str) -> Iterator[StudioTab]:
    with open_studio(browser, address) as studio:
        yield studio


def files_of(studio: StudioTab) -> Mapping[str, bytes]:
    """The workspace of the run that is shown, path → content."""
    run = studio.page.evaluate("new URLSearchParams(location.search).get('run')")
    root = studio.page.url.split("?")[0]
    packed = studio.page.request.get(f"{root}api/runs/{run}/zip", fail_on_status_code=True)
    with zipfile.ZipFile(io.BytesIO(packed.body())) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: archive.read(name) for name in names}


def given(chore: FileTask) -> list[FilePayload]:
    contents = {
        name: content.encode() if isinstance(content, str) else content
        for name, content in chore.input_files.items()
    }
    return [
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        for name, content in contents.items()
    ]


def done(studio: StudioTab, address: str, chore: FileTask) -> bool:
    """Ask for a chore on a page of its own, and look at what came of it.

    A page that went on would show the state of the run before until the new one begins.
    """
    studio.open(address)
    if chore.input_files:
        studio.page.get_by_label("Files to attach").set_input_files(given(chore))
        chips = studio.page.get_by_role("group", name="Attached files").locator(".chip")
        expect(chips).to_have_count(len(chore.input_files))
    studio.task.fill(chore.text)
    studio.button("Run").click()
    expect(studio.state).to_have_text(OVER, timeout=LONG)
    said = studio.timeline.inner_text()
    return chore.is_solved(files_of(studio), said)


@pytest.mark.parametrize("family", families())
def test_a_task_of_each_family_succeeds_on_the_page(
    studio: StudioTab, address: str, family: str
) -> None:
    asked = list(generate_file_tasks("parameters", 3, 20261121, family))
    texts = [chore.text for chore in asked]
    assert any(done(studio, address, chore) for chore in asked), texts


@pytest.mark.parametrize("offered", OFFERED, ids=lambda each: each.title)
def test_each_offered_task_is_solved_correctly(
    studio: StudioTab, address: str, offered: Example
) -> None:
    path, right = RIGHT[offered.title]
    made = (after_offer(studio, address, offered) for _ in range(2))
    assert any(right(files.get(path, b"")) for files in made)


def after_offer(studio: StudioTab, address: str, offered: Example) -> Mapping[str, bytes]:
    """The files when a task that is offered has ended; chosen on a page of its own."""
    studio.open(address)
    studio.button("Examples").click()
    dialog = studio.page.get_by_role("dialog", name="Examples")
    dialog.get_by_role("button", name=offered.title).click()
    expect(studio.state).to_have_text(OVER, timeout=LONG)
    expect(studio.state).to_have_text("submitted")
    return files_of(studio)
