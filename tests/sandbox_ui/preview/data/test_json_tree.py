"""The tree preview of JSON, JSON Lines and YAML, with exact values and hostile files."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.data import json_tree
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data


def view(name: str, content: str | bytes, **options: str) -> dict[str, Any]:
    return preview_data(json_tree.view, content, name, **options)


def children(result: dict[str, Any]) -> list[dict[str, Any]]:
    return list(result["node"]["children"])


def test_numbers_are_shown_as_written() -> None:
    result = view("a.json", "[12345678901234567890, 1.50, 1e400, -0, NaN]")
    texts = [each["text"] for each in children(result)]
    assert texts == ["12345678901234567890", "1.50", "1e400", "-0", "NaN"]


def test_duplicate_keys_are_all_shown() -> None:
    text = '{"a": 1, "a": {"x": 2}}'
    first, second = children(view("a.json", text))
    assert first["text"] == "1"
    assert (second["token"], second["duplicate"]) == ("a~21", True)
    branch = view("a.json", text, address="/a~21")
    assert children(branch)[0]["text"] == "2"


def test_a_long_list_is_paged() -> None:
    text = json.dumps(list(range(5000)))
    result = view("a.json", text)
    assert result["node"]["count"] == 5000
    assert len(children(result)) == json_tree.MAX_CHILDREN
    later = view("a.json", text, start="4900")
    assert [each["text"] for each in children(later)][::99] == ["4900", "4999"]


def test_a_node_is_requested_by_its_json_pointer_and_copied_as_written() -> None:
    text = json.dumps({"a/b": {"": [{"~": "deep"}]}})
    assert view("a.json", text, address="/a~1b//0/~0", value="1")["value"] == "deep"
    result = view("a.json", '{"a":1.50,"a":["ä"]}', value="1")
    assert result["value"] == '{\n  "a": 1.50,\n  "a": [\n    "ä"\n  ]\n}'


@pytest.mark.parametrize(
    ("name", "content", "position"),
    [("a.json", '{"a": 1,\n "b": tru}', (2, 7)), ("a.yaml", "a: [1\nb: 2\n", (2, 2))],
)
def test_the_position_of_a_syntax_error_is_reported(
    name: str, content: str, position: tuple[int, int]
) -> None:
    wrong = view(name, content)["error"]
    assert (wrong["line"], wrong["column"]) == position


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", "[" * 100_000), ("a.yaml", "[" * 50_000), ("b.yaml", "- " * 5000)],
)
def test_deep_nesting_is_rejected(name: str, content: str) -> None:
    with pytest.raises(PreviewError, match="too deep"):
        view(name, content)


def test_a_yaml_alias_bomb_is_not_expanded() -> None:
    names = "abcdefghijklm"
    bomb = "a: &a [x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise(names)
    )
    assert view("a.yaml", bomb)["node"]["count"] == len(names)
    with pytest.raises(PreviewError):
        view("a.yaml", bomb, value="1")


def test_yaml_documents_and_types_are_shown_and_a_tag_runs_no_code(tmp_path: Path) -> None:
    result = view("a.yaml", "x: 0x1F\ny: yes\nz: 2026-11-20\n---\n- 1_000\n")
    assert result["node"]["type"] == "documents"
    first = children(result)[0]["children"]
    assert [(each["type"], each["text"]) for each in first] == [
        ("number", "0x1F"), ("boolean", "yes"), ("timestamp", "2026-11-20"),
    ]  # fmt: skip
    text = f"a: !!python/object/apply:os.mkdir ['{tmp_path / 'made'}']\n"
    assert view("a.yaml", text)["node"]["count"] == 1
    assert not (tmp_path / "made").exists()


def test_json_lines_are_paged_and_an_invalid_line_affects_no_other() -> None:
    content = "".join(f'{{"id": {number}}}\n' for number in range(1000)) + "{broken\n"
    first = view("a.jsonl", content)
    assert len(children(first)) == json_tree.MAX_CHILDREN
    last = view("a.jsonl", content, start=str(first["next"]))
    assert children(last)[0]["children"][0]["text"] == str(json_tree.MAX_CHILDREN)
    token = children(last)[3]["token"]
    assert view("a.jsonl", content, address=f"/{token}/id", value="1")["value"] == "203"
    broken = view("a.jsonl", "{broken\n[1]\n")
    assert [each["type"] for each in children(broken)] == ["invalid", "array"]


def test_a_large_file_states_the_size_limit() -> None:
    assert "16 MB" in view("a.json", b" " * (17 * 1024**2))["too_large"]


# In the browser

SAMPLE = {"name": "run", "list": list(range(450)), "deep": {"a": {"b": [True, None]}}}


def item(canvas: Locator, text: str) -> Locator:
    return canvas.get_by_role("treeitem").filter(has_text=text).last


def test_nodes_are_expanded_by_keyboard_and_stay_so_when_the_file_changes(
    viewer: FileViewer,
) -> None:
    canvas = viewer.view("a.json", json.dumps(SAMPLE))
    expect(item(canvas, "name")).to_contain_text("“run”")
    item(canvas, "name").focus()
    for key in ("End", "ArrowRight", "ArrowRight"):
        viewer.page.keyboard.press(key)
    expect(canvas.locator(".path")).to_have_text("$.deep.a.b")
    viewer.page.keyboard.press("ArrowRight")
    viewer.page.keyboard.press("ArrowRight")
    expect(item(canvas, "true")).to_be_focused()
    viewer.write("a.json", json.dumps({**SAMPLE, "name": "changed"}))
    expect(item(canvas, "name")).to_contain_text("“changed”")
    expect(item(canvas, "true")).to_be_visible()
    item(canvas, "true").focus()
    for _ in range(4):
        viewer.page.keyboard.press("ArrowLeft")
    expect(canvas.locator(".path")).to_have_text("$.deep.a")


def test_more_items_of_a_long_list_are_shown_on_request(viewer: FileViewer) -> None:
    viewer.write("a.jsonl", "".join(f'{{"id": {number}}}\n' for number in range(300)))
    canvas = viewer.view("a.json", json.dumps(SAMPLE["list"]))
    rows = canvas.get_by_role("treeitem")
    expect(rows).to_have_count(201)
    canvas.get_by_text("Show 200 more of 450").click()
    expect(rows).to_have_count(401)
    canvas.get_by_text("Show 50 more of 450").click()
    expect(rows).to_have_count(450)
    viewer.show("a.jsonl")
    expect(rows.first).to_contain_text("id: 0")
    canvas.get_by_text("Show more lines").click()
    expect(rows).to_have_count(300)
    expect(viewer.details).to_contain_text("300 lines")


def test_invalid_json_shows_the_error_and_the_source(viewer: FileViewer) -> None:
    canvas = viewer.view("bad.json", b'{\n  "a": 1,\n  "b": tru\n}\n')
    expect(canvas.get_by_role("alert")).to_contain_text("line 3, column 8")
    expect(canvas.locator(".row.current")).to_have_text('  "b": tru')
