"""Error messages of failing commands, to train the model to report failures."""

import re

from agent.tasks.document_qa.rng import Rng
from agent.tasks.file_tasks.synthetic_values import load_vocabulary

_PYTHON = (
    "KeyError: '{word}'",
    "NameError: name '{word}' is not defined",
    "ValueError: could not convert string to float: '{word}'",
    "ValueError: invalid literal for int() with base 10: '{word}'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'input/{word}.csv'",
    "IndexError: list index out of range",
    "ZeroDivisionError: division by zero",
    "SyntaxError: invalid syntax",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position {number}",
)
_SHELL = (
    "{program}: input/{word}.txt: No such file or directory",
    "{program}: can't read input/{word}.md: No such file or directory",
    "{program}: cannot open 'input/{word}.csv' for reading: No such file or directory",
    "{program}: invalid option -- '{letter}'",
    "{program}: -e expression #1, char {number}: unterminated `s' command",
    "bash: line {number}: {program}: command not found",
    "bash: line {number}: output/{word}: Is a directory",
    "bash: line {number}: output/{word}.txt: Permission denied",
    "bash: line {number}: unexpected EOF while looking for matching `''",
)


def failure_message(command: str, rng: Rng) -> str:
    """Return what a faulty command, or one lacking its files, may write to stderr."""
    program = re.split(r"\W", command, maxsplit=1)[0] or "bash"
    lines = _PYTHON if program == "python3" else _SHELL
    number = rng.randint(1, 60)
    message = rng.choice(lines).format(
        program=program,
        word=rng.choice(load_vocabulary()),
        letter=rng.choice("xqzkj"),
        number=number,
    )
    if program != "python3":
        return message
    where = '"<stdin>"' if "<<" in command else '"<string>"'
    return (
        f"Traceback (most recent call last):\n  File {where}, line {number}, in <module>\n{message}"
    )
