"""The package: what a wheel brings is found where it is installed, far from any checkout."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["agent", "sandbox_ui", "static", "app.py", "Dockerfile", "LICENSE", "README.md"]
PARTS += ["pyproject.toml", "requirements.txt", "requirements-builtin.txt"]
PARTS += ["requirements-train.txt", "constraints.txt"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the package in it; its dependencies are this one's."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    source.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=unwanted)
        else:
            shutil.copy(ROOT / part, source / part)
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "-w", wheels, source, cwd=folder)
    environment = folder / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=folder)
    python = environment / "bin" / "python"
    run(*pip, f"--python={python}", "install", "--no-deps", *wheels.iterdir(), cwd=folder)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))",
                    cwd=folder).strip())  # fmt: skip
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.rmtree(source)
    return environment


def test_every_file_beside_the_code_is_there(installed: Path) -> None:
    """Nothing that git keeps in the packages' folders is missing from the installed ones."""
    site = next((installed / "lib").glob("python3*/site-packages"))
    kept = run("git", "ls-files", "agent", "sandbox_ui", "static", "app.py", cwd=ROOT).splitlines()
    assert [path for path in kept if not (site / path).is_file()] == []


def test_the_dockerfile_is_found_from_the_installed_package(installed: Path) -> None:
    program = "from agent.sandbox.image.build import dockerfile_path; print(dockerfile_path())"
    found = Path(run(installed / "bin" / "python", "-c", program, cwd=installed).strip())
    assert found.is_relative_to(installed)
    assert found.read_bytes() == (ROOT / "Dockerfile").read_bytes()


def test_the_prompts_are_found_from_the_installed_package(installed: Path) -> None:
    program = "from agent import prompts; print(prompts.__file__, *prompts.names())"
    found = run(installed / "bin" / "python", "-c", program, cwd=installed).split()
    assert Path(found[0]).is_relative_to(installed)
    assert "general" in found


def test_the_console_script_describes_itself(installed: Path) -> None:
    script = installed / "bin" / "llm-in-sandbox-studio"
    said = run(script, "--help", cwd=installed)
    assert "run" in said
    assert "build" in said


HINTS = """
from agent.installation import build_command
from agent.models.builtin.install import BUILTIN_MISSING_MESSAGE
from agent.train.cli import check_installed
print(BUILTIN_MISSING_MESSAGE)
print(build_command())
"""


def test_every_hint_fits_the_installation(installed: Path) -> None:
    python = installed / "bin" / "python"
    said = run(python, "-c", HINTS, cwd=installed)
    assert ".venv" not in said
    assert "make " not in said
    share = installed / "share" / "llm-in-sandbox-studio"
    assert f"{python} -m pip install --no-deps -r {share / 'requirements-builtin.txt'}" in said
    assert f"{python} -m agent build" in said
    assert run(python, "-m", "agent", "--help", cwd=installed)
    asked: list[str | Path] = [
        python,
        "-c",
        "from agent.installation import *; print(find_file('requirements.txt'))",
    ]
    assert run(*asked, cwd=installed).strip() == str(share / "requirements.txt")


FIND = "from agent.sandbox.image.build import dockerfile_path; print(dockerfile_path())"


def test_packages_that_were_moved_find_their_dockerfile_or_say_so(
    installed: Path, tmp_path: Path
) -> None:
    (site,) = (installed / "lib").glob("python3*/site-packages")
    moved = tmp_path / "moved"
    shutil.copytree(site, moved)
    found = [sys.executable, "-c", FIND]
    alone = subprocess.run(found, cwd=moved, capture_output=True, text=True, check=False)
    assert alone.stderr.splitlines()[-1].startswith(
        "agent.errors.ImageError: The Dockerfile of the sandbox image is missing: "
    )
    shutil.copytree(installed / "share", moved / "share")  # as pip install --target does
    told = run(*found, cwd=moved).strip()
    assert told == str(moved / "share" / "llm-in-sandbox-studio" / "Dockerfile")
