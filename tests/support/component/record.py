"""Records the fixtures of the component tests by running the real routes.

``python -m tests.support.component.record`` writes ``tests/fixtures/component/``.
"""

import base64
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from html import escape
from pathlib import Path
from typing import Any

import httpx

from agent.settings import Settings
from sandbox_ui.auth.passwords import hash_password
from tests.support import file_run
from tests.support.component.recorded import FOLDER, NOW, PAGE
from tests.support.component.runs import RUN
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server

PASSWORD = "correct horse"

Recorded = dict[str, Any]
"""Answers by request, such as ``GET runs/ID/results``."""


def main() -> None:
    """Write all fixtures."""
    FOLDER.mkdir(exist_ok=True)
    for name, content in record_all():
        (FOLDER / name).write_text(content)
        print(name, f"{len(content):,}")


def record_all() -> Iterator[tuple[str, str]]:
    """Yield the name and the content of each fixture."""
    with tempfile.TemporaryDirectory() as folder, serve(Settings(data=Path(folder))) as url:
        yield PAGE, bare_page(httpx.get(url, timeout=60).text)
    for record in RECORDERS:
        with tempfile.TemporaryDirectory() as folder:
            answers = record(Path(folder))
        text = json.dumps(answers, indent=1, sort_keys=True)
        yield f"{record.__name__}.json", _with_fixed_ids(text) + "\n"


_RANDOM = re.compile(
    r"""call_[0-9a-f]+(?=_\d+)|(?<=")(?:[0-9a-f]{32}|[0-9a-f]{12})(?=")|studio_[\w.-]+"""
)


def _with_fixed_ids(text: str) -> str:
    """Replace the random ids, the same ones by the same."""
    ids: dict[str, str] = {}
    return _RANDOM.sub(lambda found: ids.setdefault(found[0], f"id-{len(ids) + 1}"), text)


def serve(settings: Settings) -> AbstractContextManager[str]:
    """Serve a studio; yields its URL."""
    return run_server(create_app(settings, LocalSandboxProvider(settings.data)))


# The page


def bare_page(page: str) -> str:
    """Return the page's layout, as plain HTML: its style sheets, elements and templates."""
    found = re.search(r"window\.gradio_config = (\{.*?\});\s*(?:window|</script>)", page, re.S)
    assert found
    config = json.loads(found[1])
    by_id = {each["id"]: each for each in config["components"]}
    gradio = re.search(r"assets/index-[\w-]+\.css", page)  # what it applies to all elements
    assert gradio
    links = re.findall(r'<link rel="stylesheet" href="ui/.*?>', page)
    links.insert(0, f'<link rel="stylesheet" href="ui/gradio/{gradio[0]}">')
    body = "\n".join(_elements(config["layout"]["children"], by_id))
    return "\n".join([*links, "<!-- body -->", body, ""])


def _elements(nodes: list[Any], by_id: dict[int, Any]) -> Iterator[str]:
    for node in nodes:
        component = by_id[node["id"]]
        props, kind = component["props"], component["type"]
        name = f' id="{props["elem_id"]}"' if props.get("elem_id") else ""
        label = escape(str(props.get("label") or ""))
        if kind in ("row", "column", "form", "accordion"):
            yield f'<div{name} class="{kind}">'
            yield from _elements(node.get("children", ()), by_id)
            yield "</div>"
        elif kind == "html":
            template = f"<div>{props['html_template'].strip()}</div>"
            yield f'<div{name} class="block"><div class="html-container">{template}</div></div>'
        elif kind == "button":
            yield f'<button{name} class="{props["variant"]}">{escape(props["value"])}</button>'
        elif kind in ("textbox", "number", "dropdown", "radio", "checkbox"):
            yield f'<div{name} class="block"><label>{_field(kind, props, label)}</label></div>'
        else:
            assert kind == "api", kind  # a function for programs has no element


