// One suite in the dialogs of evaluations: whether it is chosen, its data, and what is for it alone.

import { h } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { domainName } from "../words.js";
import { field, number, setterOf } from "./form.js";
import { MAX_REPETITIONS } from "./member.js";

/** How final answers are found in replies. */
const EXTRACTIONS = { lenient: "Final answers in any usual form", reference: "Final answers as the paper’s reward reads them" };

/** One suite: whether it is chosen, and where its data comes from. */
export class SuiteRow {
  /**
   * With `paths` the data may be on the server; `known` says that the evaluation has this suite already, whose
   * settings stay; `changed()` is called after each change.
   */
  constructor(suite, { paths, known = false, changed }) {
    this.suite = suite;
    this.known = known;
    this.numbers = { repeat: null, limit: null, temperature: null };
    const update = () => {
      this.data.hidden = !this.chosen;
      this.path.hidden = this.kind.value !== "path";
      this.input.hidden = this.kind.value !== "upload";
      changed();
    };
    const named = (name) => ({ "aria-label": `${name} ${suite.title}`, onchange: update });
    const select = (name, options) => h("select", named(name), ...options.map(([value, label]) => h("option", { value }, label)));
    const sample = [["sample", `Sample: ${plural(suite.sampleTasks, "task")} of this project`]];
    const onServer = [["path", "The authors’ data on the server"]];
    this.box = h("input", { type: "checkbox", onchange: update });
    this.kind = select("Data of", [...(suite.sampleTasks ? sample : []), ["upload", "Upload the authors’ data"], ...(paths ? onServer : [])]);
    const path = { type: "text", placeholder: "/path/to/the/data", spellcheck: "false", autocomplete: "off", oninput: changed };
    this.path = h("input", { ...path, "aria-label": `Path of ${suite.title} on the server` });
    this.input = h("input", { type: "file", multiple: true, ...named("Files of") });
    this.extraction = select(
      "Final answers of",
      suite.extractions.map((rule) => [rule, EXTRACTIONS[rule]]),
    );
    this.extraction.hidden = known || suite.extractions.length < 2;
    const set = setterOf(this.numbers, changed);
    const amount = (label, name, attributes) => {
      const input = number(null, set(name), { min: 1, step: 1, placeholder: "as below", "aria-label": `${label} of ${suite.title}`, ...attributes });
      return field(label, input);
    };
    this.own = h(
      "div",
      { class: "own-numbers" },
      known ? null : amount("Repetitions", "repeat", { max: MAX_REPETITIONS }),
      amount("Tasks, at most", "limit"),
      known ? null : amount("Temperature", "temperature", { min: 0, max: 2, step: 0.1, placeholder: "members’" }),
    );
    const source = h("a", { href: suite.source, target: "_blank", rel: "noreferrer noopener" }, "source");
    const licence = h("small", {}, `Licence: ${suite.licence} · `, source);
    this.data = h("div", { class: "data" }, this.kind, this.path, this.input, this.extraction, this.own, licence);
    const about = h("small", {}, `${domainName(suite.domain)} · ${suite.check}`);
    this.element = h("li", { class: "suite-row" }, h("label", {}, this.box, h("span", {}, h("b", {}, suite.title), " ", about)), this.data);
    update();
  }

  /** Read answers as a preset does; its repetitions are taken where none are entered. */
  choosePreset(preset) {
    this.extraction.value = preset && this.suite.extractions.includes("reference") ? "reference" : "lenient";
    for (const input of this.own.querySelectorAll("input[placeholder^=as]")) input.placeholder = preset ? "as in it" : "as below";
  }

  get chosen() {
    return this.box.checked;
  }

  get files() {
    return this.kind.value === "upload" ? [...this.input.files] : [];
  }

  get isSample() {
    return this.kind.value === "sample";
  }

  /** How many runs a member does of its sample, with the evaluation's numbers where it has none of its own. */
  sampleRuns({ limit, repetitions }) {
    return this.sampleTasks(limit) * (this.numbers.repeat ?? repetitions);
  }

  sampleTasks(limit) {
    return Math.min(this.suite.sampleTasks, this.numbers.limit ?? limit ?? Infinity);
  }

  missing() {
    const wrong = [...this.own.querySelectorAll("input")].find(({ validity }) => !validity.valid);
    if (wrong) return `${wrong.getAttribute("aria-label")}: ${wrong.validationMessage || "not a number in its range."}`;
    if (this.kind.value === "path" && !this.path.value.trim()) return `${this.suite.title}: enter the path of the data.`;
    return this.kind.value === "upload" && !this.files.length ? `${this.suite.title}: choose the files.` : "";
  }

  uploads() {
    return this.files.map((file) => ({ file, path: `${this.suite.name}/${file.name}` }));
  }

  request() {
    const { name } = this.suite;
    const path = this.kind.value === "path" ? this.path.value.trim() : "";
    const [upload = ""] = this.files.length > 1 ? [name] : this.uploads().map((each) => each.path);
    const { repeat, limit, temperature } = this.numbers;
    const own = { ...(repeat && { repeat }), ...(limit && { limit }), ...(temperature !== null && { parameters: { temperature } }) };
    return { name, ...(!this.extraction.hidden && { extraction: this.extraction.value }), path, upload, ...own };
  }
}
