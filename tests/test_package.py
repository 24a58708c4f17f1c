"""The package: what a wheel brings is found where it is installed, far from any checkout."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["agent", "sandbox_ui", "static", "app.py", "Dockerfile", "LICENSE", "README.md"]
PARTS += ["pyproject.toml", "requirements.txt"]

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
    program = "from agent.sandbox.image import dockerfile_path; print(dockerfile_path())"
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
