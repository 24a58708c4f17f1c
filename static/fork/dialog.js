// The dialog of a fork: message, model and limits, and what does not come along.

import { h, loadStyles } from "../core/dom.js";
import { fetchJson } from "../core/loading/fetch.js";
import { decodePath, plural } from "../core/format.js";
import { currentSettings, promptNames } from "../core/preferences.js";
import { openDialog } from "../core/widgets/dialog.js";
import { startFork } from "./start.js";

const MAX_LISTED = 20;
const SAME = ["", "the same"];

/**
 * Open the dialog for a fork of `run` after `step`.
 *
 * @param {any} run
 * @param {number} step the last step to keep; 0 starts over
 * @param {{ title?: string, message?: string, focus?: "message" | "model" }} [shown]
 */
export async function openForkDialog(run, step, { title = step ? `Fork from step ${step}` : "Start over", message = "", focus = "message" } = {}) {
  await loadStyles("fork/fork.css");
  await new ForkDialog(run, step, { title, message, focus }).load();
}

class ForkDialog {
  constructor(run, step, { title, message, focus }) {
    this.run = run;
    this.step = step;
    this.about = null;
    this.message = h("textarea", { rows: "3", "aria-label": "Message", name: "message", dir: "auto", oninput: () => this.update() });
    this.message.value = message;
    const model = currentSettings().model ?? "";
    this.model = h("input", { name: "model", value: model, autocomplete: "off", spellcheck: "false", placeholder: "as in the settings" });
    this.steps = h("input", { name: "steps", type: "number", min: "1", step: "1", value: currentSettings().max_steps ?? "", placeholder: "as usual" });
    this.mode = select("mode", [SAME, ["sandbox", "With sandbox"], ["plain", "Without sandbox"]]);
    this.prompt = select("prompt", [SAME, ...promptNames().map((name) => [name, name])]);
    this.endpoint = endpointFields();
    this.missing = h("ul", { class: "missing", "aria-busy": "true" }, h("li", { class: "dim" }, "Looking at the run…"));
    this.reinstall = h("input", { type: "checkbox", name: "reinstall" });
    this.status = h("p", { role: "status" });
    this.start = h("button", { type: "submit", class: "plain start", disabled: true }, "Fork");
    const field = (label, input) => h("label", { class: "field" }, h("span", {}, label), input);
    const text = step
      ? "A new run with the files and the conversation as they were after this step. This run stays as it is."
      : "A new run with the files from the beginning. This run stays as it is.";
    const form = h(
      "form",
      { method: "dialog", onsubmit: (event) => this.submit(event), onkeydown: submitOnShortcut },
      field("Message", this.message),
      h("div", { class: "fields" }, field("Model", this.model), field("Maximum steps", this.steps), field("Mode", this.mode), field("Prompt", this.prompt)),
      this.endpoint.element,
      h("h3", {}, "Does not come along"),
      this.missing,
      h("div", { class: "end" }, this.status, h("button", { class: "plain", onclick: () => this.element.close() }, "Cancel"), this.start),
    );
    this.element = openDialog({ name: "fork", title }, h("p", { class: "about" }, text), form);
    this[focus].focus();
    if (focus === "model") this.model.select();
  }

  async load() {
    try {
      this.about = await fetchJson(this.run.url(`fork?step=${this.step}`));
      this.showMissing();
    } catch (error) {
      this.missing.replaceChildren();
      this.status.textContent = error.message;
    }
    this.missing.removeAttribute("aria-busy");
    this.update();
  }

