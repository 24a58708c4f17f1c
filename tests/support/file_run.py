"""A scripted run that creates files of many kinds, and the application that serves it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent.events import RunEnded
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import serve_studio

_PYTHON = sys.executable

PROGRAM = '''\
"""Draw a chart."""

import csv

WIDTH = 640


def read(path):
    with open(path) as file:
        return list(csv.reader(file))


def draw(rows):
    for row in rows:
        print(row)


def save(picture):
    picture.save("output/chart.png")


draw(read("input/rows.csv"))
'''

DRAW_CHART = f"""{_PYTHON} - <<'EOF'
from PIL import Image, ImageDraw
def chart(path, colour, tall):
    image = Image.new("RGB", (640, 400), "white")
    draw = ImageDraw.Draw(image)
    for at in range(8):
        draw.rectangle((40 + at * 72, 380 - tall(at), 90 + at * 72, 380), fill=colour)
    image.save(path)
chart("output/chart.png", "COLOUR", lambda at: 40 + at * 40)
EOF
"""

WRITE_SOUND = f"""{_PYTHON} - <<'EOF'
import math, struct, wave
with wave.open("output/tone.wav", "wb") as tone:
    tone.setparams((1, 2, 8000, 0, "NONE", ""))
    tone.writeframes(b"".join(
        struct.pack("<h", int(9000 * math.sin(at / 4))) for at in range(16000)))
EOF
"""

WRITE_OTHER_FILES = f"""{_PYTHON} - <<'EOF'
from PIL import Image
import os
os.makedirs("output/frames/late", exist_ok=True)
for at in range(5):
    Image.new("RGB", (300, 200 + 60 * at), (40 * at, 90, 200 - 30 * at)).save(
        f"output/frames/frame-{{at}}.png")
Image.new("RGB", (900, 120), (200, 120, 40)).save("output/frames/late/wide.jpg")
EOF
printf 'name,size\\na,1\\nb,2\\n' > output/table.csv
printf '# Report\\n\\nAll of it is **well**.\\n\\n- one\\n- two\\n' > output/report.md
printf '<h1>Hello</h1><p>A page.</p>' > output/page.html
head -c 3000 /dev/zero > output/data.bin
mkdir -p many; for i in $(seq 45); do echo $i > many/$i.txt; done
rm -f notes.txt
"""

ANSWER = """The chart is in `output/chart.png`, its numbers in `/workspace/output/table.csv`.

| row | size |
|-----|-----:|
| a | 1 |
| b | 2 |
"""


def bash(text: str, command: str) -> Turn:
    return Turn(text=text, calls=[Call("execute_bash", {"command": command})])


def submit(answer: str) -> Sequence[Turn]:
    """Return the last turns of a round, which write the answer and submit."""
    write = f"cat > output/answer.txt <<'EOF'\n{answer}EOF\n"
    return (bash("", write), Turn(text="Done.", calls=[Call("submit")]))


def file_turns() -> list[Turn]:
    """Return the turns of the run: seven steps."""
    edited = PROGRAM.replace("WIDTH = 640", "WIDTH = 800").replace(
        "print(row)", "print(row, len(row))"
    )
    return [
        bash(
            "I write `draw.py` first, and look at input/rows.csv.",
            f"cat > draw.py <<'EOF'\n{PROGRAM}EOF\necho 'notes' > notes.txt\n"
            "echo wrote ./draw.py and notes.txt",
        ),
        bash("The chart.", DRAW_CHART.replace("COLOUR", "#2474b5")),
        bash(
            "Wider, and in green.",
            f"cat > draw.py <<'EOF'\n{edited}EOF\n{DRAW_CHART.replace('COLOUR', '#2c7a4b')}"
            "echo 'output/chart.png:1: drawn; see draw.py:5, /etc/hosts and output/none.png'",
        ),
        bash("A sound.", WRITE_SOUND),
        bash("And the rest.", WRITE_OTHER_FILES),
        *submit(ANSWER),
    ]


def mislabelled_file_turns() -> list[Turn]:
    """Return turns that create files whose content does not match their suffix."""
    command = "echo no > output/broken.wav; printf '\\211PNG\\r\\n\\032\\nno' > output/broken.png"
    return [bash("", command), *submit("<img src=x onerror='window.hacked = 1'>\n")]


class ServedRun:
    """The application with an ended run, and the model's next turns for follow-ups."""

    def __init__(self, data: Path, turns: list[Turn]) -> None:
        self.studio_url, self.data, self.run = "", data, ""
        self.turns = turns

    def next_turn(self, _body: Any) -> Turn:
        return self.turns.pop(0)

    @property
    def workspace(self) -> Path:
        return RunFolder.open(self.data, self.run).workspace

    @property
    def files_url(self) -> str:
        return f"{self.studio_url}/api/runs/{self.run}/files"


@contextmanager
def serve_recorded_run(data: Path, scripted: list[Turn] | None = None) -> Iterator[ServedRun]:
    """Execute the scripted run, then serve it."""
    served_run = ServedRun(data, file_turns() if scripted is None else scripted)
    with Endpoint(served_run.next_turn) as endpoint:
        provider = LocalSandboxProvider(data)
        folder = RunFolder.create(data, provider.create_workspace())
        (folder.workspace / "input" / "rows.csv").write_text("a,1\nb,2\n")
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
        with RecordedRun(folder, provider) as run:
            *_, ended = run.start(Task("Draw a chart of rows.csv."), model)
            assert isinstance(ended, RunEnded)
            assert ended.status == "submitted"
        served_run.run = folder.id
        with serve_studio(
            data, provider, base_url=endpoint.url, model="test-model"
        ) as served_run.studio_url:
            yield served_run
