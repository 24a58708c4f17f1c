"""The settings: valid values, and the table in the documentation."""

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from agent.errors import SettingError
from agent.settings import Settings, load


def test_an_empty_environment_gives_the_defaults_and_a_key_is_not_shown() -> None:
    settings = load({})
    assert (settings.host, settings.port, settings.limits().steps) == ("127.0.0.1", 7860, 100)
    assert settings.memory == 2 * 1024**3
    assert "sk-secret" not in repr(load({"OPENAI_API_KEY": "sk-secret"}))


def test_a_size_can_have_a_unit() -> None:
    sizes = {"512MB": 512 * 1024**2, "1.5 GB": 3 * 1024**3 // 2, "4096": 4096, "2GiB": 2 * 1024**3}
    assert {text: load({"STUDIO_MEMORY": text}).memory for text in sizes} == sizes


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("STUDIO_MEMORY", "lots"),
        ("STUDIO_CPUS", "-1"),
        ("STUDIO_CPUS", "nan"),
        ("STUDIO_STEPS", "3.5"),
        ("GRADIO_SERVER_PORT", "http"),
        ("STUDIO_ROUND_SECONDS", "0"),
        ("STUDIO_PIDS", "0"),
        ("STUDIO_RETENTION_SIZE", "0"),
        ("STUDIO_MEMORY", "0"),
        ("GRADIO_ROOT_PATH", "/api"),
        ("GRADIO_ROOT_PATH", "/a b"),
        ("GRADIO_ROOT_PATH", "/../x"),
        ("STUDIO_USERS", "ann"),
        ("STUDIO_USERS", "ann:"),
        ("STUDIO_USERS", "/no/such/file"),
    ],
)
def test_an_invalid_value_is_named_with_its_key(key: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"^{key} is '{value}', but must be "):
        load({key: value})


def test_a_limit_can_be_set_and_lifted() -> None:
    assert load({"STUDIO_COMMAND_TIMEOUT": "7"}).limits().command_seconds == 7
    settings = load({
        "STUDIO_ROUND_SECONDS": "none", "STUDIO_CONVERSATION_TOKENS": "None",
        "STUDIO_RETENTION_SIZE": "none",
    })  # fmt: skip
    limits = settings.limits()
    assert (limits.seconds, limits.conversation_tokens) == (None, None)
    assert settings.retention_bytes == 0


def test_a_price_needs_both_parts_and_a_limit_on_money_needs_them() -> None:
    prices = {"STUDIO_PRICE_PROMPT": "1", "STUDIO_PRICE_GENERATED": "2"}
    assert load(prices | {"STUDIO_MAX_COST": "3"}).limits().price is not None
    for key in (*prices, "STUDIO_MAX_COST"):
        with pytest.raises(SettingError, match="must both be set"):
            load({key: "1"})


def test_a_named_file_holds_settings_that_the_environment_does_not_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://stranger.example/v1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STUDIO_ENV_FILE", raising=False)
    assert "stranger" not in load().base_url
    file = tmp_path / "studio.env"
    file.write_text("# mine\nexport STUDIO_STEPS=7\nOPENAI_MODEL='a b'\nSTUDIO_MEMORY=1G\n")
    monkeypatch.setenv("STUDIO_ENV_FILE", str(file))
    monkeypatch.setenv("STUDIO_MEMORY", "2G")
    settings = load()
    assert (settings.steps, settings.model, settings.memory) == (7, "a b", 2 * 1024**3)
    monkeypatch.setenv("STUDIO_ENV_FILE", str(tmp_path / "missing.env"))
    with pytest.raises(SettingError, match=r"missing\.env cannot be read"):
        load()


def settings_table() -> str:
    """Return the settings as a Markdown table for docs/settings.md."""
    rows = ["| variable | default | what |", "|---|---|---|"]
    for item in fields(Settings):
        default = (
            ""
            if item.default in ("", None, (), MISSING)
            else f"`{_format_default(item.name, item.default)}`"
        )
        rows.append(f"| `{item.metadata['key']}` | {default} | {item.metadata['doc']} |")
    return "\n".join(rows)


def _format_default(name: str, value: Any) -> str:
    if name in ("memory", "disk", "max_output_bytes", "blob_store_bytes", "examples_bytes"):
        return f"{value // 1024**3} GB" if value >= 1024**3 else f"{value // 1024**2} MB"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_the_documentation_contains_the_current_settings() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    assert settings_table() in page, "Copy what settings_table() returns."
