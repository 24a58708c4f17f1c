"""The package: an installed wheel works without a checkout."""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE_FILES = ["agent", "sandbox_ui", "static", "app.py", "Dockerfile", "LICENSE", "README.md"]
SOURCE_FILES += ["pyproject.toml", "requirements.txt", "requirements.lock"]
SOURCE_FILES += ["requirements-train.txt", "requirements-train.lock", "requirements-builtin.lock"]
SOURCE_FILES += ["requirements-inspect.txt", "requirements-ray.txt"]
SOURCE_FILES += [".npmrc", "package.json", "package-lock.json", "requirements-node.txt"]

NAME = "llm_in_sandbox_studio"
PRINT_DOCKERFILE_PATH = (
    f"from {NAME}.sandbox.image.build import dockerfile_path; print(dockerfile_path())"
)
IMPORT_EVERY_MODULE = """
import importlib, pkgutil
import llm_in_sandbox_studio as package
ABSENT = {"inspect_ai", "ray"}
ABSENT |= {"torch", "trl", "transformers", "peft", "datasets", "accelerate", "gguf", "matplotlib"}
ABSENT |= {"supervisor"}
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if found.name.endswith("__main__") or ".supervisor" in found.name or ".squid" in found.name:
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ABSENT:
            print(found.name, error)
"""

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


def run(*command: str | Path, cwd: Path) -> str:
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the package, which shares this one's dependencies.

    The wheel is built from the source distribution, which must hold all that it needs.
    """
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    source.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for part in SOURCE_FILES:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, source / part)
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = f"import build_backend as b; print(b.build_sdist({str(folder)!r}))"
    sys_path = f"import sys; sys.path.insert(0, {str(source / 'agent' / 'packaging')!r})"
    name = run(sys.executable, "-c", f"{sys_path}; {build}", cwd=source).splitlines()[-1]
    run(*pip, "wheel", "--no-deps", "-w", wheels, folder / name, cwd=folder)
    target = folder / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", target, cwd=folder)
    python = target / "bin" / "python"
    run(*pip, f"--python={python}", "install", "--no-deps", *wheels.iterdir(), cwd=folder)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))",
                    cwd=folder).strip())  # fmt: skip
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.rmtree(source)
    return target


@pytest.fixture(scope="module")
def site(environment: Path) -> Path:
    """The folder in which the package is installed."""
    (site,) = (environment / "lib").glob("python3*/site-packages")
    return site


def evaluate(environment: Path, program: str) -> str:
    """Return what a program prints in the environment."""
    return run(environment / "bin" / "python", "-c", program, cwd=environment).strip()


def test_every_tracked_file_is_installed(site: Path) -> None:
    listed = run("git", "ls-files", "agent", "sandbox_ui", "static", "app.py", cwd=ROOT)
    tracked = [path for path in listed.splitlines() if not path.startswith("agent/packaging/")]
    expected_paths = [site / NAME / path.removeprefix("agent/") for path in tracked]
    assert [path for path in expected_paths if not path.is_file()] == []


def test_the_bundles_of_the_page_and_their_licences_are_installed(site: Path) -> None:
    assert (site / NAME / "static" / "bundle" / "report.html").is_file()
    vendor = site / NAME / "static" / "vendor"
    names = {path.name for path in (ROOT / "agent/packaging/libraries").iterdir()}
    assert names <= {path.name for path in vendor.iterdir()}
    licences = (vendor / "licences.txt").read_text()
    assert re.search(r"^dompurify \d", licences, re.MULTILINE)
    assert "Apache License" in licences


def test_the_wheel_installs_one_top_level_package(environment: Path, site: Path) -> None:
    (top_level,) = site.glob("*.dist-info/top_level.txt")
    assert top_level.read_text().split() == [NAME]
    others = {"dependencies.pth", NAME, top_level.parent.name, "__pycache__"}
    assert {path.name for path in site.iterdir()} <= others
    find = "import importlib.util as u; print(*map(u.find_spec, ('agent', 'sandbox_ui', 'app')))"
    assert evaluate(environment, find).split() == ["None"] * 3


def test_every_module_of_the_wheel_can_be_imported(environment: Path) -> None:
    assert evaluate(environment, IMPORT_EVERY_MODULE) == ""


USER_PROGRAM = """
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
            print(event.summary)
    return run


with Studio(data=sys.argv[1]) as studio:
    run = studio.run(sys.argv[2], model="demonstration", network="none")
    names: list[str] = [event.name for event in run if isinstance(event, ToolStarted)]
    print(run.result.status, run.result.totals.steps > 0, "submit" in names)
