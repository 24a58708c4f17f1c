"""Classifies one executed program by its name and arguments."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from posixpath import basename
from urllib.parse import urlsplit

from agent.capabilities.program_names import (
    COMPUTE,
    DELETING,
    EXTERNAL,
    EXTERNAL_WITH,
    FILE,
    FILTERS,
    INSTALLERS,
    LOCAL_HOSTS,
    NEUTRAL,
    OPERANDS,
    SHELLS,
    WRAPPERS,
)
from agent.capabilities.scan import Scan

_MAX_WRAPPERS = 16
_PYTHON = re.compile(r"(i?python|pypy)[0-9.]*$")
_PIP = re.compile(r"pip[0-9.]*$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTED = re.compile(r'"(\\.|[^"\\])*"')
_AWK_ARITHMETIC = re.compile(
    r"[-+*/%^]=|\+\+|--|\*|\^|\b(sqrt|exp|log|sin|cos|atan2|int|rand)\s*\(|[\w)]\s*[-+]\s*[\w$(]"
)
_INFORMATION = {"--version", "-V", "--help", "-h", "version", "help"}
_SSH = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+)(?::.*)?$")
_LONG_WITH_VALUE = ("--with", "--python", "--project", "--signal", "--kill-after", "--user")
_RUNNERS = ("uv", "poetry", "pipenv", "conda", "mamba")
_MODULES = {
    "venv": "file", "virtualenv": "file", "json.tool": "file", "zipfile": "file",
    "tarfile": "file", "compileall": "file", "pytest": "compute", "unittest": "compute",
    "timeit": "compute", "cProfile": "compute", "doctest": "compute", "calendar": "compute",
}  # fmt: skip


def execute(scan: Scan, words: Sequence[str], given: str | None = None) -> None:
    """Classify a program with its arguments and standard input, and what it executes in turn."""
    words = _unwrap(scan, list(words))
    if not words or not words[0]:
        return
    path, arguments = words[0], words[1:]
    name = basename(path)
    scan.found.add_program(name)
    if arguments and all(word in _INFORMATION for word in arguments):
        return
    scan.found.deletes |= name in DELETING
    special = _SPECIAL.get(name)
    if _PYTHON.match(name):
        _python(scan, arguments, given)
    elif name in SHELLS:
        _code(scan, "shell", arguments, given)
    elif special is not None:
        special(scan, arguments)
    elif _PIP.match(name):
        _external_with(scan, "pip", arguments)
    elif name in EXTERNAL_WITH:
        _external_with(scan, name, arguments)
    elif name in FILTERS:
        _filter(scan, name, arguments)
    else:
        _known_program(scan, path, name, arguments)


def _known_program(scan: Scan, path: str, name: str, arguments: list[str]) -> None:
    found = scan.found
    if name in EXTERNAL:
        _network(scan, name, arguments)
    elif name in FILE:
        found.file = True
        _find_commands(scan, name, arguments)
    elif name in COMPUTE:
        found.compute = True
    elif name not in NEUTRAL:
        language = scan.language(path) if "/" in path else ""
        if language:
            scan.run_script(language, path)
        else:
            found.unknown = True


def _unwrap(scan: Scan, words: list[str]) -> list[str]:
    """Return the command that wrappers such as ``timeout 5`` or ``sudo`` execute."""
    for _ in range(_MAX_WRAPPERS):
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
        if not words:
            return []
        name = basename(words[0])
        if name in _RUNNERS and words[1:2] == ["run"]:
            words, name = words[1:], "env"
        if name not in WRAPPERS:
            return words
        rest = _after_options(words[1:], WRAPPERS[name])
        if name == "command" and words[1:2] and words[1].startswith("-"):  # command -v NAME
            return []
        rest = rest[OPERANDS.get(name, 0) :]
        if name in ("xargs", "parallel", "watch", "flock"):
            rest = _with_operands(name, words, rest)
        words = rest
    scan.found.partial = True
    return []


def _with_operands(name: str, words: list[str], rest: list[str]) -> list[str]:
    """Return the command with what a wrapper adds to it: files from the standard input."""
    if name == "flock":
        return ["bash", *rest] if rest[:1] == ["-c"] else rest
    if name == "watch":
        return ["bash", "-c", " ".join(rest)] if rest else []
    return [*(rest or ["echo"]), "{}"] if "{}" not in words else rest


def _after_options(words: list[str], with_value: str) -> list[str]:
    """Return the words after the leading options, whose letters may take a value."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        if word in _LONG_WITH_VALUE or (len(word) == 2 and word[1] in with_value):
            at += 1
    return words[at:]


