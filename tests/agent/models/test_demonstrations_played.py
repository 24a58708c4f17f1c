"""The demonstrations, played in a Docker sandbox; their results are checked."""

import array
import csv
import re
import shutil
import string
import wave
from collections.abc import Iterator
from itertools import pairwise
from math import cos, dist, radians, sqrt
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
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import Client
from agent.tools.toolbox import Toolbox
from agent.util.cancellation import Stop
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


def play_demonstration(name: str, sandbox: DockerSandbox) -> list[ToolEnded]:
    """Play a demonstration to its end; returns its calls' results, ``submit`` included."""
    demonstration = load(name)
    for path in demonstration.inputs:
        shutil.copy(path, sandbox.workspace / "input")
    start = started(demonstration.task, model="Demonstration", metered=False, system="Work.")
    conversation = Conversation([start])
    model = DemonstrationModel(demonstration, pace=0)
    events = list(run_round(Round(model, Toolbox(sandbox), conversation, Limits(), Stop())))
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.status == "submitted", ended.reason
    assert sum(isinstance(event, ModelAnswered) for event in events) == len(demonstration.turns)
    return [event for event in events if isinstance(event, ToolEnded)]


def failures(results: list[ToolEnded]) -> list[ToolEnded]:
    return [result for result in results if not result.ok]


def assert_drawn(path: Path, size: tuple[int, int], colours: int = 0) -> None:
    """Check the size of a picture, and that it has more than so many colours."""
    with Image.open(path) as picture:
        assert picture.size == size
        assert len(picture.convert("RGB").getcolors(1 << 22) or []) > colours


@pytest.mark.engine
def test_the_chart_handles_the_polar_day(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("chart", sandbox))
    assert "ValueError" in failed.observation
    assert_drawn(output / "daylight.png", (1600, 1000), 200)
    answer = (output / "answer.txt").read_text(encoding="utf-8")
    assert "16 h 11 min" in answer
    assert "18 May to 25 July" in answer


@pytest.mark.engine
def test_the_music_has_cd_quality_and_does_not_clip(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("music", sandbox))
    assert "cut off" in failed.observation
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
    results = play_demonstration("documents", sandbox)
    (failed,) = failures(results)
    assert "UnicodeDecodeError" in failed.observation
    answer = (output / "answer.txt").read_text(encoding="utf-8")
    for year, days in fog_days().items():
        assert re.search(rf"^{year} +{days} ", answer, re.MULTILINE)
    assert "18 h 50 min" in answer
    assert_drawn(output / "fog.png", (1600, 900))
    read = sum(len(result.observation) for result in results)
    assert read < sum(path.stat().st_size for path in load("documents").inputs) / 20


@pytest.mark.engine
def test_the_orbits_are_closed_and_conserve_energy(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("physics", sandbox))
    assert "energy must stay the same" in failed.observation
    answer = (output / "answer.txt").read_text(encoding="utf-8")
    energy_match = re.search(r"at most 1 part in ([\d,]+)", answer)
    assert energy_match is not None
    assert int(energy_match[1].replace(",", "")) > 10_000_000
    period_match = re.search(r"one loop +(\d\.\d{4}) long", answer)
    assert period_match is not None
    assert float(period_match[1]) == pytest.approx(orbit_period(), abs=1e-4)
    assert_drawn(output / "eight.png", (1600, 1000), 1000)


def orbit_period() -> float:
    """Compute the orbital period with a Runge-Kutta method, unlike the demonstration.

    After a sixth of the period, the star that starts on the left passes the middle.
    """

    def rates(state: list[complex]) -> list[complex]:
        a, b, c = state[:3]
        ab, bc, ca = (d / abs(d) ** 3 for d in (b - a, c - b, a - c))
        return [*state[3:], ab - ca, bc - ab, ca - bc]

    def advance(state: list[complex], slope: list[complex], time: float) -> list[complex]:
        return [value + time * rate for value, rate in zip(state, slope, strict=True)]

    speed = 0.466203685 + 0.43236573j
    state = [0.97000436 - 0.24308753j, -0.97000436 + 0.24308753j, 0j, speed, speed, -2 * speed]
    elapsed, step = 0.0, 0.002
    while state[1].real < 0:
        before = state
        k1 = rates(state)
        k2 = rates(advance(state, k1, step / 2))
        k3 = rates(advance(state, k2, step / 2))
        k4 = rates(advance(state, k3, step))
        slope = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        state, elapsed = advance(state, slope, step), elapsed + step
    return 6 * (elapsed - step * state[1].real / (state[1].real - before[1].real))


@pytest.mark.engine
def test_cleaning_the_survey_keeps_valid_values(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("survey", sandbox))
    assert "a bath and not a lake" in failed.observation
    celsius = valid_readings()
    with (output / "cleaned.csv").open(encoding="utf-8", newline="") as file:
        cleaned = sorted(float(row["temperature_c"]) for row in csv.DictReader(file))
    assert cleaned == pytest.approx(celsius, abs=0.051)
    assert cleaned[0] == 8.4
    report = (output / "report.md").read_text(encoding="utf-8")
    assert f"**{sum(celsius) / len(celsius):.1f} °C** on average" in report
    assert f"over {len(celsius)} readings" in report
    assert_drawn(output / "lake.png", (1600, 1000), 200)


