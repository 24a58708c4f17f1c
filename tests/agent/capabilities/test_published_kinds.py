"""The kinds of commands in the paper's eight published trajectories, written anew.

Each is a short session of one of them; letters say what each call uses: x external resources,
f files, c computation. The paper's patterns, applied to the same calls, are beside it.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.capabilities.observed import call_usage
from agent.capabilities.parsed import BASH, EDITOR, CallReader
from agent.capabilities.usage import CapabilityUsage

Call = tuple[str, dict[str, Any]]


def bash(command: str) -> Call:
    return BASH, {"command": command}


def create(path: str, text: str) -> Call:
    return EDITOR, {"command": "create", "path": path, "file_text": text}


def view(path: str) -> Call:
    return EDITOR, {"command": "view", "path": path}


SESSIONS: dict[str, tuple[Sequence[Call], str, str]] = {
    "chemistry: a name to a structure": (
        [
            bash("pip install -q rdkit-pypi || pip install openbabel-wheel"),
            bash("apt-get update -qq && apt-get install -y -qq default-jre libopsin-java"),
            bash(
                "echo '2-methylpropane' > n.txt; java -jar /usr/share/java/opsin.jar n.txt out.smi"
            ),
            bash("python3 -c \"from rdkit import Chem; print(Chem.MolFromSmiles('CCO'))\""),
            bash("printf 'A' > /testbed/answer.txt"),
        ],
        "x x fc - f",
        "x x - x -",
    ),
    "instructions: three sentences of one length": (
        [
            create("check.py", "s = ['One.', 'Two.']\nprint([len(t) for t in s])\n"),
            bash("python3 check.py"),
            bash("python3 - <<'EOF'\nfor s in ('Ab.', 'Cd.'):\n    print(s, len(s))\nEOF"),
            bash("cat > answer.txt << 'EOF'\nFranks ruled. Find the rest.\nEOF\ncat answer.txt"),
        ],
        "f - - f",
        "- - - f",
    ),
    "long context: facts in four documents": (
        [
            bash("ls -la documents/ && wc -c documents/*"),
            bash("grep -n -i 'infring' documents/*.txt | head -60"),
            bash("sed -n '200,260p' documents/report_2.txt"),
            view("/testbed/documents/report_3.txt"),
            bash("grep -c airline documents/*.txt; echo 'I will now find the total'"),
        ],
        "f f f f f",
        "- f - - f",
    ),
    "mathematics: a search": (
        [
            create("solve.py", "print(sum(n for n in range(1, 1000) if pow(2, n, n) == 2))\n"),
            bash("python3 solve.py"),
            bash("python3 -c 'print(7**7 % 1000)'"),
            bash('python3 -c "from sympy import factorint; factorint(2025)"'),
        ],
        "f c c c",
        "c - - -",
    ),
    "music: a piano piece": (
        [
            bash("pip install midiutil 2>&1 | tail -1"),
            create("compose.py", "from midiutil import MIDIFile\nm = MIDIFile(1)\n"),
            bash("python3 compose.py && ls -la output"),
            bash("timidity output/a.mid -Ow -o output/preview.wav > /dev/null 2>&1; echo $?"),
            bash("cat > output/sheet_music.md << 'EOF'\n# Notes\nConcatenated phrases\nEOF"),
        ],
        "x f f c f",
        "x - - - f",
    ),
    "poster: a vector image": (
        [
            bash("cat input/event_info.json"),
            bash("python3 -c \"import json; print(json.load(open('event_info.json'))['title'])\""),
            bash("apt-get install -y libcairo2 > /dev/null && pip install cairosvg"),
            bash("cat > poster.svg << 'EOF'\n<svg><text>Location</text></svg>\nEOF"),
            bash("rsvg-convert -w 1360 poster.svg > poster.png"),
        ],
        "f f x f fc",
        "f f x f -",
    ),
    "travel: a map": (
        [
            create("output/map.html", "<script src='https://unpkg.com/leaflet'></script>locate"),
            bash("wc -l output/map.html; head -20 output/map.html"),
            bash("echo 'curl would fetch the tiles' # curl"),
        ],
        "f f -",
        "f - x",
    ),
    "video: frames and a film": (
        [
            bash("python3 -c 'import moviepy; print(moviepy.__version__)' || pip install moviepy"),
            bash("which ffmpeg || (apt-get update && apt-get install -y ffmpeg)"),
            create("film.py", "for n in range(330):\n    print(n / 30)\n"),
            bash("timeout 300 python3 film.py"),
            bash("ffprobe -v error -show_format output/birthday.mp4"),
        ],
        "x x f c f",
        "x x c - -",
    ),
}


def letters(usage: CapabilityUsage) -> str:
    found = (usage.external, usage.file, usage.compute)
    return "".join(name for name, used in zip("xfc", found, strict=True) if used) or "-"


def papers_letters(usage: CapabilityUsage) -> str:
    return (
        "".join({"external": "x", "file": "f", "compute": "c"}[name] for name in usage.paper) or "-"
    )


@pytest.mark.parametrize("name", SESSIONS)
def test_what_each_call_uses_by_both_methods(name: str) -> None:
    calls, ours, paper = SESSIONS[name]
    reader = CallReader()
    found = [call_usage(reader, tool, arguments, ok=True) for tool, arguments in calls]
    assert " ".join(map(letters, found)) == ours
    assert " ".join(map(papers_letters, found)) == paper
