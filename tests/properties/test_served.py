"""Workspace files are never served as active content of the page's origin."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import strategies as st

from agent.settings import Settings
from sandbox_ui.preview.kinds import KINDS, kind_of
from sandbox_ui.workspace.file_response import content_disposition
from tests.properties import PropertyRunner, property_test, with_examples
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server

EXTENSIONS = st.sampled_from(
    ["html", "htm", "xhtml", "xht", "shtml", "mhtml", "svg", "svgz", "xml", "xsl", "rdf", "js",
     "mjs", "css", "json", "pdf", "swf", "wasm", "hta", "htc", "vtt", "webmanifest", "txt", "md",
     "png", "gif", "webp", "ico", "mp4", "wav", "ogg", "csv", "bin"]
)  # fmt: skip
STEMS = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), max_size=12)
NAMES = st.one_of(
    st.builds("{}.{}".format, STEMS, EXTENSIONS),
    STEMS,
    st.sampled_from(["data:,x.html", "a\r\nSet-Cookie: x=1.html", "x.HTML", "x.html.", ".svg",
                     'a"; filename="b.html', "x.svg\u202e", "a.html%00.txt", "..html"]),
).filter(lambda name: name not in ("", ".", "..") and len(name.encode()) < 200)  # fmt: skip
ACTIVE = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
CONTENTS = st.sampled_from(
    [ACTIVE, b"<!doctype html><script>alert(1)</script>", b"alert(1)", b"<?xml version='1.0'?>",
     b"%PDF-1.7\n", b"\x89PNG\r\n\x1a\n" + ACTIVE, b"GIF89a" + ACTIVE, b"\xff\xfe<\0s\0", b"",
     b"\0", b"CWS\x0a", b"\x1f\x8b\x08", b"PK\3\4", b"RIFF\0\0\0\0WEBP" + ACTIVE,
     b"# [a](javascript:x)"]
)  # fmt: skip
INERT = re.compile(
    r"text/plain|application/json|image/(?!svg)[\w.+-]+|(audio|video)/[\w.+-]+|application/octet-stream"
)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str, Path]]:
    """A client, a draft, and the draft's output folder."""
    data = tmp_path_factory.mktemp("data")
    with (
        run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as studio_url,
        httpx.Client(base_url=studio_url, timeout=60) as client,
    ):
        run = client.post("/api/runs").json()["run"]
        (output,) = data.glob("sandboxes/*/workspace/output")
        yield client, run, output


def directives(policy: str) -> dict[str, list[str]]:
    parts = [part.split() for part in policy.split(";") if part.strip()]
    return {name: values for name, *values in parts}


def check_response(response: httpx.Response) -> None:
    """Assert that a browser runs nothing of this response in the page's origin."""
    headers = response.headers
    assert headers["x-content-type-options"] == "nosniff"
    policy = directives(headers["content-security-policy"])
    inert = INERT.fullmatch(headers.get("content-type", "").partition(";")[0])
    if response.is_success or not inert:
        assert "sandbox" in policy
        assert "allow-same-origin" not in policy["sandbox"]
        assert policy["default-src"] == ["'none'"]
    if not inert:
        kept = headers.get("content-disposition", "").startswith("attachment")
        assert kept or "allow-scripts" not in policy["sandbox"] or "/frames/" in response.url.path
    assert "set-cookie" not in headers


def check_file(studio: tuple[httpx.Client, str, Path], name: str, content: bytes) -> None:
    client, run, output = studio
    file = output / name
    file.write_bytes(content)
    quoted = quote(f"output/{name}", safe="/")
    try:
        for query in ("", "?inline=1"):
            check_response(client.get(f"/api/runs/{run}/files/{quoted}{query}"))
        frame = client.post(
            f"/api/runs/{run}/frames", json={"path": quoted, "base": f"{client.base_url}/"}
        ).json()
        check_response(
            client.get(f"/{frame['prefix']}{quoted}", headers={"sec-fetch-dest": "iframe"})
        )
        refused = client.get(f"/{frame['prefix']}{quoted}", headers={"sec-fetch-dest": "document"})
        assert refused.status_code == 403
        check_response(client.get(f"/api/runs/{run}/view/{quoted}"))
    finally:
        file.unlink()


@pytest.mark.contract
@with_examples()
def test_no_file_is_served_as_active_content(
    studio: tuple[httpx.Client, str, Path], run_property: PropertyRunner
) -> None:
    def check(name: str, content: bytes) -> None:
        check_file(studio, name, content)

    run_property(check, NAMES, CONTENTS)


TEXT = st.one_of(NAMES, st.text(st.characters(), max_size=5), st.just("\ud800"))
VALUES = st.recursive(
    TEXT | st.none() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
OPERATIONS = st.sampled_from(["rename", "move", "remove", "undo", "create_folder", "create_file"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "paths", "name", "to", "folder", "undo", "merge"]), VALUES
)
CHANGES = st.builds(
    lambda operation, given: {"operation": operation, **given}, OPERATIONS, ARGUMENTS
)
BODIES = (CHANGES | VALUES).map(json.dumps) | st.just("[" * 100_000)


@pytest.mark.contract
@with_examples()
def test_any_change_request_succeeds_or_is_rejected_with_a_message(
    studio: tuple[httpx.Client, str, Path], run_property: PropertyRunner
) -> None:
    client, run, _ = studio

    def check(body: str) -> None:
        answer = client.post(f"/api/runs/{run}/changes", content=body)
        assert answer.status_code < 500
        assert answer.is_success or answer.json()["error"]

    run_property(check, BODIES)


@property_test(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_a_file_name_cannot_inject_headers(name: str, inline: bool) -> None:
    header = content_disposition(name, inline=inline)
    assert header.isascii()
    assert header.isprintable()
    assert header.startswith("inline; " if inline else "attachment; ")
    assert header.count('"') == 2
    assert header.count(";") == 2 + header.split('"')[1].count(";")


@property_test(st.text(max_size=12), st.binary(max_size=300))
def test_every_file_has_a_known_kind(name: str, head: bytes) -> None:
    assert kind_of(name, head) in KINDS
