"""The demonstrations, played in a Docker sandbox; their results are checked."""

import array
import csv
import re
import shutil
import string
import wave
from collections.abc import Iterator
from itertools import pairwise
from math import sqrt
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageChops, ImageSequence, ImageStat
from playwright.sync_api import expect, sync_playwright

from agent.events import ModelAnswered, RunEnded, ToolEnded
from agent.limits import Limits
from agent.loop.conversation import Conversation
from agent.loop.loop import Round, run_round
from agent.models.demonstration import DemonstrationModel, load
from agent.runs.outputs.pictures import PictureStore
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.tools.toolbox import Toolbox
from agent.util.stop import Stop
from agent.vision.eyes import Eyes
from tests.support.browser.chromium import CHROMIUM, FLAGS, LAUNCHER
from tests.support.component.events import started

pytestmark = pytest.mark.contract


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "output"


@pytest.fixture
def sandbox(engine: Client, image: str, tmp_path: Path) -> Iterator[DockerSandbox]:
    sandbox = DockerSandbox.create(engine, ContainerSpec(image, "tests", "play", tmp_path))
    yield sandbox
    sandbox.close()


def play(name: str, sandbox: DockerSandbox, mistake: str = "") -> list[ToolEnded]:
    """Play a demonstration to its end, where one call fails with a mistake, or none without one.

    Returns the results of its calls.
    """
    demonstration = load(name)
    for path in demonstration.inputs:
        shutil.copy(path, sandbox.workspace / "input")
    start = started(demonstration.task, model="Demonstration", metered=False, system="Work.")
    model = DemonstrationModel(demonstration, pace=0)
    conversation = Conversation([start])
    eyes = Eyes(lambda: model.picture_limits, PictureStore(sandbox.workspace.parent).keep)
    toolbox = Toolbox(sandbox, eyes=eyes)
    events = list(run_round(Round(model, toolbox, conversation, Limits(), Stop())))
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.status == "submitted", ended.reason
    assert sum(isinstance(event, ModelAnswered) for event in events) == len(demonstration.turns)
    results = [event for event in events if isinstance(event, ToolEnded)]
    failed = [result.observation for result in results if not result.ok]
    assert len(failed) == bool(mistake)
    assert mistake in "".join(failed)
    return results


def assert_drawn(path: Path, size: tuple[int, int], colours: int = 0) -> None:
    """Check the size of a picture, and that it has more than so many colours."""
    with Image.open(path) as picture:
        assert picture.size == size
        assert len(picture.convert("RGB").getcolors(1 << 22) or []) > colours


@pytest.mark.engine
def test_the_rivers_are_looked_at_before_and_after(sandbox: DockerSandbox, output: Path) -> None:
    results = play("rivers", sandbox)
    (first,), (second,) = (each.pictures for each in results if each.pictures)
    assert (first.source, second.source) == ("output/rivers.png",) * 2
    assert first.file != second.file
    assert_drawn(output / "rivers.png", (second.width, second.height), 20)


@pytest.mark.engine
def test_the_chart_handles_the_polar_day(sandbox: DockerSandbox, output: Path) -> None:
    play("chart", sandbox, "ValueError")
    assert_drawn(output / "daylight.png", (1600, 1000), 200)
    answer = (output / "answer.txt").read_text(encoding="utf-8")
    assert "16 h 11 min" in answer
    assert "18 May to 25 July" in answer


@pytest.mark.engine
def test_the_music_has_cd_quality_and_does_not_clip(sandbox: DockerSandbox, output: Path) -> None:
    play("music", sandbox, "cut off")
    with wave.open(str(output / "canon.wav")) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (44100, 2, 2)
        assert 20 < sound.getnframes() / sound.getframerate() < 25
        samples = array.array("h", sound.readframes(sound.getnframes()))
    assert 0.8 < max(map(abs, samples)) / 32768 < 0.95
    assert_drawn(output / "score.png", (1600, 900))


@pytest.mark.engine
def test_the_document_answers_are_correct_and_the_documents_not_read_whole(
    sandbox: DockerSandbox, output: Path
) -> None:
    results = play("documents", sandbox, "UnicodeDecodeError")
    answer = (output / "answer.txt").read_text(encoding="utf-8")
    for year, days in {1994: 13, 1995: 19, 1996: 23, 1997: 16}.items():
        assert re.search(rf"^{year} +{days} ", answer, re.MULTILINE)
    assert "18 h 50 min" in answer
    assert_drawn(output / "fog.png", (1600, 900))
    read = sum(len(result.observation) for result in results)
    assert read < sum(path.stat().st_size for path in load("documents").inputs) / 20


@pytest.mark.engine
def test_the_orbits_are_closed_and_conserve_energy(sandbox: DockerSandbox, output: Path) -> None:
    play("physics", sandbox, "energy must stay the same")
    answer = (output / "answer.txt").read_text(encoding="utf-8")
    assert re.search(r"at most 1 part in [1-9]\d,\d{3},\d{3}", answer)
    # The period of the figure eight of Chenciner and Montgomery is 6.32591398.
    assert re.search(r"one loop +6\.3259 long", answer)
    assert_drawn(output / "eight.png", (1600, 1000), 1000)