def valid_readings() -> list[float]:
    """Return the valid temperatures, found in a different way than in the demonstration."""
    (path,) = load("survey").inputs
    lines = path.read_text(encoding="utf-8-sig").lower().replace(" ", "").splitlines()[3:]
    fields = (line.split(";")[2].replace(",", ".") for line in set(lines))
    temperatures = [(float(t[:-1]) - 32) * 5 / 9 if t.endswith("f") else float(t) for t in fields]
    return sorted(value for value in temperatures if value < 50)


@pytest.mark.engine
def test_every_claim_of_the_sentence_is_true(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("wording", sandbox))
    assert "no sentence tells the truth" in failed.observation
    sentence = (output / "answer.txt").read_text(encoding="utf-8")
    for letter in string.ascii_lowercase:
        count = sentence.lower().count(letter)
        assert f" {number_in_words(count)} {letter}{'s' * (count > 1)}" in sentence.replace("'", "")
    assert_drawn(output / "sentence.png", (1600, 1000), 200)


@pytest.mark.engine
def test_the_knight_animation_loops_seamlessly(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("animation", sandbox))
    assert "not a knight yet" in failed.observation
    with Image.open(output / "knight.webp") as animation:
        assert animation.size == (640, 640)
        assert animation.info["loop"] == 0
        frames, durations = [], []
        for frame in ImageSequence.Iterator(animation):
            frames.append(frame.convert("L"))
            durations.append(frame.info["duration"])
    assert durations == [40] * 150
    assert all(high > 200 for _, high in map(brightness_range, frames))
    steps = [mean_difference(one, other) for one, other in pairwise(frames)]
    assert min(steps) > 0
    assert mean_difference(frames[-1], frames[0]) <= max(steps)


def brightness_range(picture: Image.Image) -> tuple[int, int]:
    """Return the darkest and the brightest value of a greyscale image."""
    ((low, high),) = ImageStat.Stat(picture).extrema
    return int(low), int(high)


def mean_difference(one: Image.Image, other: Image.Image) -> float:
    """Return the mean difference of two greyscale images."""
    return ImageStat.Stat(ImageChops.difference(one, other)).mean[0]


@pytest.mark.engine
def test_the_walk_length_ignores_the_two_outliers(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("journey", sandbox))
    assert "nobody walks" in failed.observation
    page = (output / "journey.html").read_text(encoding="utf-8")
    lengths = walk_lengths()
    assert len(lengths) == 5
    for length in [*lengths, sum(lengths)]:
        assert f"{length:.1f} km" in page
    assert "No signal in the gorge" in page
    assert "<script" not in page
    assert "//" not in page


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.browser
def test_the_walk_is_keyboard_operable_and_offline(sandbox: DockerSandbox, output: Path) -> None:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    play_demonstration("journey", sandbox)
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


def walk_lengths() -> list[float]:
    """Return the track lengths, measured on a plane and without points off the island."""
    (path,) = (path for path in load("journey").inputs if path.suffix == ".gpx")
    lengths = []
    for track in path.read_text(encoding="utf-8").split("<trk>")[1:]:
        coordinates = re.findall(r'lat="([\d.-]+)" lon="([\d.-]+)"', track)
        points = [(float(lat), float(lon)) for lat, lon in coordinates if float(lat) > 63.1]
        longitude_scale = cos(radians(sum(lat for lat, _ in points) / len(points)))
        plane = [(lat * 111.195, lon * 111.195 * longitude_scale) for lat, lon in points]
        lengths.append(sum(dist(one, other) for one, other in pairwise(plane)))
    return lengths


@pytest.mark.engine
def test_the_poster_is_written_as_png_and_svg(sandbox: DockerSandbox, output: Path) -> None:
    results = play_demonstration("poster", sandbox)
    (failed,) = failures(results)
    assert "covers 2 of Cassiopeia" in failed.observation
    assert "covers 2" not in results[-2].observation
    assert_drawn(output / "poster.png", (1754, 2480), 1000)
    svg = ElementTree.parse(output / "poster.svg").getroot()
    assert svg.get("viewBox") == "0 0 1000 1414"
    assert len(svg) > 1000
    assert not list(svg.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.engine
def test_the_molecules_match_textbook_values(sandbox: DockerSandbox, output: Path) -> None:
    (failed,) = failures(play_demonstration("molecule", sandbox))
    assert "should be 8.000 beta" in failed.observation
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


def fog_days() -> dict[int, int]:
    """Return the days of fog per year: log entries that report a closure for fog."""
    days = {}
    for path in load("documents").inputs:
        text = path.read_bytes().decode("latin-1")
        entries = re.split(r"(?m)^(?=[MTWFS][a-z]{2} \d+ [A-Z])", text)
        closed = sum(", fog.\n" in entry and "HARBOUR CLOSED" in entry for entry in entries)
        days[int(path.stem[-4:])] = closed
    return days
