"""Recorded runs for reports, written to the disk without executing anything."""

import base64
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from agent.capabilities.usage import CapabilityUsage
from agent.events import (
    Event,
    FileChange,
    ModelAnswered,
    Notice,
    ReasoningDelta,
    Reminder,
    Retrying,
    RunContinued,
    RunEnded,
    RunStarted,
    SandboxReady,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    Totals,
    WorkspaceChanged,
    encode,
)
from agent.models.base import ToolCall, Usage
from agent.runs.folder import RunFolder
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Delta, Node

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@dataclass
class Recorder:
    """Writes a run's record step by step; a step takes ten seconds."""

    data: Path
    task: str = "Count the lakes."
    folder: RunFolder = field(init=False)
    at: float = 1_700_000_000.0
    steps: int = 0

    def __post_init__(self) -> None:
        self.folder = RunFolder.create(self.data, "sandbox-1")
        self._totals = Totals(model_seconds=1.0)
        self.write(
            RunStarted(
                run=self.folder.id, task=self.task, mode="sandbox", model="test-model",
                metered=True, prompt="general", system="You have a computer.", user=self.task,
                inputs=("lakes.csv",), limits={"steps": 100, "seconds": 7200}, at=self.at,
            ),
            SandboxReady(sandbox="sandbox-1", seconds=0.5, pooled=True, image="sha256:abc",
                         at=self.at + 0.5),
        )  # fmt: skip

    def write(self, *events: Event) -> None:
        with self.folder.journal.open("ab") as file:
            file.writelines(encode(event) + b"\n" for event in events)

    def step(
        self,
        command: str = "ls",
        output: str = "lakes.csv\n",
        *,
        text: str = "I look.",
        reasoning: str = "First the files.",
        exit_code: int = 0,
        files: dict[str, bytes | None] | None = None,
        observation: str = "",
    ) -> None:
        """Record a step with one command; ``files`` are its changes, None for a removed one."""
        self.steps += 1
        at, step, call = self.at + 10 * self.steps, self.steps, f"call-{self.steps}"
        used = CapabilityUsage(file="observed", compute="parsed", programs=("ls",))
        self._totals = Totals(steps=step, prompt_tokens=1_000 * step, generated_tokens=10 * step,
                              model_seconds=2.0 * step, sandbox_seconds=float(step))  # fmt: skip
        self.write(
            StepStarted(step=step, note="", at=at),
            ReasoningDelta(step=step, text=reasoning, at=at + 1),
            TextDelta(step=step, text=text, at=at + 2),
            ModelAnswered(
                step=step, text=text, reasoning=reasoning, finish="tool_calls",
                calls=(ToolCall(call, "execute_bash", "{}"),), usage=Usage(1_000 * step, 10),
                estimated=False, seconds=3.0, at=at + 3,
            ),
            ToolStarted(step=step, call_id=call, name="execute_bash",
                        arguments={"command": command}, summary=command[:80], at=at + 4),
            ToolOutput(step=step, call_id=call, stream="stdout", text=output, at=at + 5),
            ToolEnded(
                step=step, call_id=call, name="execute_bash", ok=not exit_code,
                exit_code=exit_code, end_reason="exit", seconds=2.0, observation=observation,
                used=used, at=at + 6,
            ),
            *self._changes(step, files or {}, at + 7),
            StepEnded(step=step, totals=self._totals, at=at + 8),
        )  # fmt: skip

    def _changes(self, step: int, files: dict[str, bytes | None], at: float) -> list[Event]:
        if not files:
            return []
        nodes = {}
        for name, content in files.items():
            if content is not None:
                digest = hashlib.sha256(content).hexdigest()
                blob = self.data / "blobs" / digest[:2] / digest
                blob.parent.mkdir(parents=True, exist_ok=True)
                blob.write_bytes(content)
                nodes[name] = Node("file", len(content), 0o644, digest)
        removed = tuple(name for name, content in files.items() if content is None)
        ManifestLog(self.folder.manifests).append(step, Delta(nodes, removed, frozenset(nodes)))
        changes = tuple(FileChange(name, "added", node.size) for name, node in nodes.items())
        return [WorkspaceChanged(step=step, changes=changes, total=len(changes), at=at)]

    def end(self, answer: str = "There are three lakes.", reason: str = "") -> RunFolder:
        at = self.at + 10 * self.steps + 9
        self.write(
            RunEnded(status="failed" if reason else "submitted", reason=reason, answer=answer,
                     totals=self._totals, at=at)
        )  # fmt: skip
        return self.folder


def hostile_run(data: Path, attack: str) -> RunFolder:
    """Return a run whose every text is an attack."""
    recorder = Recorder(data, task=attack)
    recorder.folder.set_title(attack)
    cell = attack.replace(",", ";")
    page = f"<!doctype html><title>{attack}</title><p>{attack}".encode("utf-8", "replace")
    recorder.step(
        attack, attack, text=attack, reasoning=attack, exit_code=1, observation=attack,
        files={f"output/{attack.replace('/', '_')[:60]}.html": page, "output/a.svg": page,
               "output/table.csv": f"a,b\n{cell},2\n".encode("utf-8", "replace"),
               "output/notes.txt": attack.encode("utf-8", "replace")},
    )  # fmt: skip
    at = recorder.at + 15
    recorder.write(
        StepStarted(step=2, note=attack, at=at),
        Notice(step=2, text=attack, at=at),
        Reminder(step=2, text=attack, at=at),
        Retrying(step=2, attempt=1, reason=attack, wait=0.1, at=at),
        ModelAnswered(
            step=2, text=f"[link]({attack}) ![image]({attack})", reasoning="", finish="tool_calls",
            calls=(ToolCall(attack, attack, attack),), usage=None, estimated=False, seconds=1.0,
            at=at,
        ),
        ToolEnded(
            step=2, call_id=attack, name=attack, ok=False, exit_code=None, end_reason="exit",
            seconds=0.0, observation=attack, storage_note=attack, at=at,
        ),
        ToolStarted(step=2, call_id="cut", name=attack, arguments={attack: [attack]},
                    summary=attack, at=at),
        RunContinued(text=attack, model=attack, metered=False, at=at),
    )  # fmt: skip
    return recorder.end(answer=attack, reason=attack)
