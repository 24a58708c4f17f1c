"""The preview of other files: the detected type and a hex view of any offset."""

import json
import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.data import hex as raw
from sandbox_ui.preview.data.hex import identify
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data

GIGABYTES = 2 * 1024**3
PROGRAM = Path(sys.executable).resolve().read_bytes()[:4096]


def numpy_array(shape: str = "(3, 4)", descr: str = "'<f4'") -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()


def safetensors(header: object) -> bytes:
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + bytes(64)


@pytest.mark.parametrize(
    ("content", "description", "facts"),
    [
        (PROGRAM, "for Linux (ELF)", {"width": "64 bit"}),
        (bytes.fromhex("cafebabe00000041"), "compiled Java class", {"made for": "Java 21"}),
        (b"\0asm\1\0\0\0", "WebAssembly", {"version": "1"}),
        (numpy_array(), "NumPy array", {"shape": "3 × 4", "numbers": "<f4"}),
        (numpy_array("()"), "NumPy array", {"shape": "a single value"}),
        (numpy_array("(" * 500), "cannot be read", {}),
        (numpy_array("__import__('os')"), "cannot be read", {}),
        (pickle.dumps({"a": 1}), "It is not loaded here", {"protocol": "4"}),
        (pickle.dumps([1], protocol=2), "It is not loaded here", {"protocol": "2"}),
        (
            safetensors({"w": {"dtype": "F16", "shape": [2, 3]}, "__metadata__": {}}),
            "Model weights",
            {"tensors": "1", "w": "2 × 3 F16"},
        ),
        (safetensors({"w": {"dtype": [], "shape": {}}}), "Model weights", {"tensors": "1"}),
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "captured from a network", {}),
        (b"7\x7f\x06\x82" + bytes(28), "of the SQLite database", {}),
        (b"GGUF" + bytes(20), "language model", {}),
        (b"7z\xbc\xaf\x27\x1c" + bytes(20), "7-Zip", {}),
        (b"BLENDER-v293" + bytes(20), "Blender scene", {}),
        (b"L\0\0\0\x01\x14\x02\0" + bytes(20), "Windows shortcut", {}),
        (b"SIMPLE  =                    T" + b" " * 50, "FITS", {}),
        (bytes(128) + b"DICM", "medical image", {}),
        (bytes(100), "Only zeros", {}),
        (b"plain words\0" + b"and more of them" * 9, "Mostly plain text", {}),
        (bytes(range(256)) * 16, "look compressed", {}),
        (bytes(range(40)), "Unknown type.", {}),
    ],
)  # fmt: skip
def test_the_type_of_a_file_is_described(
    content: bytes, description: str, facts: dict[str, str]
) -> None:
    sentence, found = identify(content, len(content))
    assert description in sentence
    assert facts.items() <= dict(found).items()


def test_the_name_decides_between_types_with_the_same_signature() -> None:
    office = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
    assert "Office" in identify(office, len(office), "a.doc")[0]
    weak = b"\x1a\x02" + bytes(range(200))
    assert identify(weak, len(weak))[0] == "Unknown type."
    assert identify(weak, len(weak), "old.arc")[0] == "LH archive (old vers.|type 1)."


@pytest.mark.parametrize("start", ["ID3", "OTTO", "BZh9", "BM", "MThd", "PK", "%", "text"])
def test_text_with_binary_data_is_not_taken_for_its_first_word(start: str) -> None:
    content = f"{start} is how this text begins. ".encode() * 9 + b"\0"
    assert identify(content, len(content), "notes.txt")[0].startswith("Mostly plain text")


@given(st.binary(max_size=300), st.sampled_from(["", "a", "a.exe", "..", "a.tar.gz", "\ud800"]))
def test_any_bytes_and_names_are_described(content: bytes, name: str) -> None:
    assert bool(identify(content, len(content), name)[0]) == bool(content)


def test_every_truncation_of_a_known_format_is_identified() -> None:
    weights = safetensors({"w": {"dtype": "F16", "shape": [2]}})
    for whole in (numpy_array(), weights, pickle.dumps([1])):
        for cut in range(len(whole)):
            assert identify(whole[:cut], cut)[0] or not cut


def test_strings_near_an_offset_are_found() -> None:
    content = b"\0\0first words\0\1ab\0second words\xff" + bytes(99)
    first, second = [2, "first words"], [18, "second words"]
    for offset, found in (("0", [first, second]), ("10", [second]), ("9999999", [])):
        assert preview_data(raw.view, content, offset=offset)["strings"] == found


def go_to(viewer: FileViewer, offset: str) -> Locator:
    """Enter an offset; returns the field."""
    field = viewer.canvas.get_by_label("Go to offset")
    field.fill(offset)
    field.press("Enter")
    return field


def test_any_offset_of_two_gigabytes_can_be_shown(viewer: FileViewer) -> None:
    viewer.write("sparse.bin", b"\0begin")
    with (viewer.folder / "sparse.bin").open("r+b") as file:
        file.seek(GIGABYTES // 2)
        file.write(b"in the middle")
        file.seek(GIGABYTES - 16)
        file.write(b"\xffat the very end")
    viewer.open()
    canvas = viewer.show("sparse.bin")
    expect(canvas).to_contain_text("·begin")
    go_to(viewer, "50%")
    expect(canvas.locator(".marked")).to_contain_text("in the middle")
    canvas.get_by_text("Strings").click()
    expect(canvas.locator(".strings .list")).to_contain_text("in the middle")
    canvas.locator(".scroller").press("End")
    expect(canvas).to_contain_text("·at the very end")
    canvas.locator(".scroller").press("Home")
    expect(canvas).to_contain_text("·begin")
    canvas.locator(".scroller").evaluate("element => { element.scrollTop = element.scrollHeight; }")
    expect(canvas).to_contain_text("·at the very end")
    go_to(viewer, "0x7ffffff0")
    expect(canvas.locator(".marked")).to_contain_text("·at the very end")
    assert "below" in go_to(viewer, "one").evaluate("field => field.validationMessage")
    assert canvas.locator("tr").count() < 100


def test_a_changed_file_keeps_its_offset_and_its_strings_are_escaped(viewer: FileViewer) -> None:
    canvas = viewer.view("log.bin", b"\0" * 20_000)
    go_to(viewer, "16000")
    expect(canvas.locator(".marked th")).to_have_text("00003e80")
    hostile = b"<img src=x onerror='window.hacked=1'>"
    viewer.write("log.bin", b"\0" * 16_000 + hostile + b"\0" * 20_000)
    expect(canvas.locator(".marked")).to_contain_text("<img src=x onerr")
    canvas.get_by_text("Strings").click()
    expect(canvas.locator(".strings .list")).to_contain_text("<img src=x onerror")
