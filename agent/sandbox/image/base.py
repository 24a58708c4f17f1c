"""The base image: pulled, or built from a Debian mirror if no registry is reachable."""

import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from agent.errors import ImageError
from agent.installation import build_command
from agent.sandbox.engine.client import ENGINE_ERRORS, Client, is_podman
from agent.sandbox.engine.host import can_install, install_packages, last_lines, root_prefix
from agent.sandbox.image.progress import ProgressReporter

# Lines that debootstrap prints for a minimal Debian 13.
_EXPECTED_LINES = 390
_REMOVED_PATHS = (
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/info/*",
    "usr/share/locale/*",
    "var/lib/apt/lists/*",
    "var/cache/*",
    "var/log/*",
    "debootstrap",
)


def ensure_base(client: Client, base: str, reporter: ProgressReporter) -> None:
    """Provide the image ``base`` (``debian:<suite>-slim``) in the engine."""
    repository, _, tag = base.rpartition(":")
    failure = _pull(client, repository, tag, reporter)
    if not failure:
        return
    reporter.report(
        f"No image registry can be reached ({failure}); building {base} with debootstrap"
    )
    if repository != "debian" or not tag.endswith("-slim"):
        raise ImageError(f"The base image {base} could not be pulled: {failure}")
    try:
        build_base(client, base, reporter)
    except ImageError as error:
        raise ImageError(
            f"The base image {base} could not be pulled ({failure}). {error}"
        ) from None


def build_base(client: Client, base: str, reporter: ProgressReporter) -> None:
    """Build ``debian:<suite>-slim`` with debootstrap and import it under that tag."""
    suite = base.rpartition(":")[2].removesuffix("-slim")
    prefix = _ensure_debootstrap(reporter)
    with _temporary_folder(prefix) as root:
        _debootstrap(prefix, suite, root, reporter)
        _remove_unneeded_files(prefix, suite, root)
        reporter.report(f"Importing {base}", 0.95)
        _import_image(client, prefix, root, base)


def debian_mirrors(sources: Path = Path("/etc/apt")) -> tuple[str, str] | None:
    """Return the host's Debian and security mirrors, http only: a container has no CA files yet."""
    files = [sources / "sources.list", *sorted(sources.glob("sources.list.d/*"))]
    lines = "\n".join(
        line
        for file in files
        if file.suffix in (".list", ".sources") and file.is_file()
        for line in file.read_text(errors="replace").splitlines()
        if not line.lstrip().startswith("#")
    )
    found = [url.rstrip("/") for url in re.findall(r"\bhttp://\S+", lines)]
    main = [url for url in found if url.endswith("/debian")]
    security = [url for url in found if url.endswith("/debian-security")]
    return (main[0], (security or [f"{main[0]}-security"])[0]) if main else None


def _pull(client: Client, repository: str, tag: str, reporter: ProgressReporter) -> str:
    """Pull an image; return the reason of a failure, empty on success."""
    reporter.report(f"Pulling {repository}:{tag}")
    sizes: dict[str, tuple[int, int]] = {}
    try:
        for chunk in client.api.pull(repository, tag=tag, stream=True, decode=True):
            if "error" in chunk:
                return str(chunk["error"]).strip()
            detail = chunk.get("progressDetail") or {}
            if detail.get("total"):
                sizes[chunk["id"]] = (detail.get("current", 0), detail["total"])
            done, total = (sum(column) for column in zip((0, 1), *sizes.values(), strict=True))
            reporter.report(
                f"{chunk.get('status', '')} {chunk.get('id', '')}".strip(), done / total
            )
    except ENGINE_ERRORS as error:
        return str(error)
    return ""


def _ensure_debootstrap(reporter: ProgressReporter) -> list[str]:
    """Return the command prefix that runs debootstrap as root; install debootstrap if missing."""
    prefix = root_prefix()
    if prefix is None:
        raise ImageError(
            f"Only root can build it from a Debian mirror. Run: sudo {build_command()}"
        )
    if shutil.which("debootstrap") or Path("/usr/sbin/debootstrap").exists():
        return prefix
    if not can_install():
        raise ImageError(
            "debootstrap, which builds it from a Debian mirror, is not installed. Install it and "
            "try again."
        )
    reporter.report("Installing debootstrap")
    if failure := install_packages(["debootstrap", "debian-archive-keyring"]):
        raise ImageError(f"apt-get could not install debootstrap:\n{failure}")
    return prefix


@contextmanager
def _temporary_folder(prefix: Sequence[str]) -> Iterator[Path]:
    # Not /tmp: it may be small, or mounted noexec.
    folder = Path(tempfile.mkdtemp(prefix="studio-base-", dir="/var/tmp"))
    try:
        yield folder
    finally:
        # If debootstrap was killed, /proc may still be mounted inside.
        subprocess.run(
            [*prefix, "rm", "-rf", "--one-file-system", str(folder)],
            stderr=subprocess.DEVNULL,
            check=False,
        )


def _debootstrap(prefix: Sequence[str], suite: str, root: Path, reporter: ProgressReporter) -> None:
    mirrors = debian_mirrors()
    command = [*prefix, "env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "debootstrap"]
    command += ["--variant=minbase", suite, str(root)]
    command += mirrors[:1] if mirrors else ()  # debootstrap has a default mirror
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            reporter.report(line.strip(), min(len(lines) / _EXPECTED_LINES, 1.0) * 0.9)
    if process.returncode:
        raise ImageError(f"debootstrap failed:\n{last_lines(''.join(lines))}")


def _remove_unneeded_files(prefix: Sequence[str], suite: str, root: Path) -> None:
    """Remove the files that a slim image omits, and add the update suites to the sources."""
    script = f"cd {root} && rm -rf {' '.join(_REMOVED_PATHS)}"
    sources = _apt_sources(suite)
    if sources:
        script += " && printf '%s\\n' \"$@\" > etc/apt/sources.list"
    subprocess.run([*prefix, "sh", "-c", script, "sh", *sources], check=True)


def _apt_sources(suite: str) -> list[str]:
    """Return the lines of ``sources.list``; empty to keep the one that debootstrap wrote."""
    mirrors = debian_mirrors()
    if mirrors is None:
        return []
    main, security = mirrors
    sources = [f"deb {main} {suite} main"]
    for url, name in ((main, f"{suite}-updates"), (security, f"{suite}-security")):
        if _has_suite(url, name):
            sources.append(f"deb {url} {name} main")
    return sources


def _has_suite(mirror: str, suite: str) -> bool:
    for name in ("InRelease", "Release"):
        request = urllib.request.Request(f"{mirror}/dists/{suite}/{name}", method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            continue
    return False


def _import_image(client: Client, prefix: Sequence[str], root: Path, base: str) -> None:
    repository, _, tag = base.rpartition(":")
    # Podman ignores the tag, but takes one as part of the repository.
    name = {"repository": base} if is_podman(client) else {"repository": repository, "tag": tag}
    command = [*prefix, "tar", "--numeric-owner", "-C", str(root), "-c", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        stream: IO[bytes] | None = process.stdout
        try:
            client.api.import_image_from_stream(stream, changes=['CMD ["bash"]'], **name)
        except ENGINE_ERRORS as error:
            raise ImageError(f"The engine refused the base image: {error}") from error
    if process.returncode:
        raise ImageError("The base image could not be packed. Check that the disk is not full.")
