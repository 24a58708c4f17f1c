"""What is recorded: each function is a scenario, and its name that of a fixture."""

from collections.abc import Callable
from pathlib import Path

from agent import prompts
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from agent.settings import Settings
from sandbox_ui.auth.passwords import hash_password
from tests.support import file_run
from tests.support.component.answers import Recorded, answer, client, of_run, serve
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn

PASSWORD = "correct horse"
PAGE_PATHS = ("me", "usage", "runs?limit=6", "examples", "examples/saved", "recordings")
RUN_PATHS = ("results", "family", "replays", "files")


def page(data: Path) -> Recorded:
    """What the page asks for without a run, and of a run without files; for each role."""
    users = (("ann", hash_password(PASSWORD, log_n=10)),)
    with serve(Settings(data=data / "one")) as url, client(url) as ann:
        answers = {f"GET /{path}": answer(ann.get(path)) for path in PAGE_PATHS}
        answers["GET /healthz"] = answer(ann.get("../healthz"))
        run = ann.post("runs").json()["run"]
        answers |= {f"GET {path}": answer(ann.get(f"runs/{run}/{path}")) for path in RUN_PATHS}
    with (
        serve(Settings(data=data / "many", users=users)) as url,
        client(url) as ann,
        client(url) as guest,
    ):
        answers["GET /healthz as guest"] = answer(guest.get("../healthz"))
        ann.post("../login", data={"name": "ann", "password": PASSWORD})
        answers["GET /me as user"] = answer(ann.get("me"))
        answers["POST /tokens"] = answer(ann.post("tokens", json={"label": "laptop"}))
        answers["GET /tokens"] = answer(ann.get("tokens"))
        links = f"runs/{ann.post('runs').json()['run']}/links"
        answers["GET no links"] = answer(ann.get(links))
        link = ann.post(links)
        answers["POST links"] = answer(link)
        guest.get(f"../{link.json()['path']}")
        answers["GET /me as guest"] = answer(guest.get("me"))
        answers["GET links"] = answer(ann.get(links))
    return answers


IMAGES = ("chart.png", *(f"frames/frame-{at}.png" for at in range(5)), "frames/late/wide.jpg")
WORDS = (
    "output/chart.png", "/workspace/output/table.csv", "rows.csv", "input/rows.csv", "draw.py",
    "./draw.py", "notes.txt", "/etc/hosts", "output/none.png", "output/late.txt",
)  # fmt: skip


def files_run(data: Path) -> Recorded:
    """A run that has made files of many kinds, with the contents of what its end shows."""
    with file_run.serve_recorded_run(data) as served, client(served.studio_url) as ann:
        run = f"runs/{served.run}"
        paths = ["results", "files", "files?folder=output", "files/output/tone.wav"]
        paths += [f"files/output/{name}" for name in IMAGES]
        answers = {f"GET {path}": answer(ann.get(f"{run}/{path}")) for path in paths}
        for name in IMAGES:
            thumbnail = ann.get(f"{run}/view/output/{name}?as=image&thumb=320")
            answers[f"GET view/output/{name}"] = answer(thumbnail)
        answers["POST file-links"] = answer(ann.post(f"{run}/file-links", json=WORDS))
        journal = (data / "runs" / served.run / "journal.jsonl").read_text()
    return of_run(answers, journal, served.run)


def mislabelled_run(data: Path) -> Recorded:
    """A run whose files are not what their names say."""
    turns = file_run.mislabelled_file_turns()
    with file_run.serve_recorded_run(data, turns) as served, client(served.studio_url) as ann:
        paths = ("results", "files/output/broken.wav", "files/output/broken.png")
        answers = {f"GET {path}": answer(ann.get(f"runs/{served.run}/{path}")) for path in paths}
        journal = (data / "runs" / served.run / "journal.jsonl").read_text()
    return of_run(answers, journal, served.run)


def documents(data: Path) -> Recorded:
    """Statistics of a document, and of one that is not there."""
    with serve(Settings(data=data)) as url, client(url) as ann:
        run = ann.post("runs").json()["run"]
        ann.put(f"runs/{run}/files/input/report.txt", content=b"A port. " * 1500)
        paths = ("document-info/input/report.txt", "document-info/input/missing.txt")
        return {f"GET {path}": answer(ann.get(f"runs/{run}/{path}")) for path in paths}


INSPECTED = (
    "requests", *(f"steps/1/request?attempt={attempt}" for attempt in range(3)),
    "steps/2/request?attempt=0", "steps/2/request?attempt=1",
    "steps/1/response?attempt=1", "steps/1/response?attempt=2", "steps/2/response?attempt=1",
    "steps/2/request?attempt=1&as=curl", "steps/2/request?attempt=1&as=python",
)  # fmt: skip
HOSTILE = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>"
KEY = "sk-secret-0123456789"
_INSPECTED_TURNS = (
    Turn(fault="503"),
    Turn(reasoning="Gulls?", text=HOSTILE, calls=[("execute_bash", {"command": "echo 7 gulls"})]),
    Turn(text="Seven gulls.", calls=[("submit", {})]),
)


def inspected_run(data: Path) -> Recorded:
    """The requests of a run, also as they are without their records and for a guest."""
    users = (("ann", hash_password(PASSWORD, log_n=10)),)
    with (
        serve(Settings(data=data, users=users)) as url,
        client(url) as ann,
        client(url) as guest,
    ):
        ann.post("../login", data={"name": "ann", "password": PASSWORD})
        run = ann.post("runs").json()["run"]
        _play_inspected(RunFolder.open(data, run), data)
        guest.get(f"../{ann.post(f'runs/{run}/links').json()['path']}")
        answers = {f"GET {path}": answer(ann.get(f"runs/{run}/{path}")) for path in INSPECTED}
        path = f"runs/{run}/steps/2/request?attempt=0"
        answers["GET steps/2/request for guests"] = answer(guest.get(path))
        for recorded in RunFolder.open(data, run).requests.iterdir():
            recorded.unlink()
        answers["GET steps/2/request without records"] = answer(ann.get(path))
        journal = (data / "runs" / run / "journal.jsonl").read_text()
    return of_run(answers, journal, run)


def _play_inspected(folder: RunFolder, data: Path) -> None:
    task = Task(f"Count. {HOSTILE}", prompts.get_bundled("general"))
    with (
        Endpoint(_INSPECTED_TURNS) as endpoint,
        RecordedRun(folder, LocalSandboxProvider(data)) as recorded,
    ):
        model = EndpointModel(ModelConfig(endpoint.url, "m", KEY, temperature=0.7))
        list(recorded.start(task, model, Limits(backoff=0.0)))


SCENARIOS: tuple[Callable[[Path], Recorded], ...] = (
    page, files_run, mislabelled_run, documents, inspected_run,
)  # fmt: skip
