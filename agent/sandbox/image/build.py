"""The sandbox and proxy images, built from the Dockerfile when first needed."""

import fcntl
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import docker
import docker.errors

from agent.errors import EngineError, ImageError
from agent.installation import DISTRIBUTION_NAME, build_command, find_file
from agent.sandbox.engine.client import ENGINE_ERRORS, Client
from agent.sandbox.engine.host import last_lines
from agent.sandbox.image.base import ensure_base
from agent.sandbox.image.progress import (
    BuildOutputParser,
    ProgressCallback,
    ProgressReporter,
    parse_instructions,
)

HASH_LABEL = "llm-in-sandbox-studio.dockerfile"
BUILD_TIMEOUT_SECONDS = 1800
Target = Literal["sandbox", "proxy"]
_BASE_FRACTION = 0.3


def dockerfile_path() -> Path:
    """Return the path of the Dockerfile, in the checkout or in the installed package."""
    found = find_file("Dockerfile")
    if found is None:
        raise ImageError(
            "The Dockerfile of the sandbox image is missing: the installation is incomplete or was "
            "moved. Reinstall the program with pip, or set STUDIO_IMAGE to an image."
        )
    return found


def extract_stage(dockerfile: Path, target: Target) -> str:
    """Return the Dockerfile stage that builds one image, itself a complete Dockerfile."""
    parts = re.split(r"(?m)^(?=FROM )", dockerfile.read_text())
    for part in parts[1:]:
        if part.split("\n", 1)[0].split()[-1] == target:
            return part
    raise ImageError(f"The Dockerfile has no target {target!r}.")


def image_tag(dockerfile: Path, target: Target = "sandbox") -> str:
    """Return the image's name and tag; the tag is a hash of its stage of the Dockerfile."""
    name = DISTRIBUTION_NAME if target == "sandbox" else f"{DISTRIBUTION_NAME}-{target}"
    return f"{name}:{_digest(extract_stage(dockerfile, target).encode())[:12]}"


def image_exists(client: Client, tag: str) -> bool:
    """Return whether the engine has the image."""
    return bool(image_id(client, tag))


def image_id(client: Client, tag: str) -> str:
    """Return the id of an image, ``sha256:…``; empty if the engine does not have it."""
    try:
        return str(client.images.get(tag).id)
    except docker.errors.NotFound:
        return ""
    except ENGINE_ERRORS as error:
        raise EngineError(f"The container engine refused to look up an image: {error}") from error


def ensure_image(
    client: Client,
    dockerfile: Path,
    progress: ProgressCallback,
    target: Target = "sandbox",
) -> str:
    """Return the tag of an image; one process builds it if it is missing, others wait."""
    tag = image_tag(dockerfile, target)
    if image_exists(client, tag):
        return tag
    text = extract_stage(dockerfile, target)
    reporter = ProgressReporter(progress)
    reporter.report(f"Waiting for any other build of the {target} image")
    with _build_lock(dockerfile):
        if not image_exists(client, tag):
            build_image(client, text, tag, reporter)
    reporter.set_range(0.0, 1.0)
    reporter.report(f"The {target} image is ready", 1.0)
    return tag


def build_image(
    client: Client,
    text: str,
    tag: str,
    reporter: ProgressReporter,
    *,
    cache: bool = True,
) -> None:
    """Build ``text`` (a Dockerfile) as ``tag``, after providing its base image."""
    base = parse_instructions(text)[0].split()[1]
    if not image_exists(client, base):
        reporter.set_range(0.0, _BASE_FRACTION)
        ensure_base(client, base, reporter)
        reporter.set_range(_BASE_FRACTION, 1.0)
    reader = BuildOutputParser(text, reporter)
    output: list[str] = []
    try:
        for chunk in _build(client, text, tag, cache):
            if "error" in chunk:
                raise ImageError(_failure_message(output, str(chunk["error"])))
            for line in str(chunk.get("stream", "")).splitlines():
                reader.read(line)
                output = [*output[-200:], line]
    except ENGINE_ERRORS as error:
        raise ImageError(_failure_message(output, str(error))) from error


def _build(client: Client, text: str, tag: str, cache: bool) -> Iterator[Mapping[str, Any]]:
    chunks: Iterator[Mapping[str, Any]] = client.api.build(
        fileobj=io.BytesIO(text.encode()),
        tag=tag,
        nocache=not cache,
        rm=True,
        forcerm=True,
        decode=True,
        timeout=BUILD_TIMEOUT_SECONDS,
        labels={HASH_LABEL: _digest(text.encode())},
    )
    return chunks


def _failure_message(output: list[str], reason: str) -> str:
    return (
        f"The sandbox image could not be built: {reason.strip()}\n"
        f"{last_lines(chr(10).join(output))}\n"
        "Check that a Debian mirror can be reached and that the disk is not full. Completed steps "
        f"are cached; try again with: {build_command()}"
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _build_lock(dockerfile: Path) -> Iterator[None]:
    """Hold a lock on the Dockerfile; the kernel releases it when the process ends."""
    with dockerfile.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
