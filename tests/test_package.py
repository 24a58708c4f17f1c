"""The package: what a wheel brings is found where it is installed, far from any checkout."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["agent", "sandbox_ui", "static", "app.py", "Dockerfile", "LICENSE", "README.md"]
PARTS += ["pyproject.toml", "requirements.txt", "requirements-builtin.txt"]
PARTS += ["requirements-train.txt", "constraints.txt"]

NAME = "llm_in_sandbox_studio"
FIND = f"from {NAME}.sandbox.image.build import dockerfile_path; print(dockerfile_path())"
EVERY_MODULE = """
import importlib, pkgutil
import llm_in_sandbox_studio as package
ABSENT = {"torch", "trl", "transformers", "peft", "datasets", "accelerate", "gguf", "supervisor"}
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if found.name.endswith("__main__") or ".supervisor" in found.name or ".squid" in found.name:
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ABSENT:
            print(found.name, error)
"""

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
    kept = [path for path in kept if not path.startswith("agent/packaging/")]
    places = [site / NAME / path.removeprefix("agent/") for path in kept]
    assert [path for path in places if not path.is_file()] == []


def test_the_wheel_brings_one_name(installed: Path) -> None:
    site = next((installed / "lib").glob("python3*/site-packages"))
    (top_level,) = site.glob("*.dist-info/top_level.txt")
    assert top_level.read_text().split() == [NAME]
    others = {"dependencies.pth", NAME, top_level.parent.name, "__pycache__"}
    assert {path.name for path in site.iterdir()} <= others
    left = "import importlib.util as u; print(*map(u.find_spec, ('agent', 'sandbox_ui', 'app')))"
    assert run(installed / "bin" / "python", "-c", left, cwd=installed).split() == ["None"] * 3


def test_every_module_of_the_wheel_can_be_imported(installed: Path) -> None:
    python = installed / "bin" / "python"
    assert run(python, "-c", EVERY_MODULE, cwd=installed).strip() == ""


USER = """
import sys
from pathlib import Path
from llm_in_sandbox_studio import Run, Studio, load_settings, tool
from llm_in_sandbox_studio.events import ToolStarted


@tool(where="sandbox")
def double(x: int) -> int:
    return 2 * x


def work(studio: Studio, folder: Path) -> Run:
    run = studio.run("What is 2 + 2?", model="demonstration", tools=[double])
    for event in run:
        if isinstance(event, ToolStarted):
            print(event.head)
    return run


with Studio(data=sys.argv[1]) as studio:
    run = studio.run(sys.argv[2], model="demonstration", network="none")
    names: list[str] = [event.name for event in run if isinstance(event, ToolStarted)]
    print(run.result.status, run.result.totals.steps > 0, "submit" in names)
"""
WRONG = (
    USER
    + """
studio.run(7)
run.result.statuss
"""
)


def test_a_program_over_the_installed_package_is_type_checked(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(WRONG)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable"]
    checked: list[str | Path] = [*mypy, str(installed / "bin" / "python")]
    assert "Success" in run(*checked, tmp_path / "user.py", cwd=tmp_path)
    done = subprocess.run(
        [*checked, tmp_path / "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "incompatible type" in done.stdout
    assert 'has no attribute "statuss"' in done.stdout


@pytest.mark.engine
def test_a_program_over_the_installed_package_runs_a_demonstration(
    installed: Path, tmp_path: Path, image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user.py").write_text(USER)
    monkeypatch.setenv("STUDIO_IMAGE", image)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = installed / "bin" / "python"
    said = run(python, tmp_path / "user.py", tmp_path / "data", "chart", cwd=tmp_path)
    assert said.splitlines() == ["submitted True True"]
    script = installed / "bin" / "llm-in-sandbox-studio"
    monkeypatch.setenv("STUDIO_DATA", str(tmp_path / "data"))
    run(script, "run", "chart", "--model", "demonstration", "--output", tmp_path / "out",
        cwd=tmp_path)  # fmt: skip
    assert (tmp_path / "out" / "files").is_dir()


def test_an_editable_installation_leads_to_the_checkout(tmp_path: Path) -> None:
    """What pip is given is a package that finds the checkout's modules, each of them once."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    target = ["--no-deps", "--target", str(tmp_path / "site")]
    run(*pip, "install", *target, "-e", str(ROOT), cwd=tmp_path)
    program = "import sys; sys.path.insert(0, 'site'); import llm_in_sandbox_studio as package; "
    program += "from llm_in_sandbox_studio.events import RunEnded; import agent.events; "
    program += "print(package.Studio.__module__, RunEnded is agent.events.RunEnded)"
    said = run(sys.executable, "-c", program, cwd=tmp_path)
    assert said.split() == ["agent.api.studio", "True"]