# Code


def _python(scan: Scan, arguments: list[str], given: str | None) -> None:
    rest = _after_options_until(arguments, "cm", "WX")
    if rest[:1] == ["-m"] and len(rest) > 1:
        _module(scan, rest[1], rest[2:])
    else:
        _code(scan, "python", arguments, given)


def _after_options_until(words: list[str], last: str, with_value: str) -> list[str]:
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at][1] in last:
            break
        at += 2 if words[at][-1] in with_value and len(words[at]) == 2 else 1
    return words[at:]


def _module(scan: Scan, name: str, arguments: list[str]) -> None:
    if name in ("pip", "uv", "ensurepip"):
        execute(scan, [name, *arguments])
    elif name in _MODULES:
        scan.found.file |= _MODULES[name] == "file"
        scan.found.compute |= _MODULES[name] == "compute"
    elif name not in ("http.server", "site", "platform", "this"):
        scan.found.unknown = True


def _code(scan: Scan, language: str, arguments: list[str], given: str | None) -> None:
    """Read the code that an interpreter executes: an option's, a file's or its input's."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        word = arguments[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("--") and "c" in word[1:]:
            after = word[word.index("c") + 1 :] if language == "python" else ""
            code = after or "".join(arguments[at + 1 : at + 2])
            scan.read(language, code)
            return
        at += 2 if word in ("-W", "-X", "-o", "--rcfile") else 1
    script = arguments[at] if at < len(arguments) else "-"
    if script not in ("-", "/dev/stdin"):
        scan.run_script(language, script)
    elif given is not None:
        scan.read(language, given)
    else:
        scan.found.unknown = True


def _eval(scan: Scan, arguments: list[str]) -> None:
    scan.read("shell", " ".join(arguments))


def _source(scan: Scan, arguments: list[str]) -> None:
    if arguments and not arguments[0].endswith("/activate"):
        scan.run_script("shell", arguments[0])


def _cd(scan: Scan, arguments: list[str]) -> None:
    scan.change_folder(arguments[0] if arguments else "")


def _date(scan: Scan, arguments: list[str]) -> None:
    scan.found.compute |= any(word.startswith(("-d", "--date")) for word in arguments)


def _expr(scan: Scan, arguments: list[str]) -> None:
    scan.found.compute |= any(word in ("+", "-", "*", "/", "%") for word in arguments)


def _let(scan: Scan, arguments: list[str]) -> None:
    scan.found.compute |= bool(arguments)


def _tee(scan: Scan, arguments: list[str]) -> None:
    for word in arguments:
        if not word.startswith(("-", "/dev/")):
            scan.found.writes(word)


def _git(scan: Scan, arguments: list[str]) -> None:
    words = _after_options(arguments, "Cc")
    scan.found.deletes |= words[:1] in (["clean"], ["rm"])
    if words and words[0] in EXTERNAL_WITH["git"]:
        _add_hosts(scan, arguments)
        scan.found.external = True
    scan.found.file = True


_SPECIAL: dict[str, Callable[[Scan, list[str]], None]] = {
    "eval": _eval, "source": _source, ".": _source, "cd": _cd, "pushd": _cd, "date": _date,
    "expr": _expr, "let": _let, "tee": _tee, "git": _git,
}  # fmt: skip


# Network


def _external_with(scan: Scan, name: str, arguments: list[str]) -> None:
    known = EXTERNAL_WITH[name]
    words = [word for word in arguments if not word.startswith("-") or word in known][:2]
    if not (known.intersection(words) if known else words):
        return
    local = {"--no-index", "--dry-run", "-s", "--simulate"}.intersection(arguments)
    scan.found.external |= not local
    scan.found.installs |= name in INSTALLERS
    _add_hosts(scan, arguments)


def _network(scan: Scan, name: str, arguments: list[str]) -> None:
    hosts = list(_hosts(arguments))
    if name in ("ssh", "scp", "sftp", "ping", "dig", "nc", "host", "nslookup", "telnet"):
        hosts += [found[1] for word in arguments if (found := _SSH.match(word))]
    elif not hosts:
        hosts += [
            found[1] for word in arguments if (found := re.match(r"([\w.-]+\.\w+)(/|$)", word))
        ]
    remote = [host for host in hosts if not is_local(host)]
    scan.found.external |= bool(remote) or not (hosts or _names_local(arguments))
    scan.found.hosts |= dict.fromkeys(remote)
    for option, path in pairwise(arguments):
        if option in ("-o", "--output", "-O") and not path.startswith(("-", "/dev/", "http")):
            scan.found.writes(path)


def _names_local(arguments: list[str]) -> bool:
    return any(is_local(word) for word in arguments)


def is_local(host: str) -> bool:
    """Return whether a host is the sandbox itself."""
    return host.startswith(LOCAL_HOSTS)


def _add_hosts(scan: Scan, words: Sequence[str]) -> None:
    scan.found.hosts |= dict.fromkeys(host for host in _hosts(words) if not is_local(host))


def _hosts(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        host = host_of(word)
        if host:
            yield host


def host_of(text: str) -> str:
    """Return the host of a URL; empty if the text is not one or its host is a variable."""
    if "://" not in text:
        return ""
    try:
        host = urlsplit(text.strip()).hostname or ""
    except ValueError:
        return ""
    return host if re.fullmatch(r"[\w.:-]{1,253}", host) else ""


# Files


def _filter(scan: Scan, name: str, arguments: list[str]) -> None:
    skipped, with_value = FILTERS[name]
    operands, options = _operands(arguments, with_value)
    if name.endswith("awk") and not {"f"} & options:
        program = operands[0] if operands else ""
        scan.found.compute |= bool(_AWK_ARITHMETIC.search(_QUOTED.sub("", program)))
    if name == "jq" and re.search(r"\badd\b|\blength\b|[*+]", operands[0] if operands else ""):
        scan.found.compute = True
    if skipped == 1 and options & {"e", "f", "expression", "file", "regexp", "from-file"}:
        skipped = 0
    recursive = options & {"r", "R", "recursive"} or (name in ("rg", "ag") and not operands[1:])
    for path in operands[skipped:]:
        if path != "-" and not path.startswith(("/dev/", "/proc/")):
            scan.found.reads(path)
    if skipped == 1 and "grep" in name and recursive:
        scan.found.file = True


def _operands(arguments: list[str], with_value: str) -> tuple[list[str], set[str]]:
    """Return the operands, and the letters and long names of the options."""
    operands: list[str] = []
    options: set[str] = set()
    words = iter(arguments)
    for word in words:
        if word == "--":
            operands += words
        elif word.startswith("--"):
            options.add(word[2:].partition("=")[0])
        elif word.startswith("-") and len(word) > 1:
            letters = list(takewhile(lambda letter: letter not in with_value, word[1:]))
            options.update(word[1 : len(letters) + 2])
            if len(letters) + 2 == len(word):  # the last letter takes the next word
                next(words, None)
        else:
            operands.append(word)
    return operands, options


def _find_commands(scan: Scan, name: str, arguments: list[str]) -> None:
    """Classify the commands that ``find`` executes for each file."""
    if name not in ("find", "fd", "fdfind"):
        return
    scan.found.deletes |= "-delete" in arguments
    for at, word in enumerate(arguments):
        if word in ("-exec", "-execdir", "-ok", "-x"):
            execute(scan, list(takewhile(lambda each: each not in (";", "+"), arguments[at + 1 :])))


def standard_output(words: Sequence[str], given: str | None) -> str | None:
    """Return what ``echo``, ``printf`` or ``cat`` prints, where the command alone says it."""
    match list(words):
        case ["cat" | "tee", *rest] if all(word == "-" for word in rest):
            return given
        case ["echo", *rest]:
            text = " ".join(word for word in rest if word not in ("-e", "-n", "-E"))
            return (text.replace("\\n", "\n") if "-e" in rest else text) + "\n"
        case ["printf", "%s" | "%s\\n" | "%b" | "%b\\n", text]:
            return text.replace("\\n", "\n")
        case ["printf", text]:
            return text.replace("\\n", "\n")
    return None
