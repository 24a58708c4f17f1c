// The dialog that makes one evaluation of the runs of several.

import { h, loadStyles } from "../core/dom.js";
import { apiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { formatAge, plural } from "../core/format.js";
import { openDialog } from "../core/widgets/dialog.js";
import { showView } from "../core/view.js";
import { field, setStatus } from "./members/form.js";

/** Ask which of the user's other evaluations become one with that of the id, and show the new one. */
export async function openMergeDialog({ id, title }) {
  await loadStyles("experiments/members/members.css");
  const list = h("ul", { class: "suites", "aria-label": "Evaluations", "aria-busy": "true" }, h("li", { class: "dim" }, "Loading your evaluations…"));
  const name = h("input", { type: "text", maxlength: 200, placeholder: "the suites’ names", autocomplete: "off" });
  const status = h("p", { role: "status" }, "Choose one or more.");
  const chosen = () => [...list.querySelectorAll("input:checked")].map(({ value }) => value);
  const update = () => {
    button.disabled = !chosen().length;
    setStatus(status, button.disabled ? "Choose one or more." : `${plural(chosen().length + 1, "evaluation")} become one; they stay as they are.`);
  };
  const merge = async () => {
    button.disabled = true;
    try {
      const body = JSON.stringify({ evaluations: [id, ...chosen()], title: name.value.trim() });
      const merged = await fetchJson(apiUrl("evaluations/merge"), { method: "POST", body });
      dialog.close();
      await showView("evaluation", merged.id);
    } catch (error) {
      update();
      setStatus(status, error.message, true);
    }
  };
  const button = h("button", { class: "plain start", disabled: true, onclick: merge }, "Merge");
  const dialog = openDialog(
    { name: "evaluate merge", title: "Merge evaluations" },
    h("p", {}, "One table of the members and tasks of several evaluations. Nothing is run. Suites of the same name must have been asked and graded alike."),
    h("h3", {}, `“${title}” with`),
    list,
    h("div", { class: "merged-title" }, field("Title", name)),
    h("div", { class: "end" }, status, h("button", { class: "plain", onclick: () => dialog.close() }, "Cancel"), button),
  );
  dialog.querySelector("h2").focus();
  await fill(list, id, update, status);
}

/** List the evaluations that have ended, newest first. */
async function fill(list, id, update, status) {
  try {
    const { evaluations } = await fetchJson(apiUrl("evaluations"));
    const others = evaluations.filter((each) => each.id !== id && !each.running);
    const row = (each) =>
      h(
        "li",
        { class: "suite-row" },
        h(
          "label",
          {},
          h("input", { type: "checkbox", value: each.id, onchange: update }),
          h("span", {}, h("b", { dir: "auto" }, each.title), " ", h("small", {}, formatAge(Date.now() / 1000 - each.created))),
        ),
      );
    list.replaceChildren(...others.map(row));
    if (!others.length) status.textContent = "There is no other evaluation that has ended.";
  } catch (error) {
    list.replaceChildren(h("li", { class: "bad" }, error.message));
  }
  list.removeAttribute("aria-busy");
}
