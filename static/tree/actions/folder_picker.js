// Folder picker: a dialog to browse the folders of the workspace.

import { h, icon } from "../../core/dom.js";
import { decodePath } from "../../core/format.js";
import { runApiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { parentOf } from "../../core/paths.js";

/** Let the user choose a folder, starting at one; resolves with its path, or null. */
export function pickFolder(title, start) {
  return new Promise((resolve) => {
    const back = document.activeElement;
    const path = h("p", { class: "target-path" });
    const list = h("ul");
    const moveButton = h("button", { class: "quiet primary" }, "Move here");
    const cancelButton = h("button", { class: "quiet" }, "Cancel");
    const dialog = h(
      "dialog",
      { class: "folder-picker", "aria-label": title },
      h("h2", {}, title),
      path,
      list,
      h("div", { class: "buttons" }, cancelButton, moveButton),
    );
    let current = start;

    const end = (result) => {
      dialog.remove();
      /** @type {HTMLElement} */ (back)?.focus?.({ preventScroll: true });
      resolve(result);
    };
    const openFolder = async (folder) => {
      current = folder;
      path.textContent = ["workspace", ...(folder ? folder.split("/").map(decodePath) : [])].join(" / ");
      const subfolders = await fetchFolders(folder);
      if (current !== folder) return;
      const parentItem = folder ? [folderItem("up", "Parent folder", () => openFolder(parentOf(folder)))] : [];
      list.replaceChildren(...parentItem, ...subfolders.map((each) => folderItem("folder", each.name, () => openFolder(each.path))));
      if (!list.children.length) list.append(h("li", { class: "dim" }, "No folders here."));
      (list.querySelector("button") ?? moveButton).focus();
    };

    moveButton.addEventListener("click", () => end(current));
    cancelButton.addEventListener("click", () => end(null));
    dialog.addEventListener("cancel", () => end(null));
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    document.querySelector(".gradio-container").append(dialog);
    dialog.showModal();
    openFolder(start);
  });
}

const folderItem = (iconName, text, onclick) => h("li", {}, h("button", { class: "quiet", onclick }, icon(iconName), h("bdi", {}, text)));

async function fetchFolders(folder) {
  try {
    const { entries } = await fetchJson(runApiUrl(`files?hidden=1&folder=${encodeURIComponent(folder)}`));
    return entries.filter((entry) => entry.kind === "folder");
  } catch {
    return [];
  }
}
