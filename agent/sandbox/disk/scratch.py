"""Scratch directories on a sandbox's own disk: a container's writable layer has no limit."""

import copy
import hashlib
import io
import secrets
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath

import docker.errors

from agent.errors import SandboxError
from agent.sandbox.disk import volume
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import Client

SCRATCH_DIRECTORIES = ("/tmp", "/var/tmp", "/root", "/home", "/var/cache", "/var/lib/apt/lists")
"""Directories in the container."""

_NOT_CREATED = "The sandbox's directories cannot be created"
_MAX_COPY_BYTES = 8 * 1024**2
"""Maximum bytes to copy from the image; a larger directory stays in the container's layer."""


def create(client: Client, image: str, instance: str, folder: Path) -> dict[str, Path]:
    """Create a container's scratch directories; return the host's for each of the container's."""
    if not volume.disk_image(folder).exists():
        return {}
    discard(folder)
    store = folder.parent.parent / "image-directories"
    known = image if image.startswith("sha256:") else str(client.images.get(image).id)
    contents = _image_directories(client, known, instance, store)
    return {
        place: _unpack(archive, _host_directory(folder, place))
        for place, archive in contents.items()
    }


def discard(folder: Path) -> None:
    """Remove the scratch directories of a container that is gone; its disk must be attached."""
    volume.remove(folder / "scratch")


def _host_directory(folder: Path, directory: str) -> Path:
    return folder / "scratch" / directory.strip("/").replace("/", "-")


@lru_cache(maxsize=4)
def _image_directories(client: Client, image: str, instance: str, store: Path) -> dict[str, bytes]:
    """Return an image's ``SCRATCH_DIRECTORIES`` as tar archives, cached in ``store``."""
    source = f"{image} {SCRATCH_DIRECTORIES} {_MAX_COPY_BYTES}"
    kept = store / f"{hashlib.sha256(source.encode()).hexdigest()}.zip"
    try:
        return _load(kept)
    except (OSError, ValueError, zipfile.BadZipFile):
        archives = _read_from_image(client, image, instance)
    _save(kept, archives)
    return archives


def _load(kept: Path) -> dict[str, bytes]:
    """Return kept archives; the checksums in the file reveal one that was cut."""
    with zipfile.ZipFile(kept) as file:
        return {place: file.read(place) for place in file.namelist()}


def _save(kept: Path, archives: dict[str, bytes]) -> None:
    """Keep archives, in place of another image's; without space for them, do nothing."""
    part = kept.with_name(f"{secrets.token_hex(4)}.part")
    with suppress(OSError):
        kept.parent.mkdir(mode=0o700, exist_ok=True)
        for old in kept.parent.iterdir():
            old.unlink()
        try:
            with zipfile.ZipFile(part, "w") as file:
                for place, archive in archives.items():
                    file.writestr(place, archive)
            part.replace(kept)
        finally:
            part.unlink(missing_ok=True)


def _read_from_image(client: Client, image: str, instance: str) -> dict[str, bytes]:
    container = client.api.create_container(
        image, command=["true"], labels={INSTANCE_LABEL: instance}
    )
    try:
        with ThreadPoolExecutor(len(SCRATCH_DIRECTORIES)) as pool:
            archives = list(
                pool.map(
                    lambda place: _archive_directory(client, container["Id"], place),
                    SCRATCH_DIRECTORIES,
                )
            )
    finally:
        client.api.remove_container(container["Id"], force=True, v=True)
    return {place: each for place, each in zip(SCRATCH_DIRECTORIES, archives, strict=True) if each}


def _archive_directory(client: Client, container: str, directory: str) -> bytes:
    """Return a container's directory as a tar archive; empty if missing, too large or a link."""
    try:
        chunks, found = client.api.get_archive(container, directory)
    except docker.errors.NotFound:
        return b""
    archive = b""
    for chunk in chunks:
        archive += chunk
        if found["linkTarget"] or len(archive) > _MAX_COPY_BYTES:
            return b""
    return archive


def _unpack(archive: bytes, home: Path) -> Path:
    """Unpack an archive into ``home`` with owners and modes; return the unpacked directory."""
    try:
        members = [copy.copy(member) for member in _members(archive)]  # unpacking changes them
        home.mkdir(mode=0o700, parents=True)
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            # The default filter of later Pythons changes modes; Python 3.11.2 has no filters.
            tar.extraction_filter = lambda member, _: member
            tar.extractall(home, members, numeric_owner=True)
            return home / members[0].name
    except (OSError, tarfile.TarError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise SandboxError(f"{_NOT_CREATED}: {why}.") from error


@lru_cache(maxsize=4 * len(SCRATCH_DIRECTORIES))
def _members(archive: bytes) -> tuple[tarfile.TarInfo, ...]:
    """Return an archive's members; each archive is read and checked once."""
    files: set[PurePosixPath] = set()
    links: set[PurePosixPath] = set()
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        members = tuple(tar)
    for member in members:
        name = PurePosixPath(member.name)
        leaves = name.is_absolute() or ".." in name.parts
        follows = not links.isdisjoint((name, *name.parents))
        if leaves or follows or (member.islnk() and PurePosixPath(member.linkname) not in files):
            raise SandboxError(f"{_NOT_CREATED}: {member.name} leads out of its directory.")
        (links if member.issym() else files).add(name)
    return members
