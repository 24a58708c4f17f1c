"""What a call executes, read from its text."""

import string
import subprocess
import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.capabilities.parsed import CallReader
from agent.capabilities.scan import Findings


def read(command: str) -> Findings:
    return CallReader().read("execute_bash", {"command": command})


def used(command: str) -> str:
    """Return what a command uses: x external, f files, c computation, ? unknown."""
    return letters(read(command))


def letters(found: Findings) -> str:
    flags = (found.external, found.file, found.compute, found.unknown)
    return "".join(name for name, flag in zip("xfc?", flags, strict=True) if flag)


INSTALLS = [
    ("pip install -q rdkit 2>&1 | tail -1", "x"),
    ("python3 -m pip install openbabel-wheel", "x"),
    ("apt-get update && apt-get install -y libopsin-java default-jre", "x"),
    ("sudo -E env DEBIAN_FRONTEND=noninteractive apt-get -y install timidity", "x"),
    ("uv pip install midiutil", "x"),
    ("pip list", ""),
    ("pip install --no-index ./wheels/a.whl", ""),
    ("apt list --installed | grep -i java", ""),
    ("npm ci && npx vite build", "x"),
    ("python3 -c 'import moviepy; print(moviepy.__version__)' || pip install moviepy", "x"),
    ("which ffmpeg || (apt-get update && apt-get install -y ffmpeg)", "x"),
]
NETWORK = [
    ("curl -s https://example.org/data.json | head -c 400", "x"),
    ("wget -q https://example.org/a.pdf", "x"),
    ("curl -s http://localhost:8000/status", ""),
    ("curl --version", ""),
    ("which curl; command -v wget", ""),
    ("git clone https://example.org/a/b.git", "xf"),
    ("python3 -c 'import requests as r; print(r.get(\"https://example.org\").text)'", "x"),
    ("python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:80\")'", ""),
]
FILES = [
    ("ls -la input output", "f"),
    ("grep -n -i 'infringement' documents/*.txt | head -40", "f"),
    ("sed -n '120,180p' documents/report.txt", "f"),
    ("cat > output/map.html << 'EOF'\n<html>locate the cat</html>\nEOF", "f"),
    ("mkdir -p output && cp a.svg output/", "f"),
    ("find . -name '*.py' -exec grep -l curl {} \\;", "f"),
    ("wc -c < answer.txt", "f"),
    ("ps aux | grep python | wc -l", ""),
    ("python3 show.py 2>/dev/null | tail -3", "?"),
    ("for f in a b; do echo $f >> all.txt; done", "f"),
    ("python3 -c \"import json; print(json.load(open('theme.json'))['name'])\"", "f"),
    ("tar xf data.tgz; stat data", "f"),
    ("echo hello > /dev/null 2>&1", ""),
    ("echo hello | tee -a notes.txt", "f"),
    ("ffprobe -v error -show_format output/birthday.mp4", "f"),
]
COMPUTATION = [
    ("python3 -c 'print(sum(n for n in range(10**6) if n % 7 == 0))'", "c"),
    ("python3 - <<'EOF'\nfrom scipy.optimize import fsolve\nfsolve(lambda x: x - 2, 1)\nEOF", "c"),
    ("cat <<'EOF' | python3\nimport itertools\nprint(*itertools.permutations('abc'))\nEOF", "c"),
    ("python3 <<< 'print(2**64)'", "c"),
    ("awk -F, '{ total += $3 } END { print total }' table.csv", "fc"),
    ("awk -F, '{ print $3 }' table.csv", "f"),
    ("echo '3*4' | bc", "c"),
    ("echo $((17 * 3))", "c"),
    ("date -d '2024-02-27 + 45 days' +%F", "c"),
    ("date", ""),
    ("timidity output/a.mid -Ow -o output/preview.wav > /dev/null 2>&1; echo $?", "c"),
    ("rsvg-convert -w 1360 poster.svg > poster.png", "fc"),
    ("echo '2-methylpropane' > n.txt; java -jar opsin.jar n.txt out.smi", "fc"),
    ("python3 -c \"from rdkit import Chem; print(Chem.MolFromSmiles('CCO'))\"", ""),
    ('python3 -c "from sympy import factorint; factorint(2025)"', "c"),
    ("ffmpeg -y -i frames.mp4 -r 30 birthday.mp4", "c"),
    ("gcc -O2 walk.c -o walk && ./walk", "c?"),
]


