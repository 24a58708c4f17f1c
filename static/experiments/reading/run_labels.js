// Labels and notes of a run, one of each per rater, below its column's header; the owner can edit them.

import { h, hasChanged } from "../../core/dom.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { source } from "../../core/loading/source.js";
import { readStored, writeStored } from "../../core/local_storage.js";

const RATER = "rater"; // the name in local storage of who labels runs here, where there are no accounts
const MAX = { label: 40, note: 2000, rater: 60 }; // characters
const HIDDEN = "The other rater’s label is shown after yours.";

let lists = 0;

export class RunLabels {
  /** `url(path)` is an address of the experiment. */
  constructor(url) {
    this.url = url;
    this.run = null;
    this.rater = null; // who labels: the user's name; empty if it is to be typed
    this.said = []; // what each rater says of the run: { rater, label, note }
    const field = (tag, name, attributes) =>
      h(tag, { "aria-label": name, maxlength: MAX[name.toLowerCase()], onchange: () => this.save(), dir: "auto", ...attributes });
    this.list = h("datalist", { id: `run-labels-${++lists}` });
    this.label = field("input", "Label", { placeholder: "Label", list: this.list.id, autocomplete: "off" });
    this.note = field("textarea", "Note", { placeholder: "Note", rows: "1" });
    this.name = field("input", "Rater", { placeholder: "Your name", autocomplete: "off" });
    this.status = h("span", { class: "label-status", role: "status" });
    this.form = h("div", { class: "label-form", hidden: true }, this.label, this.note, this.name, this.list, this.status);
    this.others = h("div", { class: "other-labels" });
    this.element = h("div", { class: "run-labels", role: "group", "aria-label": "Label and note", hidden: true }, this.form, this.others);
  }

  /** Show what is said of a run; null for none. */
  show(run, { canEdit, raters = [], labels = [] }) {
    this.canEdit = canEdit && !source.bundled;
    this.raters = raters;
    this.form.hidden = !this.canEdit;
    if (hasChanged(this.list, labels)) this.list.replaceChildren(...labels.map((value) => h("option", { value })));
    if (run?.run !== this.run) {
      this.run = run?.run ?? null;
      this.said = [];
      this.known = null;
      this.fill();
    }
    if (!run) {
      this.element.hidden = true;
      return void hasChanged(this, null); // it is drawn again when there is a run
    }
    if (!hasChanged(this, [run.run, run.labels, run.noted, this.canEdit])) return;
    this.known = run.labels ?? [];
    if (source.bundled) this.said = raters.map((rater, at) => ({ rater, label: run.labels?.[at] ?? "", note: "" }));
    this.draw();
    if (!source.bundled && (this.canEdit || this.known.length)) this.load();
  }

  async load() {
    const { run } = this;
    try {
      const { labels, rater } = await fetchJson(`${this.url("labels")}?${new URLSearchParams({ runs: run })}`);
      if (run !== this.run) return;
      this.said = labels[run] ?? [];
      this.rater = rater;
      this.fill();
      this.draw();
    } catch (error) {
      this.tell(error.message);
    }
  }

  get raterName() {
    return (this.rater || this.name.value || readStored(RATER, "")).trim();
  }

  /** Fill the form with what this rater has said, unless it is being changed. */
  fill() {
    if (!this.name.value) this.name.value = readStored(RATER, "");
    const own = this.said.find(({ rater }) => rater === this.raterName) ?? { label: "", note: "" };
    for (const name of ["label", "note"]) if (this[name] !== document.activeElement) this[name].value = own[name];
    this.tell("");
  }

  draw() {
    this.name.hidden = this.rater !== "";
    const own = this.canEdit ? this.raterName : null;
    const others = this.said.filter(({ rater, label, note }) => rater !== own && (label || note));
    const isHidden = this.canEdit && others.length > 0 && !this.said.some(({ rater, label }) => rater === own && label);
    const line = ({ rater, label, note }) =>
      h("p", { dir: "auto" }, h("b", {}, `${rater}: `), label ? h("span", { class: "label-chip" }, label) : null, note ? ` ${note}` : null);
    this.others.replaceChildren(...(isHidden ? [h("p", { class: "dim" }, HIDDEN)] : others.map(line)));
    this.element.hidden = !this.run || (!this.canEdit && !others.length);
  }

  async save() {
    const { run } = this;
    if (this.rater === "") {
      writeStored(RATER, this.name.value.trim());
      if (!this.raterName && !(this.label.value.trim() || this.note.value.trim())) return;
    }
    const said = { label: this.label.value, note: this.note.value, rater: this.raterName };
    try {
      await fetchJson(this.url(`labels/${run}`), { method: "PUT", body: JSON.stringify(said) });
      if (run !== this.run) return;
      await this.load();
      this.tell("Saved");
    } catch (error) {
      if (run === this.run) this.tell(error.message, true);
    }
  }

  tell(text, isError = false) {
    this.status.textContent = text;
    this.status.toggleAttribute("data-error", isError);
  }
}