def test_a_source_distribution_makes_the_same_wheel(installed: Path, tmp_path: Path) -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import build_backend as b; "
    program += "print(b.build_sdist(sys.argv[2]))"
    backend = ROOT / "agent" / "packaging"
    name = run(sys.executable, "-c", program, backend, tmp_path, cwd=tmp_path).splitlines()[-1]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "-w", tmp_path, tmp_path / name, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    site = next((installed / "lib").glob("python3*/site-packages"))
    with ZipFile(wheel) as archive:
        brought = {name for name in archive.namelist() if name.startswith(NAME + "/")}
    here = {str(path.relative_to(site)) for path in (site / NAME).rglob("*") if path.is_file()}
    assert brought == {path for path in here if "__pycache__" not in path}


def test_the_dockerfile_is_found_from_the_installed_package(installed: Path) -> None:
    found = Path(run(installed / "bin" / "python", "-c", FIND, cwd=installed).strip())
    assert found.is_relative_to(installed)
    assert found.read_bytes() == (ROOT / "Dockerfile").read_bytes()


def test_the_prompts_are_found_from_the_installed_package(installed: Path) -> None:
    program = (
        "from llm_in_sandbox_studio import prompts; print(prompts.__file__, *prompts.list_names())"
    )
    found = run(installed / "bin" / "python", "-c", program, cwd=installed).split()
    assert Path(found[0]).is_relative_to(installed)
    assert "general" in found


def test_the_console_script_describes_itself(installed: Path) -> None:
    script = installed / "bin" / "llm-in-sandbox-studio"
    said = run(script, "--help", cwd=installed)
    assert "run" in said
    assert "build" in said


HINTS = """
from llm_in_sandbox_studio.installation import build_command
from llm_in_sandbox_studio.models.builtin.install import BUILTIN_MISSING_MESSAGE
from llm_in_sandbox_studio.train.cli import check_installed
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
    assert f"{python} -m {NAME} build" in said
    assert run(python, "-m", NAME, "--help", cwd=installed)
    asked: list[str | Path] = [
        python,
        "-c",
        "from llm_in_sandbox_studio.installation import *; print(find_file('requirements.txt'))",
    ]
    assert run(*asked, cwd=installed).strip() == str(share / "requirements.txt")


def test_packages_that_were_moved_find_their_dockerfile_or_say_so(
    installed: Path, tmp_path: Path
) -> None:
    (site,) = (installed / "lib").glob("python3*/site-packages")
    moved = tmp_path / "moved"
    shutil.copytree(site, moved)
    found = [sys.executable, "-c", FIND]
    alone = subprocess.run(found, cwd=moved, capture_output=True, text=True, check=False)
    assert alone.stderr.splitlines()[-1].startswith(
        "llm_in_sandbox_studio.errors.ImageError: The Dockerfile of the sandbox image is missing: "
    )
    shutil.copytree(installed / "share", moved / "share")  # as pip install --target does
    told = run(*found, cwd=moved).strip()
    assert told == str(moved / "share" / "llm-in-sandbox-studio" / "Dockerfile")