@pytest.mark.parametrize(("command", "expected"), INSTALLS + NETWORK + FILES + COMPUTATION)
def test_the_kinds_of_commands_that_agents_write(command: str, expected: str) -> None:
    assert used(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "# curl https://example.org and pip install rdkit",
        "echo 'find the cat: curl, wget, grep, open(, pip install'",
        "printf '%s\\n' \"locate and concatenate\"",
        "cat <<'EOF'\npip install requests\ncurl https://example.org\nEOF",
        "fetch() { curl https://example.org; }; echo defined",
        "python3 -c \"# requests.get(1)\nprint('open( and wget')\"",
        'python3 -c "def f():\n    import requests\n    requests.get(1)\nprint(1)"',
        "python3 -c \"print('=' * 60, 'a' + 'b', '%d' % 3)\"",
        "python3 --version && pip --version",
        "true || false; sleep 1; cd /tmp; export A=curl",
    ],
)
def test_words_in_comments_texts_and_unused_functions_are_not_executed(command: str) -> None:
    assert used(command) == ""


@pytest.mark.parametrize(
    "command",
    [
        "timeout -k 5 60 {}",
        "sudo -u root {}",
        "env -i A=1 {}",
        "A=1 B=2 {}",
        "nice -n 5 nohup {} &",
        "time {}",
        "stdbuf -oL {}",
        "(cd /tmp && {})",
        "{{ {}; }}",
        "if true; then {}; fi",
        "x=$({})",
        'echo "`{}`"',
        "diff <({}) /dev/null",
        "! {} || true",
        "f() {{ {}; }}; f",
        "while false; do {}; done",
        "case a in a) {} ;; esac",
        "true | {} | cat",
        "{} >/dev/null 2>&1",
        "cat <<EOF\n$({})\nEOF",
        "eval '{}'",
        "bash -c '{}'",
        "bash -lc '{}'",
        "echo '{}' | sh",
        "bash <<'EOF'\n{}\nEOF",
        "xargs -n 1 {}",
        "X='{}'; $X",
        "coproc {}",
        "true && {} # no",
    ],
)
def test_a_program_is_found_wherever_it_is_executed(command: str) -> None:
    found = read(command.format("curl -s https://example.org/a"))
    assert found.external, command
    assert "curl" in found.programs
    assert list(found.hosts) == ["example.org"]


def test_a_script_is_read_where_it_was_written_before() -> None:
    reader = CallReader()
    text = "import requests\nprint(requests.get('https://example.org/a').text)\n"
    reader.read("str_replace_editor", {"command": "create", "path": "/tmp/a.py", "file_text": text})
    assert letters(reader.read("execute_bash", {"command": "cd /tmp; python3 a.py"})) == "x"
    change = {"command": "str_replace", "path": "/tmp/a.py", "old_str": text, "new_str": "2 * 3"}
    reader.read("str_replace_editor", change)
    assert letters(reader.read("execute_bash", {"command": "python3 a.py"})) == "c"  # still in /tmp


def test_a_script_is_read_where_the_same_command_writes_it() -> None:
    assert used("cat > a.py <<'E'\nimport math\nprint(math.sqrt(2))\nE\npython3 a.py") == "fc"
    assert used("echo 'wget https://example.org/a' > a.sh; bash ./a.sh") == "xf"
    assert used("printf '#!/bin/sh\\nbc -l\\n' > a; chmod +x a; ./a") == "fc"


