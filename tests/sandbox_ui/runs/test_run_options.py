"""The options of a run that its model cannot take are refused with what to do."""

from pathlib import Path
from typing import Any, cast

import pytest

from agent.errors import UsageError
from agent.models import resolve
from agent.models.builtin.model import BuiltinModel
from agent.settings import Settings
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.runs.run_options import RunOptions, model_for


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    model = BuiltinModel(cast(Any, None))
    monkeypatch.setattr(resolve, "create_builtin_model", lambda: model)
    return Settings(data=tmp_path, builtin=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("effort", "high"), ("seed", 7), ("temperature", 0.0), ("extra_body", '{"top_k": 20}'),
     ("calls", "text"), ("send_reasoning", False)],
)  # fmt: skip
def test_the_built_in_model_takes_no_parameters_of_an_endpoint(
    settings: Settings, name: str, value: object
) -> None:
    options = RunOptions(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=rf"{name} is for models of an endpoint.*Settings"):
        model_for("Count.", options, settings, OPERATOR)


def test_what_holds_for_every_model_is_not_refused(settings: Settings) -> None:
    options = RunOptions(base_url="", api="auto", max_tokens=100, extra_body="{}")
    assert isinstance(model_for("Count.", options, settings, OPERATOR), BuiltinModel)
