"""JSON, JSON lines and YAML as a tree: as they are written, whatever they do."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.data import json_tree
from tests.sandbox_ui.preview.file_changes import rewrite
from tests.sandbox_ui.preview.file_viewer import FileViewer, data_of


def view(folder: Path, name: str, content: str | bytes, **options: str) -> dict[str, Any]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return dict(data_of(json_tree.view, path, **options))


def children(seen: dict[str, Any]) -> list[dict[str, Any]]:
    return list(seen["node"]["children"])


def test_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    seen = view(tmp_path, "a.json", "[12345678901234567890, 1.50, 1e400, -0, NaN]")
    texts = [each["text"] for each in children(seen)]
    assert texts == ["12345678901234567890", "1.50", "1e400", "-0", "NaN"]


def test_equal_keys_are_all_there(tmp_path: Path) -> None:
    text = '{"a": 1, "a": {"x": 2}}'
    first, second = children(view(tmp_path, "a.json", text))
    assert first["text"] == "1"
    assert (second["token"], second["again"]) == ("a~21", True)
    branch = view(tmp_path, "a.json", text, at="/a~21")
    assert children(branch)[0]["text"] == "2"


def test_a_long_list_comes_in_parts(tmp_path: Path) -> None:
    text = json.dumps(list(range(5000)))
    seen = view(tmp_path, "a.json", text)
    assert seen["node"]["count"] == 5000
    assert len(children(seen)) == json_tree.MAX_CHILDREN
    later = view(tmp_path, "a.json", text, **{"from": "4900"})
    assert [each["text"] for each in children(later)][::99] == ["4900", "4999"]


def test_a_branch_is_asked_for_by_its_address(tmp_path: Path) -> None:
    text = json.dumps({"a/b": {"": [{"~": "deep"}]}})
    assert view(tmp_path, "a.json", text, at="/a~1b//0/~0", value="1")["value"] == "deep"


def test_a_value_is_copied_as_it_is_written(tmp_path: Path) -> None:
    seen = view(tmp_path, "a.json", '{"a":1.50,"a":["ä"]}', value="1")
    assert seen["value"] == '{\n  "a": 1.50,\n  "a": [\n    "ä"\n  ]\n}'


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [("a.json", '{"a": 1,\n "b": tru}', (2, 7)), ("a.yaml", "a: [1\nb: 2\n", (2, 2))],
)
def test_where_it_breaks_is_said(
    tmp_path: Path, name: str, content: str, place: tuple[int, int]
) -> None:
    wrong = view(tmp_path, name, content)["wrong"]
    assert (wrong["line"], wrong["column"]) == place


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.json", "[" * 100_000), ("a.yaml", "[" * 50_000), ("b.yaml", "- " * 5000)],
)
def test_what_is_nested_too_deep_is_refused(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(PreviewError, match="too deep"):
        view(tmp_path, name, content)


def test_a_bomb_of_aliases_costs_no_more_than_its_names(tmp_path: Path) -> None:
    names = "abcdefghijklm"
    bomb = "a: &a [x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise(names)
    )
    assert view(tmp_path, "a.yaml", bomb)["node"]["count"] == len(names)
    with pytest.raises(PreviewError):
        view(tmp_path, "a.yaml", bomb, value="1")


def test_a_tag_of_yaml_does_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "made"
    text = f"a: !!python/object/apply:os.mkdir ['{marker}']\n"
    assert view(tmp_path, "a.yaml", text)["node"]["count"] == 1
    assert not marker.exists()


def test_several_documents_and_types_of_yaml(tmp_path: Path) -> None:
    seen = view(tmp_path, "a.yaml", "x: 0x1F\ny: yes\nz: 2026-11-20\n---\n- 1_000\n")
    assert seen["node"]["type"] == "documents"
    first = children(seen)[0]["children"]
    assert [(each["type"], each["text"]) for each in first] == [
        ("number", "0x1F"), ("boolean", "yes"), ("timestamp", "2026-11-20"),
    ]  # fmt: skip


def test_json_lines_come_by_pages_and_a_broken_one_breaks_no_other(tmp_path: Path) -> None:
    content = "".join(f'{{"id": {number}}}\n' for number in range(1000)) + "{broken\n"
    first = view(tmp_path, "a.jsonl", content)
    assert len(children(first)) == json_tree.MAX_CHILDREN
    last = view(tmp_path, "a.jsonl", content, **{"from": str(first["next"])})
    assert children(last)[0]["children"][0]["text"] == str(json_tree.MAX_CHILDREN)
    token = children(last)[3]["token"]
    assert view(tmp_path, "a.jsonl", content, at=f"/{token}/id", value="1")["value"] == "203"
    broken = view(tmp_path, "a.jsonl", "{broken\n[1]\n")
    assert [each["type"] for each in children(broken)] == ["wrong", "array"]


def test_what_is_too_large_says_how_much_is_read(tmp_path: Path) -> None:
    assert "16 MB" in view(tmp_path, "a.json", b" " * (17 * 1024**2))["large"]


# In the browser.

browser = pytest.mark.browser
SAMPLE = {"name": "run", "list": list(range(450)), "deep": {"a": {"b": [True, None]}}}


def item(canvas: Locator, text: str) -> Locator:
    return canvas.get_by_role("treeitem").filter(has_text=text).last


@browser
def test_branches_are_unfolded_by_the_keyboard(viewer: FileViewer) -> None:
    viewer.upload("a.json", json.dumps(SAMPLE).encode())
    viewer.open()
    canvas = viewer.show("a.json")
    expect(item(canvas, "name")).to_contain_text("“run”")
    item(canvas, "name").focus()
    for key in ("End", "ArrowRight", "ArrowRight"):
        viewer.page.keyboard.press(key)
    expect(canvas.locator(".path")).to_have_text("$.deep.a.b")
    viewer.page.keyboard.press("ArrowRight")
    viewer.page.keyboard.press("ArrowRight")
    expect(item(canvas, "true")).to_be_focused()
    for _ in range(4):
        viewer.page.keyboard.press("ArrowLeft")
    expect(canvas.locator(".path")).to_have_text("$.deep.a")


@browser
def test_a_long_list_is_shown_part_by_part(viewer: FileViewer) -> None:
    viewer.upload("a.json", json.dumps(SAMPLE["list"]).encode())
    viewer.open()
    canvas = viewer.show("a.json")
    rows = canvas.get_by_role("treeitem")
    expect(rows).to_have_count(201)
    canvas.get_by_text("Show 200 more of 450").click()
    expect(rows).to_have_count(401)
    canvas.get_by_text("Show 50 more of 450").click()
    expect(rows).to_have_count(450)


@browser
def test_what_is_unfolded_stays_so_when_the_file_changes(viewer: FileViewer) -> None:
    viewer.upload("a.json", json.dumps(SAMPLE).encode())
    viewer.open()
    canvas = viewer.show("a.json")
    inside = canvas.locator(".key").filter(has_text="b")
    canvas.get_by_text("{1 key}").nth(1).click()
    expect(inside).to_be_visible()
    rewrite(viewer, "a.json", json.dumps({**SAMPLE, "name": "changed"}).encode())
    expect(item(canvas, "name")).to_contain_text("“changed”")
    expect(inside).to_be_visible()


@browser
def test_broken_json_shows_why_and_its_source(viewer: FileViewer) -> None:
    viewer.upload("bad.json", b'{\n  "a": 1,\n  "b": tru\n}\n')
    viewer.open()
    canvas = viewer.show("bad.json")
    expect(canvas.get_by_role("alert")).to_contain_text("line 3, column 8")
    expect(canvas.locator(".row.now")).to_have_text('  "b": tru')


@browser
def test_empty_large_and_hostile_ones_are_shown(viewer: FileViewer) -> None:
    viewer.upload("empty.json", b"")
    viewer.upload("large.json", b"[" + b" " * (17 * 1024**2) + b"]")
    viewer.upload(
        "hostile.json",
        json.dumps(
            {
                "<img src=x onerror=window.hacked=1>": "<script>window.hacked=1</script>\u202e",
                "__proto__": {"x": 1},
            }
        ).encode(),
    )
    viewer.upload("deep.json", b"[" * 100_000)
    viewer.open()
    expect(viewer.show("empty.json")).to_contain_text("This file is empty.")
    expect(viewer.show("large.json").get_by_role("alert")).to_contain_text("16 MB")
    hostile = viewer.show("hostile.json")
    expect(hostile).to_contain_text("<script>window.hacked=1</script>")
    expect(hostile).to_contain_text("__proto__")
    expect(viewer.show("deep.json")).to_contain_text("nested too deep")


@browser
def test_lines_of_json_are_shown_with_a_word_of_each(viewer: FileViewer) -> None:
    viewer.upload("a.jsonl", b"".join(b'{"id": %d}\n' % number for number in range(300)))
    viewer.open()
    canvas = viewer.show("a.jsonl")
    expect(canvas.get_by_role("treeitem").first).to_contain_text("id: 0")
    canvas.get_by_text("Show more lines").click()
    expect(canvas.get_by_role("treeitem")).to_have_count(300)
    expect(viewer.preview.locator(".hd small")).to_contain_text("300 lines")