def test_a_script_is_read_from_the_workspace() -> None:
    files = {"/workspace/src/a.py": "print(open('x').read())"}
    reader = CallReader(files.get)
    assert letters(reader.read("execute_bash", {"command": "cd src && python3 a.py"})) == "f"
    assert letters(reader.read("execute_bash", {"command": "python3 b.py"})) == "?"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import pandas as pd\nprint(pd.read_csv('a.csv')['x'].mean())", "fc"),
        ("import pandas as pd\nprint(pd.read_csv('https://example.org/a.csv'))", "x"),
        ("from pathlib import Path\nbase = Path('a')\nprint((base / 'b').read_text())", "f"),
        ("import sys, subprocess as s\ns.run([sys.executable, '-m', 'pip', 'install', 'x'])", "x"),
        ("import os\nos.system('ls -l')", "f"),
        ("total = 0\nfor n in (1, 2):\n    total += n\nprint(total)", "c"),
        ("from datetime import date\nprint(date(2024, 3, 1) - date(2023, 3, 1))", "c"),
        ("from collections import Counter\nprint(Counter('abc'))", "c"),
        ("import numpy", ""),
        ("print('hello'", ""),
        ("print(len('a b'.split()))", ""),
        ("with open('a', 'w') as f:\n    f.write('x')", "f"),
    ],
)
def test_python_code_is_classified_by_its_calls(code: str, expected: str) -> None:
    assert used(f"python3 <<'EOF'\n{code}\nEOF") == expected


@pytest.mark.parametrize(
    ("name", "command", "files_read", "files_written"),
    [
        ("execute_bash", "cat > notes.md <<EOF\ntext\nEOF", [], ["notes.md"]),
        ("execute_bash", "cat notes.md", ["notes.md"], []),
        ("str_replace_editor", "view", ["a"], []),
        ("str_replace_editor", "insert", [], ["a"]),
        ("submit", "", [], []),
    ],
)
def test_a_call_reads_and_writes_files(
    name: str, command: str, files_read: list[str], files_written: list[str]
) -> None:
    found = CallReader().read(name, {"command": command, "path": "a"})
    assert (list(found.read), list(found.written)) == (files_read, files_written)
    assert letters(found) == ("f" if files_read or files_written else "")


@pytest.mark.parametrize(("part", "count"), [
    ("a | ", 4000), ("{ ;", 4500), ("<<A ", 4000), ("((", 4500), ("x", 500_000), ("$(", 4500),
])  # fmt: skip
def test_twice_as_long_a_hostile_command_takes_at_most_twice_the_work(
    part: str, count: int
) -> None:
    assert read(part * count * 2).partial
    assert _function_calls(part * count * 2) <= 2.2 * _function_calls(part * count)


def _function_calls(command: str) -> int:
    """The number of functions that are called to read a command.

    Without those that look at the clock while it is parsed, whose number depends on the machine.
    """
    calls = 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        at_clock = frame.f_code.co_qualname == "_parse.<locals>.<lambda>"
        calls += event in ("call", "c_call") and not at_clock

    sys.setprofile(count)
    try:
        read(command)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "code",
    ["(" * 5000, "-" * 50_000 + "1", "a." * 20_000 + "b", "1+" * 30_000 + "1", "f(" * 9000, "\0",
     "1 if 1 else " * 5000 + "1", "x=" * 30_000 + "1", "not " * 15_000 + "1", "lambda:" * 9000]
)  # fmt: skip
def test_hostile_code_does_not_make_the_reader_fail(code: str) -> None:
    assert read(f"python3 <<'EOF'\n{code}\nEOF").partial


def test_many_long_scripts_are_read_in_part() -> None:
    files = {f"/workspace/{n}.py": "x = 1 * 2\n" * 6000 for n in range(30)}
    command = "; ".join(f"python3 {n}.py" for n in range(30))
    found = CallReader(files.get).read("execute_bash", {"command": command})
    assert (found.compute, found.partial) == (True, True)


WORDS = [
    "cat",
    "curl",
    "python3 -c",
    "bash -c",
    "xargs",
    "<<E",
    "\nE\n",
    "&&",
    "((",
    "))",
    "$(",
    "f()",
]
SHELL = st.lists(
    st.sampled_from(WORDS) | st.sampled_from(f"{string.punctuation} x\0é"), max_size=40
)


@given(SHELL.map("".join) | st.text(max_size=200))
def test_no_command_makes_the_reader_fail(text: str) -> None:
    read(text)
    CallReader().read("str_replace_editor", {"command": text, "path": text, "file_text": text})


@given(st.text(max_size=200))
def test_no_python_code_makes_the_reader_fail(text: str) -> None:
    CallReader({"/workspace/a.py": text}.get).read("execute_bash", {"command": "python3 a.py"})


@pytest.mark.contract
def test_the_grammar_is_loaded_with_the_first_command() -> None:
    """A run on the command line starts without it."""
    program = "import sys, agent.cli.execute; print('tree_sitter' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout == b"False\n"
