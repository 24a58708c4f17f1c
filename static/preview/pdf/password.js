// The password of a PDF: a form to enter it, and a copy without it for the model and plain mode.

import { h, icon } from "../../core/dom.js";
import { downloadLink } from "../parts.js";
import { runApiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";

/** Ask for the password, and load the file with it. */
export function passwordForm(file, wrong) {
  const field = h("input", { type: "password", name: "password", autocomplete: "off", required: true, "aria-invalid": String(wrong) });
  const submit = (event) => {
    event.preventDefault();
    file.password = field.value;
    file.preview.load();
  };
  const form = h(
    "form",
    { class: "message password", onsubmit: submit },
    icon("file"),
    h("p", {}, "This PDF is protected with a password."),
    h("label", {}, "Password", field),
    h("p", { class: "wrong", role: "alert" }, wrong ? "This is not its password." : ""),
    h("div", {}, h("button", { class: "quiet primary", type: "submit" }, "Open"), downloadLink(file)),
    h("p", { class: "dim" }, "The studio opens the file with it and does not store it."),
  );
  if (wrong) requestAnimationFrame(() => field.focus());
  return form;
}

/** The button that saves a copy without the password next to a file that was opened with one. */
export function unlockedCopyTools(file) {
  if (!file.password || file.step !== null) return [];
  const name = `${file.name.replace(/\.pdf$/i, "")} (unlocked).pdf`;
  const title = "The model and plain mode can read the copy; its token count is shown.";
  const button = h("button", { class: "quiet edit", title, onclick: () => saveCopy(file, name, button) }, "Save without password");
  return [button];
}

async function saveCopy(file, name, button) {
  button.disabled = true;
  try {
    const body = await file.fetchBinary({ as: "pdf", unlocked: 1 });
    const folder = file.path.slice(0, file.path.lastIndexOf("/") + 1);
    await fetchJson(runApiUrl(`files/${folder}${encodeURIComponent(name)}`), { method: "PUT", body });
    file.setDetails(`saved as “${name}”`);
  } catch (error) {
    file.setDetails(error.message);
  } finally {
    button.disabled = false;
  }
}
