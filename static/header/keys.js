// The list of all keys, which the key ? shows.

import { h } from "../core/dom.js";
import { on } from "../core/event_stream.js";
import { openDialog } from "../core/widgets/dialog.js";

const CONTROL = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

const KEYS = {
  "The page": [
    ["?", "this list"],
    [`${CONTROL} K`, "History"],
    ["c", "to the message box"],
    [`${CONTROL} Enter`, "run the task, send the message, or start the fork"],
    ["Escape", "leave the message box; there, or anywhere else, once more: stop the run"],
    ["↑", "in an empty message box: the text sent before"],
  ],
  "A run": [
    ["j, k", "next and previous step"],
    ["/", "find in the run"],
    ["i", "requests and settings"],
    ["a, e, d", "allow, edit or deny the call that waits"],
    ["[, ]", "the run as of the previous and the next step"],
    ["{, }", "the same, event by event"],
    ["p", "present, also a comparison"],
  ],
  "On stage": [
    ["→, ←", "next and previous step; also Page Down and Page Up"],
    ["Space", "play and pause"],
    ["r", "the result alone"],
    ["b", "blank the screen"],
    ["Escape", "end"],
  ],
  Files: [
    ["↑, ↓", "next and previous file"],
    ["→, ←", "unfold and fold a folder"],
    ["Enter", "open; with a file in the preview ← and → show its neighbours"],
    ["F2", "rename"],
    ["Delete", "delete"],
    ["Shift F10", "all actions on a file"],
  ],
  History: [
    ["↑, ↓", "next and previous run"],
    ["Enter", "open"],
    ["p", "pin"],
    ["F2", "rename"],
    ["Space", "select"],
    ["c", "compare the selected runs"],
    ["f", "forks and replays"],
    ["Delete", "delete"],
  ],
};

/** Keys that are separated by a comma, each marked as one. */
const marked = (keys) => keys.split(/(, )/).map((part) => (part === ", " ? ", " : h("kbd", {}, part)));

export function openKeys() {
  const section = ([title, rows]) =>
    h("section", {}, h("h3", {}, title), h("dl", {}, ...rows.map(([keys, does]) => h("div", {}, h("dt", {}, ...marked(keys)), h("dd", {}, does)))));
  openDialog(
    { name: "keys", title: "Keys", dismissible: true },
    h("div", { class: "key-groups", tabindex: "0", role: "group", "aria-label": "Keys" }, ...Object.entries(KEYS).map(section)),
  );
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]:not(.history)")) return;
  if (/** @type {Element} */ (event.target).closest?.("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  openKeys();
});
on("keys", openKeys);
