// The dialog that deletes an experiment.

import { h, loadStyles } from "../core/dom.js";
import { fetchJson } from "../core/loading/fetch.js";
import { openDialog } from "../core/widgets/dialog.js";

/**
 * Ask what of the experiment at the API's `url` is to be deleted: it alone, or its runs and their
 * files, too. `onDeleted()` is called afterwards.
 */
export async function openDeletion(kind, url, onDeleted) {
  await loadStyles("header/header.css");
  const runs = h("input", { type: "checkbox", id: "delete-runs" });
  const status = h("p", { role: "status" });
  const remove = async () => {
    try {
      await fetchJson(`${url}${runs.checked ? "?runs=1" : ""}`, { method: "DELETE" });
      dialog.close();
      onDeleted();
    } catch (error) {
      status.textContent = error.message;
    }
  };
  const button = (label, onclick, danger = "") => h("button", { class: `plain ${danger}`, onclick }, label);
  const dialog = openDialog(
    { name: "share confirm", title: `Delete this ${kind}?` },
    h("p", {}, "Its runs are kept, and History lists them one by one. This cannot be undone."),
    h("label", { class: "check", for: "delete-runs" }, runs, "Delete its runs and their files, too"),
    status,
    h(
      "div",
      { class: "row" },
      button("Delete", remove, "danger"),
      button("Cancel", () => dialog.close()),
    ),
  );
}
