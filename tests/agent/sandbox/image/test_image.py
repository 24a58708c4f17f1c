"""The sandbox image: its contents, its build and the build progress."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from docker.models.containers import Container
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ImageError
from agent.sandbox.engine.client import Client
from agent.sandbox.image.base import build_base, debian_mirrors
from agent.sandbox.image.build import (
    build_image,
    dockerfile_path,
    ensure_image,
    extract_stage,
    image_exists,
    image_tag,
)
from agent.sandbox.image.progress import (
    BuildOutputParser,
    BuildProgress,
    ProgressReporter,
    parse_instructions,
)

pytestmark = pytest.mark.contract

CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# The minimal capabilities for apt.
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]
MAX_IMAGE_BYTES = 1_100_000_000

Shell = Callable[[str], str]


@pytest.fixture(scope="module")
def sandbox(engine: Client, image: str) -> Iterator[Container]:
    """A container of the image with the restrictions of a sandbox."""
    certificate_variables = dict.fromkeys(
        ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"), CA_BUNDLE
    )
    has_bundle = Path(CA_BUNDLE).exists()
    container = engine.containers.run(
        image,
        detach=True,
        init=True,
        cap_drop=["ALL"],
        cap_add=CAPABILITIES,
        security_opt=["no-new-privileges"],
        environment=certificate_variables if has_bundle else {},
        volumes={CA_BUNDLE: {"bind": CA_BUNDLE, "mode": "ro"}} if has_bundle else {},
    )
    yield container
    container.remove(force=True, v=True)


@pytest.fixture
def shell(sandbox: Container) -> Shell:
    """Runs a command in the container, which must succeed; returns its output."""

    def run(command: str) -> str:
        code, output = sandbox.exec_run(["bash", "-c", command])
        assert isinstance(output, bytes)
        text = output.decode(errors="replace")
        assert code == 0, text
        return text

    return run


@pytest.fixture
def write_dockerfile(tmp_path: Path, engine: Client, image: str) -> Iterator[Callable[..., Path]]:
    """Writes Dockerfiles that are built quickly, each with a unique label."""
    label = f"studio-test={uuid.uuid4()}"
    dockerfiles: list[Path] = []

    def write(*runs: str) -> Path:
        lines = [f"FROM {image} AS sandbox", f"LABEL {label}", *(f"RUN {run}" for run in runs)]
        dockerfiles.append(tmp_path / f"Dockerfile{len(dockerfiles)}")
        dockerfiles[-1].write_text("\n".join(lines) + "\n")
        return dockerfiles[-1]

    yield write
    for built in engine.images.list(filters={"label": label}):
        engine.images.remove(str(built.id), force=True)


@pytest.mark.engine
@pytest.mark.parametrize(
    "library",
    ["numpy", "scipy.stats", "sympy", "matplotlib.pyplot", "pandas", "PIL.Image", "pypdf"],
)
def test_every_documented_library_is_installed(shell: Shell, library: str) -> None:
    shell(f"python3 -W error -c 'import {library}' && python -c 'import {library}'")


@pytest.mark.engine
def test_the_libraries_work_together(shell: Shell) -> None:
    program = """
