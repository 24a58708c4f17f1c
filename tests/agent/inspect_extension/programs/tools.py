"""An evaluation whose tools need the daemon that Inspect puts into the sandbox."""

import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash, bash_session, python, text_editor

from tests.agent.inspect_extension.programs.scripted import report, scripted

SESSION, EDITOR = "bash_session", "text_editor"
# The session answers when it has been silent for a while, which may be before a command ends.
WAIT_AND_SHOW = (
    "until [ -s /tmp/said ]; do sleep 0.1; done; "
    "cat /tmp/said /tmp/poem.txt notes.txt; echo $(whoami) in $PWD"
)
MODEL = scripted(
    (SESSION, {"action": "type_submit", "input": "cd /tmp && export WORD=kept"}),
    (SESSION, {"action": "type_submit", "input": "echo $WORD in $PWD as $(whoami) > said"}),
    (EDITOR, {"command": "create", "path": "/tmp/poem.txt", "file_text": "one\ntwo\n"}),
    (EDITOR, {"command": "str_replace", "path": "/tmp/poem.txt", "old_str": "two",
              "new_str": "three"}),
    ("bash", {"command": WAIT_AND_SHOW}),
    ("python", {"code": "print(sum(range(10)))"}),
    "The sum is 45.",
)  # fmt: skip
TASK = Task(
    dataset=[Sample(input="Work.", target="45", files={"notes.txt": "a file of the sample\n"})],
    solver=[use_tools(bash_session(), text_editor(), bash(timeout=60), python()), generate()],
    scorer=includes(),
    sandbox=("studio", sys.argv[1]),
)
report(eval(TASK, model=MODEL, display="none"))