"""
WRONG_PROGRAM = f"{USER_PROGRAM}\nstudio.run(7)\nrun.result.statuss\n"


def test_a_program_that_uses_the_package_is_type_checked(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER_PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG_PROGRAM)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable"]
    command = [*mypy, str(environment / "bin" / "python"), "user.py", "wrong.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    incompatible, misspelt, _total = result.stdout.splitlines()
    assert "wrong.py" in incompatible
    assert "incompatible type" in incompatible
    assert 'has no attribute "statuss"' in misspelt


@pytest.mark.engine
def test_a_program_that_uses_the_package_runs_a_demonstration(
    environment: Path, tmp_path: Path, image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user.py").write_text(USER_PROGRAM)
    monkeypatch.setenv("STUDIO_IMAGE", image)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = environment / "bin" / "python"
    output = run(python, tmp_path / "user.py", tmp_path / "data", "chart", cwd=tmp_path)
    assert output.splitlines() == ["submitted True True"]
    script = environment / "bin" / "llm-in-sandbox-studio"
    monkeypatch.setenv("STUDIO_DATA", str(tmp_path / "data"))
    run(script, "run", "chart", "--model", "demonstration", "--output", tmp_path / "out",
        cwd=tmp_path)  # fmt: skip
    assert (tmp_path / "out" / "files").is_dir()


def test_an_editable_installation_uses_the_checkout(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--target", str(tmp_path / "site")]
    run(*pip, "install", *options, "-e", str(ROOT), cwd=tmp_path)
    program = "import sys; sys.path.insert(0, 'site'); import llm_in_sandbox_studio as package; "
    program += "from llm_in_sandbox_studio.events import RunEnded; import agent.events; "
    program += "print(package.Studio.__module__, RunEnded is agent.events.RunEnded)"
    output = run(sys.executable, "-c", program, cwd=tmp_path)
    assert output.split() == ["agent.api.studio", "True"]


def test_the_package_contains_the_dockerfile_the_prompts_and_a_command(environment: Path) -> None:
    dockerfile = Path(evaluate(environment, PRINT_DOCKERFILE_PATH))
    assert dockerfile.is_relative_to(environment)
    assert dockerfile.read_bytes() == (ROOT / "Dockerfile").read_bytes()
    program = f"from {NAME} import prompts; print(prompts.__file__, *prompts.list_names())"
    file, *names = evaluate(environment, program).split()
    assert Path(file).is_relative_to(environment)
    assert "general" in names
    output = run(environment / "bin" / "llm-in-sandbox-studio", "--help", cwd=environment)
    assert {"run", "build"} <= set(re.findall(r"\w+", output))


def test_the_command_creates_credentials(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUDIO_DATA", str(tmp_path))
    script = environment / "bin" / "llm-in-sandbox-studio"
    assert run(script, "token", "cron", cwd=tmp_path).startswith("studio_")
    assert '"cron"' in (tmp_path / "tokens.json").read_text()


PRINT_HINTS = """
from llm_in_sandbox_studio.installation import build_command
from llm_in_sandbox_studio.models.builtin.install import BUILTIN_MISSING_MESSAGE
from llm_in_sandbox_studio.train.cli import check_installed
print(BUILTIN_MISSING_MESSAGE)
print(build_command())
"""


def test_hints_name_the_commands_of_the_installation(environment: Path) -> None:
    python = environment / "bin" / "python"
    output = evaluate(environment, PRINT_HINTS)
    assert ".venv" not in output
    assert "make " not in output
    share = environment / "share" / "llm-in-sandbox-studio"
    assert f"{python} -m pip install --no-deps -r {share / 'requirements-builtin.lock'}" in output
    assert f"{python} -m {NAME} build" in output
    assert run(python, "-m", NAME, "--help", cwd=environment)
    find = f"from {NAME}.installation import *; print(find_file('requirements.txt'))"
    assert evaluate(environment, find) == str(share / "requirements.txt")


def test_moved_packages_find_the_dockerfile_or_report_it_missing(
    environment: Path, site: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(site, moved)
    command = [sys.executable, "-c", PRINT_DOCKERFILE_PATH]
    without_share = subprocess.run(command, cwd=moved, capture_output=True, text=True, check=False)
    assert without_share.stderr.splitlines()[-1].startswith(
        "llm_in_sandbox_studio.errors.ImageError: The Dockerfile of the sandbox image is missing: "
    )
    shutil.copytree(environment / "share", moved / "share")  # as pip install --target does
    path = run(*command, cwd=moved).strip()
    assert path == str(moved / "share" / "llm-in-sandbox-studio" / "Dockerfile")
