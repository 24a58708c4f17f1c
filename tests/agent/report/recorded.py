"""Recorded runs for reports, written to the disk without executing anything."""

import base64
import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.capabilities.usage import CapabilityUsage
from agent.events import (
    Event,
    FileChange,
    Notice,
    Reminder,
    Retrying,
    SandboxReady,
    StepStarted,
    ToolStarted,
    Totals,
    encode,
)
from agent.models.base import ToolCall, Usage
from agent.runs.folder import RunFolder
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.support.component import events

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
            events.started(
                self.task, run=self.folder.id, system="You have a computer.", inputs=("lakes.csv",),
                limits={"steps": 100, "seconds": 7200}, at=self.at,
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
        used = CapabilityUsage(file="observed", compute="parsed", programs=("ls",))
        self._totals = Totals(steps=self.steps, prompt_tokens=1_000 * self.steps,
                              generated_tokens=10 * self.steps, model_seconds=2.0 * self.steps,
                              sandbox_seconds=float(self.steps))  # fmt: skip
        call = events.bash(command, output, exit_code, observation=observation, used=used,
                           summary=command[:80], seconds=2.0)  # fmt: skip
        recorded = events.step(
            self.steps, call, text=text, reasoning=reasoning, totals=self._totals, seconds=3.0,
            usage=Usage(1_000 * self.steps, 10), changes=self._store(files or {}),
        )  # fmt: skip
        begin = self.at + 10 * self.steps
        self.write(*(replace(each, at=begin + at) for at, each in enumerate(recorded)))

    def _store(self, files: dict[str, bytes | None]) -> list[FileChange]:
        """Store the contents and the manifest of the step's files."""
        nodes = {}
        for name, content in files.items():
            if content is not None:
                digest = hashlib.sha256(content).hexdigest()
                blob = self.data / "blobs" / digest[:2] / digest
                blob.parent.mkdir(parents=True, exist_ok=True)
                blob.write_bytes(content)
                nodes[name] = Node("file", len(content), 0o644, digest)
        removed = tuple(name for name, content in files.items() if content is None)
        delta = Delta(nodes, removed, frozenset(nodes))
        ManifestLog(self.folder.manifests).append(self.steps, delta)
        return [FileChange(name, "added", node.size) for name, node in nodes.items()]

    def end(self, answer: str = "There are three lakes.", reason: str = "") -> RunFolder:
        end = events.ended("failed" if reason else "submitted", answer, reason, self._totals)
        self.write(replace(end, at=self.at + 10 * self.steps + 9))
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
        events.answered(
            2, f"[link]({attack}) ![image]({attack})", ToolCall(attack, attack, attack), at=at
        ),
        events.tool_ended(
            2, attack, attack, name=attack, ok=False, exit_code=None, storage_note=attack, at=at
        ),
        ToolStarted(step=2, call_id="cut", name=attack, arguments={attack: [attack]},
                    summary=attack, at=at),
        events.continued(attack, model=attack, metered=False, at=at),
    )  # fmt: skip
    return recorder.end(answer=attack, reason=attack)