@pytest.mark.engine
def test_cleaning_the_survey_keeps_valid_values(sandbox: DockerSandbox, output: Path) -> None:
    play("survey", sandbox, "a bath and not a lake")
    with (output / "cleaned.csv").open(encoding="utf-8", newline="") as file:
        cleaned = sorted(float(row["temperature_c"]) for row in csv.DictReader(file))
    assert (len(cleaned), cleaned[0], cleaned[-1]) == (186, 8.4, 24.6)
    assert sum(cleaned) == pytest.approx(3658.6, abs=186 * 0.05)
    report = (output / "report.md").read_text(encoding="utf-8")
    assert "**19.7 °C** on average" in report
    assert "over 186 readings" in report
    assert_drawn(output / "lake.png", (1600, 1000), 200)


@pytest.mark.engine
def test_every_claim_of_the_sentence_is_true(sandbox: DockerSandbox, output: Path) -> None:
    play("wording", sandbox, "no sentence tells the truth")
    sentence = (output / "answer.txt").read_text(encoding="utf-8")
    for letter in string.ascii_lowercase:
        count = sentence.lower().count(letter)
        assert f" {number_in_words(count)} {letter}{'s' * (count > 1)}" in sentence.replace("'", "")
    assert_drawn(output / "sentence.png", (1600, 1000), 200)


@pytest.mark.engine
def test_the_knight_animation_loops_seamlessly(sandbox: DockerSandbox, output: Path) -> None:
    play("animation", sandbox, "not a knight yet")
    with Image.open(output / "knight.webp") as animation:
        assert (animation.size, animation.info["loop"]) == ((640, 640), 0)
        frames, durations = [], []
        for frame in ImageSequence.Iterator(animation):
            frames.append(frame.convert("L"))
            durations.append(frame.info["duration"])
    assert durations == [40] * 150
    assert all(ImageStat.Stat(frame).extrema[0][1] > 200 for frame in frames)
    steps = [mean_difference(one, other) for one, other in pairwise(frames)]
    assert min(steps) > 0
    assert mean_difference(frames[-1], frames[0]) <= max(steps)


def mean_difference(one: Image.Image, other: Image.Image) -> float:
    return ImageStat.Stat(ImageChops.difference(one, other)).mean[0]


@pytest.mark.engine
def test_the_walk_length_ignores_the_two_outliers(sandbox: DockerSandbox, output: Path) -> None:
    play("journey", sandbox, "nobody walks")
    page = (output / "journey.html").read_text(encoding="utf-8")
    for length in (18.2, 11.5, 12.6, 14.5, 11.6, 68.3):
        assert f"{length} km" in page
    assert "No signal in the gorge" in page
    assert "<script" not in page
    assert "//" not in page


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.browser
def test_the_walk_is_keyboard_operable_and_offline(sandbox: DockerSandbox, output: Path) -> None:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    play("journey", sandbox, "nobody walks")
    url = (output / "journey.html").as_uri()
    requests: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=LAUNCHER, args=FLAGS)
        page = browser.new_page(java_script_enabled=False, viewport={"width": 390, "height": 844})
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        expect(page.get_by_text("18 h 36")).to_be_visible()
        page.get_by_role("radio", name="All").press("ArrowRight")
        page.get_by_role("radio", name="1").press("ArrowRight")
        expect(page.get_by_role("heading", name="Nordholm to Ternvik")).to_be_visible()
        expect(page.get_by_text("18 h 36")).to_be_hidden()
        browser.close()
    assert requests == [url]


@pytest.mark.engine
def test_the_poster_is_written_as_png_and_svg(sandbox: DockerSandbox, output: Path) -> None:
    results = play("poster", sandbox, "covers 2 of Cassiopeia")
    assert "covers 2" not in results[-2].observation
    assert_drawn(output / "poster.png", (1754, 2480), 1000)
    svg = ElementTree.parse(output / "poster.svg").getroot()
    assert svg.get("viewBox") == "0 0 1000 1414"
    assert len(svg) > 1000
    assert not list(svg.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.engine
def test_the_molecules_match_textbook_values(sandbox: DockerSandbox, output: Path) -> None:
    play("molecule", sandbox, "should be 8.000 beta")
    answer = (output / "answer.txt").read_text(encoding="utf-8")
    naphthalene, azulene = sqrt(5) - 1, 0.4773 + 0.4004
    assert re.search(rf"^step .* {naphthalene:.3f} +{azulene:.3f}$", answer, re.MULTILINE)
    assert f"{286 * naphthalene / azulene:.0f} nm" in answer
    assert re.search(r"^exact mass in u +128\.0626 +128\.0626$", answer, re.MULTILINE)
    assert_drawn(output / "azulene.png", (1600, 1000), 200)


WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)


def number_in_words(number: int) -> str:
    """Spell out a number below forty."""
    words = WORDS.split()
    tens, ones = divmod(number, 10)
    if tens < 2:
        return words[number]
    return {2: "twenty", 3: "thirty"}[tens] + (f"-{words[ones]}" if ones else "")