import matplotlib.pyplot as plt, numpy as np, pandas as pd, sympy
from scipy import optimize
x = sympy.symbols("x")
assert sympy.integrate(x**2, (x, 0, 3)) == 9
assert abs(optimize.brentq(np.cos, 0, 3) - np.pi / 2) < 1e-9
frame = pd.DataFrame({"a": [1, 2], "b": [3, 5]})
axes = frame.plot(x="a", y="b", title="Umlauts äöü and $\\\\int x^2$")
axes.figure.savefig("/tmp/plot.png")
from PIL import Image
assert Image.open("/tmp/plot.png").size == (640, 480)
"""
    shell(f"cat > /tmp/together.py <<'END'\n{program}\nEND\npython3 -W error /tmp/together.py")


@pytest.mark.engine
def test_the_font_cache_is_prebuilt(shell: Shell) -> None:
    modified = shell("stat -c %y ~/.cache/matplotlib/fontlist*.json")
    shell("cd /tmp && python3 -c 'import pylab; pylab.plot([1]); pylab.savefig(\"a.png\")'")
    assert shell("stat -c %y ~/.cache/matplotlib/fontlist*.json") == modified


@pytest.mark.engine
def test_pdf_text_can_be_extracted(shell: Shell) -> None:
    shell(
        "cd /tmp && python3 -c '"
        'import pylab; pylab.figtext(0.5, 0.5, "words in a page"); pylab.savefig("a.pdf")\''
    )
    assert "words in a page" in shell("pdftotext /tmp/a.pdf -")
    program = 'import pypdf; print(pypdf.PdfReader("/tmp/a.pdf").pages[0].extract_text())'
    assert "words in a page" in shell(f"python3 -c '{program}'")


@pytest.mark.engine
@pytest.mark.parametrize("program", ["git", "curl", "wget", "gcc", "make", "pdftotext", "file"])
def test_every_documented_program_is_installed(shell: Shell, program: str) -> None:
    assert shell(f"command -v {program}").startswith("/usr/bin/")


PRINT_INSTALLED = "-c 'import iniconfig; print(iniconfig.__file__)'"
# A package's script links a manual page: OpenJDK's fails if the folder of the link is missing.
LINK = "/usr/bin/anything anything /bin/true 1"
PAGE = "/usr/share/man/man1/anything.1.gz"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("printf 'int puts(const char*);int main(){puts(\"compiled\");}' > /tmp/a.c"
         " && cd /tmp && make -s a && ./a", "compiled\n"),
        ("echo '#include <Python.h>' > /tmp/b.c"
         " && gcc $(python3-config --includes) -c /tmp/b.c", ""),
        (f"pip install -q iniconfig && python3 {PRINT_INSTALLED}", "iniconfig"),
        (f"pip install -q iniconfig && /usr/bin/python3 {PRINT_INSTALLED}", "iniconfig"),
        ("apt-get update && apt-get install -y tree && tree --version", "tree v"),
        (f"update-alternatives --install {LINK} --slave {PAGE} anything.1.gz /etc/hostname"
         f" && readlink {PAGE}", "/etc/alternatives/"),
        ("python3 -c 'print(\"→ ü 音\")'", "→ ü 音\n"),
    ],
    ids=["C", "C extension", "pip", "pip, Debian's Python", "apt", "manual page", "UTF-8"],
)  # fmt: skip
def test_programs_work_with_the_capabilities_of_the_sandbox(
    shell: Shell, command: str, output: str
) -> None:
    assert output in shell(command)


@pytest.mark.engine
def test_pip_upgrades_and_restores_debian_packages(shell: Shell) -> None:
    print_location = "python3 -c 'import pypdf; print(pypdf.__file__)'"
    debian = shell(print_location)
    shell("pip install --quiet --upgrade pypdf")
    assert shell(print_location) != debian
    shell("pip uninstall --quiet -y pypdf")
    assert shell(print_location) == debian


@pytest.mark.engine
def test_an_existing_image_is_small_and_not_rebuilt(engine: Client, image: str) -> None:
    assert engine.images.get(image).attrs["Size"] < MAX_IMAGE_BYTES
    updates: list[BuildProgress] = []
    assert ensure_image(engine, dockerfile_path(), updates.append) == image
    assert updates == []


@pytest.mark.engine
def test_progress_names_each_step_and_never_decreases(
    engine: Client, write_dockerfile: Callable[..., Path]
) -> None:
    dockerfile = write_dockerfile("echo first line", "echo second line")
    updates: list[BuildProgress] = []
    tag = ensure_image(engine, dockerfile, updates.append)
    assert image_exists(engine, tag)
    fractions = [progress.fraction for progress in updates]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert {"first line", "second line"} <= {progress.line for progress in updates}
    steps = {progress.step for progress in updates if progress.steps}
    assert steps == set(range(1, max(progress.steps for progress in updates) + 1))


@pytest.mark.engine
def test_a_failed_step_is_an_error_with_its_last_lines(
    engine: Client, write_dockerfile: Callable[..., Path]
) -> None:
    dockerfile = write_dockerfile("echo the mirror is gone; exit 7")
    with pytest.raises(ImageError, match=r"(?s)code: 7.*the mirror is gone.*make build"):
        ensure_image(engine, dockerfile, lambda _: None)
    assert not image_exists(engine, image_tag(dockerfile))


BUILD = """
import os, sys; from pathlib import Path
from agent.sandbox.engine.client import connect
from agent.sandbox.image.build import ensure_image
client = connect(os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"))
print(ensure_image(client, Path(sys.argv[1]), lambda progress: print(progress.line)))
client.close()
"""


@pytest.mark.engine
def test_concurrent_builds_build_once(
    engine: Client, write_dockerfile: Callable[..., Path]
) -> None:
    dockerfile = write_dockerfile("echo built once")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", BUILD, str(dockerfile)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    updates = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert [lines[-1] for lines in updates] == [image_tag(dockerfile)] * 2
    assert sum(lines.count("built once") for lines in updates) == 1


@pytest.mark.engine
def test_a_missing_base_image_is_reported(engine: Client, tmp_path: Path) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("FROM registry.invalid/nothing:here AS sandbox\n")
    with pytest.raises(ImageError, match=r"registry\.invalid/nothing:here could not be pulled"):
        ensure_image(engine, dockerfile, lambda _: None)


def test_each_image_has_its_own_dockerfile_stage_and_tag(tmp_path: Path) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("# Both\nFROM a:b AS sandbox\nRUN one\nFROM c:d AS proxy\nRUN two\n")
    assert extract_stage(dockerfile, "proxy") == "FROM c:d AS proxy\nRUN two\n"
    before = image_tag(dockerfile)
    assert re.fullmatch(r"llm-in-sandbox-studio:[0-9a-f]{12}", before)
    dockerfile.write_text(dockerfile.read_text() + "RUN three\n")
    assert image_tag(dockerfile) == before
    dockerfile.write_text(dockerfile.read_text().replace("RUN one", "RUN other"))
    assert image_tag(dockerfile) != before
    dockerfile.write_text("FROM a:b\n")
    with pytest.raises(ImageError, match="no target 'sandbox'"):
        image_tag(dockerfile)


def test_instructions_are_distinguished_from_comments_and_continuations() -> None:
    text = "# A comment\nFROM a:b\n\nRUN one \\\n    # inside\n    && two\n"
    assert parse_instructions(text) == ["FROM a:b", "RUN one && two"]


APT_OUTPUT = [
    "Step 2/3 : RUN apt-get install x",
    "0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.",
    "Get:1 http://mirror.example/debian trixie/main amd64 x amd64 1.51-4 [82.1 kB]",
    "Unpacking x (1.51-4) ...",
    "Setting up x (1.51-4) ...",
    "Step 3/3 : CMD true",
]


def read_build_output(lines: list[str]) -> list[BuildProgress]:
    updates: list[BuildProgress] = []
    reader = BuildOutputParser(
        "FROM a:b\nRUN apt-get install x\nCMD true\n", ProgressReporter(updates.append)
    )
    for line in lines:
        reader.read(line)
    return updates


def test_apt_output_advances_its_step() -> None:
    fractions = [round(each.fraction * 22, 2) for each in read_build_output(APT_OUTPUT)]
    assert fractions == [1.0, 1.0, 4.33, 7.67, 11.0, 21.0]


@given(st.lists(st.sampled_from(APT_OUTPUT) | st.text()))
def test_progress_stays_within_its_bounds_whatever_is_printed(lines: list[str]) -> None:
    updates = read_build_output(lines)
    fractions = [progress.fraction for progress in updates]
    assert fractions == sorted(fractions)
    assert all(0 <= fraction <= 1 for fraction in fractions)
    assert not any("\n" in progress.line for progress in updates)


MIRRORS = ("http://mirror.example/debian", "http://mirror.example/debian-security")
DEBIAN_SOURCES = (
    "Types: deb\nURIs: http://mirror.example/debian/\nSuites: bookworm\n\n"
    "Types: deb\nURIs: http://mirror.example/debian-security\nSuites: bookworm-security\n"
)


@pytest.mark.parametrize(
    ("name", "sources", "mirrors"),
    [
        ("sources.list.d/debian.sources", DEBIAN_SOURCES, MIRRORS),
        ("sources.list", "deb http://mirror.example/debian trixie main\n", MIRRORS),
        ("sources.list", "# deb http://old.example/debian bookworm main\n", None),
        ("sources.list", "deb https://archive.example/ubuntu noble main\n", None),
    ],
    ids=["both", "security from the same mirror", "a comment", "debootstrap's default"],
)
def test_the_mirrors_of_the_host_are_used(
    tmp_path: Path, name: str, sources: str, mirrors: tuple[str, str] | None
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(sources)
    assert debian_mirrors(tmp_path) == mirrors


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a base image")
def test_a_base_from_scratch_carries_an_image(engine: Client) -> None:
    """The sandbox image itself is built from scratch by ``make image`` on a new machine."""
    name = f"studio-test-{uuid.uuid4().hex[:12]}"
    # A separate repository, so that the base image of other builds is not replaced.
    base, tag = f"{name}:trixie-slim", f"{name}:image"
    updates: list[BuildProgress] = []
    reporter = ProgressReporter(updates.append)
    try:
        build_base(engine, base, reporter)
        build_image(engine, f"FROM {base}\nRUN apt-get --version\n", tag, reporter, cache=False)
        assert engine.images.get(base).attrs["Size"] < 120_000_000
    finally:
        for built in (tag, base):
            if image_exists(engine, built):
                engine.images.remove(built)
    fractions = [progress.fraction for progress in updates]
    assert fractions == sorted(fractions)
