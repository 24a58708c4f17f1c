"""Configuration of the studio's sandbox in an evaluation."""

from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.errors import SettingError
from agent.sandbox.network.policy import parse_policy
from agent.setting_parsers import parse_size
from agent.settings import Settings

CONFIG_FILE = "studio.yaml"
_MAX_BYTES = 64 * 1024
_PACKAGE = "llm_in_sandbox_studio"


class StudioSandboxConfig(BaseModel):
    """What ``SandboxEnvironmentSpec("studio", …)`` takes, or the fields of ``studio.yaml``.

    Attributes:
        user: The user of Inspect's commands and files; created, with the workspace as its own,
            if the image has no such user. The agent's own tools run as root, as in every run.
        network: What the sandbox may reach: ``none``, ``open``, ``packages``, or names of hosts.
        image: Another image than the settings'.
        memory: Memory, such as ``4g``; by default the settings'.
        cpus: Number of processors; by default the settings'.
        disk: Disk space including the workspace, such as ``20g``; by default the settings'.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: str = Field(default="root", pattern=r"^[a-z_][a-z0-9_-]{0,31}$")
    network: str = "none"
    image: str = ""
    memory: str | None = None
    cpus: float | None = Field(default=None, gt=0)
    disk: str | None = None

    def apply(self, settings: Settings) -> Settings:
        """Return the settings with these limits; a ``SettingError`` names the invalid field."""
        try:
            parse_policy(self.network)
            changes = {
                "image": self.image or settings.image,
                "memory": parse_size(self.memory) if self.memory else settings.memory,
                "disk": parse_size(self.disk) if self.disk else settings.disk,
                "cpus": self.cpus or settings.cpus,
            }
        except ValueError as error:
            raise SettingError(f"The sandbox's configuration is wrong: {error}") from error
        return replace(settings, **changes)  # type: ignore[arg-type]


def load_config(config: BaseModel | str | None) -> StudioSandboxConfig:
    """Return the configuration that Inspect passes: none, a model, or the path of a YAML file."""
    if config is None:
        return StudioSandboxConfig()
    if isinstance(config, StudioSandboxConfig):
        return config
    if not isinstance(config, str):
        raise SettingError(
            f"The sandbox “studio” takes a StudioSandboxConfig, not {type(config).__name__}. It "
            "builds no images from compose files: remove the sample's configuration, and prepare "
            "its files with the sample's files and setup."
        )
    return _read(Path(config))


def _read(path: Path) -> StudioSandboxConfig:
    import yaml  # only for a file

    try:
        if path.stat().st_size > _MAX_BYTES:
            raise SettingError(f"{path} is larger than {_MAX_BYTES} bytes.")
        fields = yaml.safe_load(path.read_text(encoding="utf-8"))
        return StudioSandboxConfig.model_validate(fields if fields is not None else {})
    except (OSError, UnicodeError, yaml.YAMLError, ValidationError) as error:
        known = ", ".join(StudioSandboxConfig.model_fields)
        raise SettingError(
            f"{path} is not a configuration of the sandbox “studio”, whose fields are {known}: "
            f"{error}"
        ) from error


def registered_name(name: str) -> str:
    """Return the name to register: in a wheel, Inspect itself prepends the package's name."""
    return name if __name__.startswith(f"{_PACKAGE}.") else f"{_PACKAGE}/{name}"
