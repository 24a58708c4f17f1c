"""The images, of the sandbox and of its proxy: built from the Dockerfile when first needed."""

import fcntl
import hashlib
import importlib.metadata
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import docker
import docker.errors

from agent.errors import EngineError, ImageError
from agent.sandbox.base_image import ensure_base
from agent.sandbox.engine import ENGINE_ERRORS
from agent.sandbox.host import last_lines
from agent.sandbox.progress import BuildReader, Meter, Report, instructions

NAME = "llm-in-sandbox-studio"
HASH_LABEL = "llm-in-sandbox-studio.dockerfile"
BUILD_SECONDS = 1800
Target = Literal["sandbox", "proxy"]
_BASE_SHARE = 0.3


def dockerfile_path() -> Path:
    """The Dockerfile: the checkout's own, or the one that came with the installed package.

    Raises:
        ImageError: neither is there.
    """
    checkout = Path(__file__).resolve().parents[2] / "Dockerfile"
    if checkout.is_file():
        return checkout
    try:
        files = importlib.metadata.files(NAME) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "Dockerfile":
            return Path(str(file.locate())).resolve()
    raise ImageError("The Dockerfile of the sandbox image is missing; install the package again.")


def stage(dockerfile: Path, target: Target) -> str:
    """The part of the Dockerfile that makes one image; it stands by itself.

    Raises:
        ImageError: there is none of this name.
    """
    parts = re.split(r"(?m)^(?=FROM )", dockerfile.read_text())
    for part in parts[1:]:
        if part.split("\n", 1)[0].split()[-1] == target:
            return part
    raise ImageError(f"The Dockerfile has no target {target!r}.")


def image_tag(dockerfile: Path, target: Target = "sandbox") -> str:
    """The image's name and tag; another text of its part of the Dockerfile is another tag."""
    name = NAME if target == "sandbox" else f"{NAME}-{target}"
    return f"{name}:{_digest(stage(dockerfile, target).encode())[:12]}"


def image_is_there(client: docker.DockerClient, tag: str) -> bool:
    """Whether the engine has the image.

    Raises:
        EngineError: the engine does not answer.
    """
    try:
        client.images.get(tag)
    except docker.errors.NotFound:
        return False
    except ENGINE_ERRORS as error:
        raise EngineError(f"The container engine refused to look for an image: {error}") from error
    return True


def ensure_image(
    client: docker.DockerClient, dockerfile: Path, progress: Report, target: Target = "sandbox"
) -> str:
    """The tag of an image, built first where the engine has none from this Dockerfile.

    Of several processes that ask at once one builds, and the others wait for it.

    Args:
        client: The engine.
        dockerfile: What to build; see ``dockerfile_path``.
        progress: Called with each line; not at all where the image is there.
        target: Which of its images.

    Raises:
        ImageError: the build failed; the text has its last lines and what to do.
        EngineError: the engine does not answer.
    """
    tag = image_tag(dockerfile, target)
    if image_is_there(client, tag):
        return tag
    text = stage(dockerfile, target)
    meter = Meter(progress)
    meter.say(f"Waiting for another build of the {target} image, if there is one")
    with _alone(dockerfile):
        if not image_is_there(client, tag):
            build_image(client, text, tag, meter)
    meter.part(0.0, 1.0)
    meter.say(f"The {target} image is ready", 1.0)
    return tag


def build_image(
    client: docker.DockerClient, text: str, tag: str, meter: Meter, *, cache: bool = True
) -> None:
    """Build ``text`` (a Dockerfile) as ``tag``, its base image made ready first.

    Raises:
        ImageError: the base image or a step failed.
    """
    base = instructions(text)[0].split()[1]
    if not image_is_there(client, base):
        meter.part(0.0, _BASE_SHARE)
        ensure_base(client, base, meter)
        meter.part(_BASE_SHARE, 1.0)
    reader = BuildReader(text, meter)
    said: list[str] = []
    try:
        for chunk in _build(client, text, tag, cache):
            if "error" in chunk:
                raise ImageError(_failure(said, str(chunk["error"])))
            for line in str(chunk.get("stream", "")).splitlines():
                reader.read(line)
                said = [*said[-200:], line]
    except ENGINE_ERRORS as error:
        raise ImageError(_failure(said, str(error))) from error


def _build(
    client: docker.DockerClient, text: str, tag: str, cache: bool
) -> Iterator[Mapping[str, Any]]:
    chunks: Iterator[Mapping[str, Any]] = client.api.build(
        fileobj=io.BytesIO(text.encode()),
        tag=tag,
        nocache=not cache,
        rm=True,
        forcerm=True,
        decode=True,
        timeout=BUILD_SECONDS,
        labels={HASH_LABEL: _digest(text.encode())},
    )
    return chunks


def _failure(said: list[str], reason: str) -> str:
    return (
        f"The sandbox image could not be built: {reason.strip()}\n"
        f"{last_lines(chr(10).join(said))}\n"
        "If a Debian mirror could not be reached, or the disk is full, mend that. Steps that are "
        "done are kept; try again with: make build"
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _alone(dockerfile: Path) -> Iterator[None]:
    """Hold the Dockerfile's lock, which goes with the process however it ends."""
    with dockerfile.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