  showMissing() {
    const { missing, missing_total: total, packages, setup, versions, mode, network } = this.about;
    const items = mode === "sandbox" && this.step ? ["Running processes, the shell’s variables, and files outside /workspace, such as /tmp."] : [];
    if (!versions) items.push("File versions: this run has none, so its files are those of now, without what later steps have written.");
    const files = missing.slice(0, MAX_LISTED).map(({ path, reason }) => h("li", {}, h("code", { dir: "auto" }, decodePath(path)), `: ${reason}`));
    if (total > files.length) files.push(h("li", { class: "dim" }, `and ${plural(total - files.length, "more file")}`));
    const elements = items.map((item) => h("li", {}, item));
    if (total) elements.push(h("li", {}, `${plural(total, "file")} whose content was not kept:`, h("ul", {}, ...files)));
    if (packages.length) elements.push(h("li", {}, `Installed packages: ${packages.join(", ")}.`, this.reinstallChoice(setup, network)));
    if (!elements.length) elements.push(h("li", { class: "dim" }, "Nothing: everything is kept."));
    this.missing.replaceChildren(...elements);
  }

  /** Offer to install the packages again, in steps of their own. */
  reinstallChoice(setup, network) {
    if (!setup.length) return null;
    const label = h("label", { class: "choice" }, this.reinstall, `Install them again first, as ${plural(setup.length, "step")}`);
    if (network === "none") return h("p", { class: "dim" }, "They cannot be installed again: this run has no network.");
    return h("div", {}, label, h("pre", { tabindex: "0", "aria-label": "Commands" }, setup.join("\n")));
  }

  update() {
    if (!this.about || this.starting) return;
    const { needs_message: needed } = this.about;
    const required = Boolean(this.step) && needed;
    this.message.placeholder = required ? "What should the model do now?" : this.step ? "Empty: the model goes on from this step" : "The task";
    this.start.disabled = (required || !this.step) && !this.message.value.trim();
  }

  /** What is different in the fork. Throws an Error if an entry is missing. */
  wanted() {
    const { value: mode } = this.mode;
    const { value: prompt } = this.prompt;
    const chosen = { ...(mode && { mode }), ...(prompt && { prompt }) };
    const model = this.model.value.trim();
    const steps = this.steps.valueAsNumber;
    const options = { ...(model && { model }), ...(steps > 0 && { max_steps: steps }), ...this.endpoint.options() };
    return this.step ? { options, changes: { ...chosen, reinstall: this.reinstall.checked } } : { options: { ...this.about.spec, ...options, ...chosen } };
  }

  async submit(event) {
    event.preventDefault();
    if (this.starting || this.start.disabled) return;
    this.starting = this.start.disabled = true;
    this.status.textContent = "Copying the files…";
    try {
      await startFork(this.run, this.step, { message: this.message.value.trim(), ...this.wanted() });
      this.element.close();
    } catch (error) {
      this.status.textContent = error.message;
      this.starting = this.start.disabled = false;
    }
  }
}

/** Submit a form by Ctrl+Enter: in a text of several lines, Enter begins the next one. */
function submitOnShortcut(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}

/** An endpoint of the fork's own; without a base URL that of the settings is used. */
function endpointFields() {
  const url = h("input", { name: "base-url", type: "url", autocomplete: "off", spellcheck: "false", dir: "ltr", placeholder: "https://…/v1" });
  const key = h("input", { name: "key", type: "password", autocomplete: "off", spellcheck: "false" });
  const note =
    "For the first message of the fork, with the model above. The key is sent to this endpoint only and is not stored; later messages use the settings.";
  const element = h(
    "details",
    { class: "endpoint" },
    h("summary", {}, "Another endpoint"),
    h(
      "div",
      { class: "fields" },
      h("label", { class: "field" }, h("span", {}, "Base URL"), url),
      h("label", { class: "field" }, h("span", {}, "API key"), key),
    ),
    h("p", { class: "dim" }, note),
  );
  const options = () => {
    const [address, secret] = [url.value.trim(), key.value.trim()];
    if (secret && !address) throw new Error("Enter the base URL of the endpoint, too, or remove the key.");
    return address ? { base_url: address, ...(secret && { api_key: secret }) } : {};
  };
  return { element, options };
}

function select(name, choices) {
  return h("select", { name }, ...choices.map(([value, label]) => h("option", { value }, label)));
}
