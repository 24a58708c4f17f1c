// The dialog that starts an evaluation: suites and their data, members, repetitions, the judge.

import { h, loadStyles } from "../../core/dom.js";
import { apiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { plural } from "../../core/format.js";
import { openDialog } from "../../core/widgets/dialog.js";
import { domainName } from "../words.js";
import { field, judgeFields, number } from "./form.js";
import { judgeRequest } from "./member.js";
import { preflightScreen } from "./preflight.js";
import { keyOf, settingsUrl, StartForm } from "./start_form.js";

/** Open the dialog. */
export async function openEvaluateDialog() {
  await loadStyles("experiments/members/members.css");
  await new EvaluateDialog().load();
}

class EvaluateDialog extends StartForm {
  constructor() {
    super("evaluation", 1);
    this.rows = [];
    this.numbers = { repetitions: 1, atOnce: 4, limit: null };
    this.preset = "";
    this.judge = { model: "", baseUrl: settingsUrl(), prompt: "", apiKey: "", votes: 4 };
    this.suites = h("ul", { class: "suites", "aria-busy": "true" }, h("li", { class: "dim" }, "Loading the suites…"));
    const amount = (label, name, attributes) => {
      const set = (value) => {
        this.numbers[name] = value;
        this.update();
      };
      return field(label, number(this.numbers[name], set, { min: 1, step: 1, ...attributes }));
    };
    this.presetChoice = h(
      "select",
      { onchange: ({ target }) => this.choosePreset(target.value) },
      h("option", { value: "" }, "None"),
      h("option", { value: "paper" }, "As in the paper"),
    );
    this.repetitions = amount("Repetitions", "repetitions", { max: 64 });
    const votes = number(this.judge.votes, (value) => (this.judge.votes = value ?? 4), { min: 1, max: 20, step: 1 });
    this.judgeSection = h(
      "section",
      { hidden: true, "aria-label": "Judge" },
      h("h3", {}, "Judge"),
      h("p", {}, "Answers of the chosen suites are scored by a model."),
      h("div", { class: "judge" }, ...judgeFields(this.judge, () => this.update()), field("Votes", votes)),
    );
    this.form = h(
      "div",
      {},
      h("p", {}, "Tasks with known answers, for each member: plain and in the sandbox. Every run counts for quotas and limits."),
      h("h3", {}, "Suites"),
      this.suites,
      h("h3", {}, "Members"),
      h("div", { class: "compare-panel" }, this.editor.chips, this.editor.form),
      h("h3", {}, "Runs"),
      h(
        "div",
        { class: "numbers" },
        field("Preset", this.presetChoice),
        this.repetitions,
        amount("At once", "atOnce", { max: 512 }),
        amount("Tasks of a suite, at most", "limit", { placeholder: "all" }),
      ),
      this.judgeSection,
      h("div", { class: "end" }, this.status, h("button", { class: "plain", onclick: () => this.dialog.close() }, "Cancel"), this.startButton),
    );
    this.checks = h("div", { hidden: true });
    this.dialog = openDialog({ name: "evaluate", title: "Evaluate" }, this.form, this.checks);
    this.dialog.querySelector("h2").focus();
    this.editor.reset();
  }

  async load() {
    try {
      const { suites, paths } = await fetchJson(apiUrl("suites"));
      this.rows = suites.map((suite) => new SuiteRow(suite, paths, () => this.update()));
      this.suites.replaceChildren(...this.rows.map(({ element }) => element));
    } catch (error) {
      this.suites.replaceChildren(h("li", { class: "bad" }, error.message));
    }
    this.suites.removeAttribute("aria-busy");
    this.update();
  }

  get chosen() {
    return this.rows.filter(({ chosen }) => chosen);
  }

  /** Take a preset's settings; what is entered after that goes before them. */
  choosePreset(preset) {
    this.preset = preset;
    const input = this.repetitions.querySelector("input");
    input.placeholder = preset && "as in it";
    input.value = this.numbers.repetitions = preset ? null : 1;
    for (const row of this.rows) row.extraction.value = preset && row.suite.extractions.includes("reference") ? "reference" : "lenient";
    this.update();
  }

  /** Say how many runs this will be, or what is missing. */
  update() {
    if (this.starting || !this.rows.length) return;
    const { chosen } = this;
    this.judgeSection.hidden = !chosen.some(({ suite }) => suite.scorer === "judge");
    const missing = this.missing();
    this.startButton.disabled = Boolean(missing);
    if (missing) return this.setStatus(missing);
    const { repetitions, limit } = this.numbers;
    const known = repetitions && chosen.every((row) => row.isSample);
    const tasks = chosen.reduce((sum, { suite }) => sum + Math.min(suite.sampleTasks, limit ?? Infinity), 0);
    const runs = tasks * this.editor.members.length * repetitions;
    return this.setStatus(known ? `${plural(tasks, "task")}, ${plural(runs, "run")}.` : "");
  }

  missing() {
    const { repetitions, atOnce } = this.numbers;
    if (!this.chosen.length) return "Choose one or more suites.";
    const incomplete = this.chosen.map((row) => row.missing()).find(Boolean);
    if (incomplete) return incomplete;
    if (!(this.preset && repetitions === null) && !(Number.isInteger(repetitions) && repetitions > 0)) return "Repetitions: 1 or more.";
    if (!Number.isInteger(atOnce) || atOnce < 1) return "At once: 1 or more.";
    if (!this.judgeSection.hidden && !this.judge.model) return "Name the judge’s model.";
    return "";
  }

  async request() {
    const suites = this.chosen.map((row) => row.request());
    const judge = this.judgeSection.hidden ? null : judgeRequest(this.judge, keyOf);
    const { repetitions, ...numbers } = this.numbers;
    return { suites, ...numbers, ...(repetitions && { repetitions }), preset: this.preset, judge, inputs: await this.upload() };
  }

  /** Show what the server has checked and what the runs will take, and wait for an answer. */
  async confirm(request) {
    this.setStatus("Checking judge, models and disk…");
    const found = await fetchJson(apiUrl("evaluations/check"), { method: "POST", body: JSON.stringify(request) });
    const decided = await new Promise((decide) => {
      this.dialog.addEventListener("close", () => decide(false), { once: true });
      this.checks.replaceChildren(preflightScreen(found, decide));
      this.show(this.checks);
      this.checks.querySelector("h3").focus();
    });
    this.show(this.form);
    this.setStatus(decided ? "Starting…" : "");
    return decided;
  }

  /** Show the form or the checks. */
  show(part) {
    for (const each of [this.form, this.checks]) each.hidden = each !== part;
  }

  onStarted() {
    this.dialog.close();
  }

  /** Upload the chosen files into a draft; return its id, or "" without files. */
  async upload() {
    const files = this.chosen.flatMap((row) => row.uploads());
    if (!files.length) return "";
    const { run } = await fetchJson(apiUrl("runs"), { method: "POST", repeatable: true });
    for (const [at, { path, file }] of files.entries()) {
      this.setStatus(`Uploading file ${at + 1} of ${files.length}…`);
      await fetchJson(apiUrl(`runs/${run}/files/input/${path.split("/").map(encodeURIComponent).join("/")}`), { method: "PUT", body: file });
    }
    return run;
  }
}

/** How final answers are found in replies. */
const EXTRACTIONS = { lenient: "Final answers in any usual form", reference: "Final answers as the paper’s reward reads them" };

/** One suite: whether it is chosen, and where its data comes from. */
class SuiteRow {
  /** With `paths` the data may be on the server; `changed()` is called after each change. */
  constructor(suite, paths, changed) {
    this.suite = suite;
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
    this.extraction.hidden = suite.extractions.length < 2;
    const source = h("a", { href: suite.source, target: "_blank", rel: "noreferrer noopener" }, "source");
    const licence = h("small", {}, `Licence: ${suite.licence} · `, source);
    this.data = h("div", { class: "data" }, this.kind, this.path, this.input, this.extraction, licence);
    const about = h("small", {}, `${domainName(suite.domain)} · ${suite.check}`);
    this.element = h("li", { class: "suite-row" }, h("label", {}, this.box, h("span", {}, h("b", {}, suite.title), " ", about)), this.data);
    update();
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

  missing() {
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
    return { name, extraction: this.extraction.value, path, upload };
  }
}
