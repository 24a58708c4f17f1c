"""Exports of a comparison: every format opens, and no text of a model becomes code."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from agent.errors import UsageError
from agent.experiments.folder import ExperimentFolder
from agent.experiments.publish.exports import export, kinds, table_as_text
from agent.experiments.publish.publication import published
from tests.agent.experiments.test_description import (
    TWELVE,
    compare,
    described,
    summaries,
    write_run,
)

HOSTILE = '=HYPERLINK("http://x")|<script>alert(1)</script>\\input{/etc/passwd}%&$#_{}~^\x1b[31m'


@pytest.fixture
def description(tmp_path: Path) -> dict[str, Any]:
    plain = [write_run(tmp_path, "plain", HOSTILE) for _ in range(3)]
    sandbox = [write_run(tmp_path, "sandbox", "12") for _ in range(3)]
    return publish(compare(tmp_path, plain, sandbox, expected=TWELVE))


def publish(folder: ExperimentFolder) -> dict[str, Any]:
    return published(folder, summaries(folder.data, folder), described(folder))


def test_csv_has_a_row_for_each_cell(description: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(export(description, "csv").decode())))
    score = next(row for row in rows if row["key"] == "score" and row["member"] == "1")
    assert (score["value"], score["n"], score["interval"]) == ("1.0", "3", "Wilson interval")
    assert score["label"] == "In the sandbox"
    cached = next(row for row in rows if row["key"] == "cached_tokens")
    assert (cached["text"], cached["value"]) == ("not reported", "")


def test_a_spreadsheet_executes_nothing(description: dict[str, Any]) -> None:
    rows = list(csv.reader(io.StringIO(export(description, "csv").decode())))
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "@", "\t")]


def test_json_is_the_whole_comparison(description: dict[str, Any]) -> None:
    stored = json.loads(export(description, "json"))
    assert stored["members"][0]["runs"][0]["answer"] == HOSTILE
    assert stored["verdict"] == description["verdict"]


def test_latex_escapes_what_models_write(description: dict[str, Any]) -> None:
    text = export(description, "tex").decode()
    assert "\\input{" not in text
    assert r"\textbackslash{}input\{/etc/passwd\}\%\&\$\#\_\{\}\textasciitilde{}" in text
    assert r"\textbf{1.00 [0.44 to 1.00] (n = 3) (+1.00)}" in text
    assert text.count("\\begin{tabular}{lrr}") == text.count("\\end{tabular}") == 1
    body = [line for line in text.splitlines() if " & " in line]
    assert {line.replace(r"\&", "").count("&") for line in body} == {2}


def test_markdown_has_as_many_columns_in_every_row(description: dict[str, Any]) -> None:
    text = export(description, "md").decode()
    rows = [line.replace(r"\|", "") for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {4}
    assert "<script>" not in text
    assert "\x1b" not in text


def test_the_chart_as_svg_is_well_formed_and_inert(description: dict[str, Any]) -> None:
    description["members"][0]["label"] = "<script>&"
    root = ET.fromstring(export(description, "svg"))
    tags = {each.tag.rpartition("}")[2] for each in root.iter()}
    assert tags == {"svg", "title", "rect", "text"}
    texts = [each.text or "" for each in root.iter() if each.tag.endswith("text")]
    assert "With a computer: right 3 of 3. Without: right 0 of 3." in texts
    assert any("n = 3" in text for text in texts)


def test_the_chart_as_png_opens(description: dict[str, Any]) -> None:
    with Image.open(io.BytesIO(export(description, "png"))) as image:
        assert image.size[0] == 1920
        assert len(image.getcolors(1_000_000) or ()) > 10


def test_the_table_for_a_terminal(description: dict[str, Any]) -> None:
    text = table_as_text(description)
    assert text.startswith("With a computer: right 3 of 3.")
    assert "\x1b" not in text
    assert "1.00 [0.44 to 1.00] (n = 3) (+1.00)" in text


def test_a_comparison_without_a_result_exports_too(tmp_path: Path) -> None:
    whole = publish(compare(tmp_path, [], []))
    assert [kind for kind in kinds(whole) if not export(whole, kind)] == ["runs.jsonl"]


def test_another_format_is_refused(description: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="csv, json, tex, md, svg, pdf, png"):
        export(description, "exe")
