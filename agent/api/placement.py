"""Placement: where runs are carried out, if not in this process."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent.api.models import ModelArgument
from agent.experiments.runner import StartedRun
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.transport.base_url import resolve_key
from agent.prompts import Prompt
from agent.runs.folder import RunFolder
from agent.runs.spec import RunSpec
from agent.settings import Settings
from agent.tasks.task import Content, chunks_of
from agent.workspace.versions.blobs import BlobStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """A run to be carried out elsewhere; everything in it can be pickled.

    Attributes:
        spec: What is asked for.
        model: The model: an endpoint with its key, a name, or an object that can be pickled.
        prompt: Another prompt than a bundled one.
        limits: The limits of the round, before they are adapted to the model.
        inputs: Documents for ``input/``: relative path → content.
    """

    spec: RunSpec
    model: ModelArgument
    prompt: Prompt | None = None
    limits: Limits
    inputs: Mapping[str, bytes] = field(default_factory=dict)


class Placement(Protocol):
    """What carries out runs elsewhere, such as ``agent.cluster.cluster.Cluster``."""

    @property
    def capacity(self) -> int:
        """How many runs it carries out at once."""

    @property
    def name(self) -> str:
        """Where that is, as a part of a sentence."""

    def place(self, folder: RunFolder, order: RunOrder, blobs: BlobStore) -> StartedRun:
        """Return the run of an order, which is not yet carried out.

        ``folder`` has an empty workspace and receives the record and the files, ``blobs`` the
        contents of the file versions.
        """


def portable_model(argument: ModelArgument, settings: Settings) -> ModelArgument:
    """Return a model that another machine can use: an endpoint with the settings' key."""
    if not isinstance(argument, ModelConfig):
        return argument
    key = resolve_key(argument.base_url, argument.api_key, settings.base_url, settings.api_key)
    return replace(argument, api_key=key)


def portable_inputs(inputs: Mapping[str, Content]) -> dict[str, bytes]:
    """Return the contents of documents, read from their files."""
    return {name: b"".join(chunks_of(content)) for name, content in inputs.items()}
