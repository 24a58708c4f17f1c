"""Import a downloaded run with many files."""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from agent.events import RunEnded, RunStarted, Totals, encode
from agent.traces.importing import import_file
from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import Table, record_duration, sample_table

_FOLDERS = 100


def table(
    context: BenchContext, *, counts: Sequence[int] = (2_000, 20_000), times: int = 5
) -> Table:
    result = sample_table(
        "Import of a run with many files",
        "files",
        "`run.zip` with files of 240 bytes, each also stored as the version of a step. Bar: 10 s "
        "for 20,000 files, and ten times as long for ten times as many.",
    )
    for count in counts:
        print_progress(f"import of {count:,} files")
        folder = context.folder / f"import-{count}"
        folder.mkdir()
        _write_export(folder / "run.zip", count)
        seconds = list[float]()
        for _ in range(times):
            os.sync()  # or the import would wait for the deletion before it
            with record_duration(seconds):
                import_file(folder / "run.zip", folder / "data")
            shutil.rmtree(folder / "data")
        result.add_sample(f"{count:,}", seconds, "s")
    return result


def _write_export(path: Path, count: int) -> None:
    begun = RunStarted(
        run="bench", task="Measure.", mode="sandbox", model="m", metered=True, prompt="", system="",
        user="Measure.",
    )  # fmt: skip
    ended = RunEnded(status="answered", reason="", answer="", totals=Totals())
    changed = dict[str, object]()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("journal.jsonl", encode(begun) + b"\n" + encode(ended) + b"\n")
        for number in range(count):
            name, content = f"output/{number % _FOLDERS}/{number}.txt", f"{number:12}".encode() * 20
            archive.writestr(f"files/{name}", content)
            digest = hashlib.sha256(content).hexdigest()
            node = {"kind": "file", "mode": 0o644, "size": len(content), "hash": digest}
            changed[name] = node | {"new": True}
        line = json.dumps({"step": 1, "changed": changed, "removed": []})
        archive.writestr("manifests.jsonl", f"{line}\n")
