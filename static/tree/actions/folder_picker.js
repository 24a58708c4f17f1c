// Folder picker: a dialog to browse the folders of the workspace.

import { h, icon } from "../../core/dom.js";
import { shownPath } from "../../core/format.js";
import { ask, runApi } from "../../core/session.js";
import { parentOf } from "../model.js";

/** Let the user choose a folder, starting at one; resolves with its path, or null. */
export function pickFolder(title, begin) {
  return new Promise((resolve) => {
    const back = document.activeElement;
    const where = h("p", { class: "where" });
    const list = h("ul");
    const here = h("button", { type: "button", class: "quiet primary" }, "Move here");
    const leave = h("button", { type: "button", class: "quiet" }, "Cancel");
    const dialog = h("dialog", { class: "mover", "aria-label": title }, h("h2", {}, title), where, list, h("div", { class: "row-of" }, leave, here));
    let at = begin;

    const end = (result) => {
      dialog.remove();
      back?.focus?.({ preventScroll: true });
      resolve(result);
    };
    const go = async (folder) => {
      at = folder;
      where.textContent = ["workspace", ...(folder ? folder.split("/").map(shownPath) : [])].join(" / ");
      const inner = await folders(folder);
      if (at !== folder) return;
      const above = folder ? [line("above", "Parent folder", () => go(parentOf(folder)))] : [];
      list.replaceChildren(...above, ...inner.map((each) => line("folder", each.name, () => go(each.path))));
      if (!list.children.length) list.append(h("li", { class: "dim" }, "No folders here."));
      (list.querySelector("button") ?? here).focus();
    };

    here.addEventListener("click", () => end(at));
    leave.addEventListener("click", () => end(null));
    dialog.addEventListener("cancel", () => end(null));
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    document.querySelector(".gradio-container").append(dialog);
    dialog.showModal();
    go(begin);
  });
}

const line = (sign, text, go) => h("li", {}, h("button", { type: "button", class: "quiet", onclick: go }, icon(sign), h("bdi", {}, text)));

async function folders(folder) {
  try {
    const { entries } = await ask(runApi(`files?hidden=1&folder=${encodeURIComponent(folder)}`));
    return entries.filter((entry) => entry.kind === "folder");
  } catch {
    return [];
  }
}
