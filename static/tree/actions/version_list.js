// A file's versions: step, size, by whom; one can be opened, and any two compared.

import { h } from "../../core/dom.js";
import { currentRun, emit, runApiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { openDialog } from "../../core/widgets/dialog.js";
import { decodePath, formatBytes, formatNumber, plural } from "../../core/format.js";

const CHANGES = { added: "created", changed: "changed", removed: "deleted" };

export async function openVersionList(path) {
  const { id } = currentRun;
  const { total, versions } = await fetchJson(runApiUrl(`versions/${path}`));
  if (currentRun.id !== id) return; // another run is shown by now
  const name = decodePath(path);
  const compare = h("button", { class: "create", disabled: true, onclick: () => act(() => compareChosen()) }, "Compare the two");
  const rows = versions.map((version) => row(version));
  const list = h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...["Compare", "Step", "Change", "Size", "By", ""].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...rows),
  );
  const more = total > versions.length ? ` The newest ${formatNumber(versions.length)} are listed.` : "";
  const dialog = openDialog(
    { name: "share versions", title: `Versions of ${name}` },
    h("p", {}, total ? `${plural(total, "version")}, newest first.${more} Choose two to compare.` : "No version of this file was recorded."),
    total ? h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Versions" }, list) : null,
    total > 1 ? h("div", { class: "row" }, compare) : null,
  );
  dialog.addEventListener("change", () => limitChoice());

  const chosen = () => versions.filter((_, index) => rows[index].querySelector("input")?.checked);

  function limitChoice() {
    const full = chosen().length >= 2;
    for (const each of rows) {
      const box = each.querySelector("input");
      if (box) box.disabled = full && !box.checked;
    }
    compare.disabled = !full;
  }

  function act(action) {
    dialog.close();
    action();
  }

  function compareChosen() {
    const [later, earlier] = chosen();
    emit("open-version", { path, step: later.step, compared: true, base: earlier.step });
  }

  function row(version) {
    const { step, change, size, by, not_kept: notKept, open } = version;
    const label = step ? `step ${step}` : "the start";
    const box = open ? h("input", { type: "checkbox", "aria-label": `Compare the version of ${label}` }) : "";
    const openIt = () => act(() => emit("open-version", { path, step }));
    const state = notKept ? h("small", { class: "dim" }, `not kept: ${notKept}`) : "";
    return h(
      "tr",
      {},
      h("td", {}, box),
      h("td", { class: "num" }, step ? String(step) : "start"),
      h("td", {}, CHANGES[change]),
      h("td", { class: "num" }, size === null ? "" : formatBytes(size)),
      h("td", {}, by === "user" ? "user" : "model"),
      h("td", {}, open ? h("button", { class: "inline", "aria-label": `Open the version of ${label}`, onclick: openIt }, "Open") : state),
    );
  }
}
