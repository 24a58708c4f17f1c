// The dialog that downloads a run's report: the user chooses how much of the files it contains.

import { h } from "../core/dom.js";
import { runApiUrl } from "../core/event_stream.js";
import { readStored, writeStored } from "../core/local_storage.js";
import { openDialog } from "../core/widgets/dialog.js";

const SIZES = [0, 5, 20, 100, 500]; // MB
const DEFAULT_SIZE = 20;
const ABOUT =
  "One HTML file with the conversation, the charts, the files and a player. It needs no network. Results go first; the report names the files that do not fit.";

/** Open the dialog for the current run. */
export function openReportDialog() {
  const stored = readStored("report-files", DEFAULT_SIZE);
  const options = SIZES.map((size) => h("option", { value: String(size), selected: size === stored }, size ? `up to ${size} MB` : "none"));
  const size = h("select", { id: "report-files" }, ...options);
  const link = h("a", { class: "create", download: "" }, "Download");
  const update = () => {
    link.href = runApiUrl(`report.html?files=${size.value}`);
  };
  size.addEventListener("change", () => {
    writeStored("report-files", Number(size.value));
    update();
  });
  if (!SIZES.includes(stored)) size.value = String(DEFAULT_SIZE);
  update();
  const dialog = openDialog(
    { name: "share report-size", title: "Download report" },
    h("p", {}, ABOUT),
    h("label", { class: "size", for: "report-files" }, "Files in it", size),
    h("div", { class: "row" }, link, h("button", { onclick: () => dialog.close() }, "Cancel")),
  );
  link.addEventListener("click", () => setTimeout(() => dialog.close()));
  link.focus();
}
