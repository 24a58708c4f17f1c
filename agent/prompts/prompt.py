"""Prompts, one YAML file per domain: ``system``, ``user`` and ``plain``.

Only known placeholders are replaced, in one pass, so braces in a task or a prompt are safe:

    {house}        rules shared by all prompts (``house.md``); in ``system``
    {input_dir}    folder of the user's files, ``/workspace/input``
    {output_dir}   folder for results, ``/workspace/output``
    {task}         the user's task; in ``user`` and ``plain``
    {inputs}       names of the user's files; in ``user``
    {paths}        their shell-quoted paths, relative to the workspace; in ``user``
    {documents}    text of the user's files; in ``plain``
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from agent.errors import SettingError
from agent.prompts import reference
from agent.util.text import one_line

INPUT_DIR = "/workspace/input"
OUTPUT_DIR = "/workspace/output"

_FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{(house|input_dir|output_dir|task|inputs|paths|documents)\}")
_FIELDS = ("title", "about", "system", "user", "plain")
_DEFAULT = "general"
_MAX_LISTED_FILES = 50
_MAX_FILE_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt and the templates of the first user message.

    Attributes:
        system: The system prompt, ready to be sent.
        user_template: Template of the first user message in a run with a sandbox; by default
            the ``general`` prompt's.
        plain_template: Template of the only message in plain mode, without a sandbox.
        name: Its name, or the stem of its file.
        title: The display name.
        about: Its purpose, in a few words.
    """

    system: str
    user_template: str = field(default_factory=lambda: get_bundled(_DEFAULT).user_template)
    plain_template: str = field(default_factory=lambda: get_bundled(_DEFAULT).plain_template)
    name: str = "custom"
    title: str = ""
    about: str = ""

    def user_message(self, task: str, inputs: Sequence[str] = ()) -> str:
        """Return the first user message with a sandbox; ``inputs`` are below the input folder."""
        values = {"task": task, "inputs": _file_list(inputs), "paths": _quoted_paths(inputs)}
        return _render(self.user_template, values)

    def plain_message(self, task: str, documents: Sequence[tuple[str, str]] = ()) -> str:
        """Return the only message of a run in plain mode, with each document's name and text."""
        return _render(self.plain_template, {"task": task, "documents": _joined(documents)})


def with_documents(message: str, documents: Sequence[tuple[str, str]]) -> str:
    """Return a later message of a run in plain mode, after each document's name and text."""
    return f"{_joined(documents)}\n\n{message}"


def _joined(documents: Sequence[tuple[str, str]]) -> str:
    texts = (
        f"BEGIN DOCUMENT {number}: {one_line(name)}\n{text}\nEND DOCUMENT {number}"
        for number, (name, text) in enumerate(documents, start=1)
    )
    return "\n\n".join(texts)


@cache
def list_names() -> tuple[str, ...]:
    """Return the names of the bundled prompts, ``general`` first."""
    names = sorted(path.stem for path in _FOLDER.glob("*.yaml"))
    return (_DEFAULT, *(name for name in names if name != _DEFAULT))


@cache
def list_all_names() -> tuple[str, ...]:
    """Return ``list_names`` and those that only presets of suites use, such as ``paper/math``."""
    of_presets = sorted(path.relative_to(_FOLDER) for path in _FOLDER.glob("*/*.yaml"))
    return (*list_names(), *(path.with_suffix("").as_posix() for path in of_presets))


def get_bundled(name: str) -> Prompt:
    """Return the bundled prompt with this name."""
    if name not in list_all_names():
        raise SettingError(f"prompt: there is no prompt named “{name}”; {_valid_names()}")
    return _bundled(name)


@cache
def _bundled(name: str) -> Prompt:
    path = _FOLDER / f"{name}.yaml"
    return _parse(name, path.read_text(encoding="utf-8"), folder=path.parent)


def load(name_or_path: str) -> Prompt:
    """Return a bundled prompt, or read any path: never pass a remote user's input."""
    if name_or_path in list_all_names():
        return get_bundled(name_or_path)
    path = Path(name_or_path)
    if not path.is_file():
        raise SettingError(
            f"prompt: there is no prompt and no file named “{name_or_path}”; {_valid_names()}"
        )
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise SettingError(f"prompt: {path} is larger than {_MAX_FILE_BYTES} bytes.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"prompt: {path} cannot be read as text: {error}") from error
    if path.suffix in (".yaml", ".yml"):
        return _parse(path.stem, text, get_bundled(_DEFAULT))
    return _build_prompt(path.stem, {"system": text}, get_bundled(_DEFAULT))


def _valid_names() -> str:
    return f"choose one of {', '.join(list_names())}."


def _parse(name: str, text: str, default: Prompt | None = None, folder: Path = _FOLDER) -> Prompt:
    import yaml  # on first use: listing the prompts' names needs none of it

    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingError(f"prompt: {name} is not valid YAML: {error}") from error
    if isinstance(fields, dict):
        fields = reference.convert_fields(fields)
    if not isinstance(fields, dict) or "system" not in fields:
        raise SettingError(
            f"prompt: {name} needs the field system (optional: user, plain), or the field "
            "system_prompt (optional: instance_prompt)."
        )
    for key, value in fields.items():
        if key not in _FIELDS or not isinstance(value, str):
            raise SettingError(
                f"prompt: {name}: the field {key} is unknown or not a text; "
                f"the fields are {', '.join(_FIELDS)}."
            )
    return _build_prompt(name, fields, default, folder)


def _build_prompt(
    name: str, fields: Mapping[str, str], default: Prompt | None, folder: Path = _FOLDER
) -> Prompt:
    shared_rules = _render((folder / "house.md").read_text(encoding="utf-8"), {})
    return Prompt(
        name=name,
        title=fields.get("title", name),
        about=fields.get("about", ""),
        system=_render(fields["system"], {"house": f"{shared_rules}\n"}),
        user_template=fields.get("user") or (default.user_template if default else "{task}"),
        plain_template=fields.get("plain") or (default.plain_template if default else "{task}"),
    )


def _render(template: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in one pass; an empty value takes the empty line after it along."""
    for name, value in values.items():
        if not value:
            template = template.replace(f"{{{name}}}\n\n", "")
    known = {"input_dir": INPUT_DIR, "output_dir": OUTPUT_DIR, **values}
    return _PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), template.strip())


def _file_list(inputs: Sequence[str]) -> str:
    rows = _limit_rows([f"- {one_line(name)}" for name in inputs], "- ")
    return "\n".join([f"Input files in {INPUT_DIR}:", *rows]) if rows else ""


def _quoted_paths(inputs: Sequence[str]) -> str:
    quoted = (one_line(name).replace("'", "'\\''") for name in inputs)
    return "\n".join(_limit_rows([f"'input/{name}'" for name in quoted], ""))


def _limit_rows(rows: list[str], prefix: str) -> list[str]:
    """Return at most ``_MAX_LISTED_FILES`` rows, plus a row with the number of further ones."""
    more = len(rows) - _MAX_LISTED_FILES
    return [*rows[:_MAX_LISTED_FILES], f"{prefix}and {more} more"] if more > 0 else rows