def _field(kind: str, props: dict[str, Any], label: str) -> str:
    placeholder = escape(props.get("placeholder") or "")
    if kind == "textbox" and props["type"] == "text":
        return f'<textarea aria-label="{label}" placeholder="{placeholder}"></textarea>'
    type_ = "password" if kind == "textbox" else "checkbox" if kind == "checkbox" else "text"
    return f'<input type="{type_}" aria-label="{label}" placeholder="{placeholder}">'


# Answers


PAGE_PATHS = ("me", "usage", "runs?limit=6", "examples", "examples/saved", "recordings")
RUN_PATHS = ("results", "family", "replays", "files")


def page(data: Path) -> Recorded:
    """What the page asks for without a run, and of a run without files; for each role."""
    users = (("ann", hash_password(PASSWORD, log_n=10)),)
    with serve(Settings(data=data / "one")) as url, _client(url) as client:
        answers = {f"GET {path}": _answer(client.get(path)) for path in PAGE_PATHS}
        answers["GET healthz"] = _answer(client.get("../healthz"))
        run = client.post("runs").json()["run"]
        answers |= {f"GET {path}": _answer(client.get(f"runs/{run}/{path}")) for path in RUN_PATHS}
    with (
        serve(Settings(data=data / "many", users=users)) as url,
        _client(url) as client,
        _client(url) as guest,
    ):
        answers["GET healthz as guest"] = _answer(guest.get("../healthz"))
        client.post("../login", data={"name": "ann", "password": PASSWORD})
        answers["GET me as user"] = _answer(client.get("me"))
        answers["POST tokens"] = _answer(client.post("tokens", json={"label": "laptop"}))
        answers["GET tokens"] = _answer(client.get("tokens"))
        run = client.post("runs").json()["run"]
        guest.get(f"../{client.post(f'runs/{run}/links').json()['path']}")
        answers["GET me as guest"] = _answer(guest.get("me"))
        answers["GET links"] = _answer(client.get(f"runs/{run}/links"))
    return answers


def files_run(data: Path) -> Recorded:
    """A run that has made files of many kinds."""
    return record_run(data, file_run.file_turns(), "results", "files", "files?folder=output")


def record_run(data: Path, turns: list[Any], *paths: str) -> Recorded:
    """Play a scripted run; return its journal's events and the answers of its routes."""
    with file_run.serve_recorded_run(data, turns) as served, _client(served.studio_url) as client:
        answers = {
            f"GET {path}": _answer(client.get(f"runs/{served.run}/{path}")) for path in paths
        }
        journal = (data / "runs" / served.run / "journal.jsonl").read_text()
    answers["journal"] = _fixed_times([json.loads(line) for line in journal.splitlines()])
    played: Recorded = json.loads(json.dumps(answers).replace(served.run, RUN))
    return played


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=f"{url}/api/", timeout=60)


def _answer(response: httpx.Response) -> Any:
    response.raise_for_status()
    if response.headers["content-type"].startswith("application/json"):
        return _fixed_times(response.json())
    kind = response.headers["content-type"]
    return {"kind": kind, "base64": base64.b64encode(response.content).decode()}


_TIMES = ("now", "at", "modified", "created", "state_since", "updated")


def _fixed_times(value: Any) -> Any:
    """Replace what differs from one recording to the next: times and measured figures."""
    if isinstance(value, list):
        return [_fixed_times(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _fixed(key, each) for key, each in value.items()}


def _fixed(key: str, value: Any) -> Any:
    if key in _TIMES and isinstance(value, int | float):
        return type(value)(NOW)
    if key in ("free", "remaining"):
        return 10**11
    if key in ("seconds", "model_seconds", "sandbox_seconds") and isinstance(value, float):
        return 0.5
    return _fixed_times(value)


RECORDERS: tuple[Callable[[Path], Recorded], ...] = (page, files_run)

if __name__ == "__main__":
    main()
