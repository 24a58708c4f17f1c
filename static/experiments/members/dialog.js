// The dialog that starts an evaluation: suites and their data, members, repetitions, the judge; and what grows one shares with it.

import { h, loadStyles } from "../../core/dom.js";
import { apiUrl } from "../../core/event_stream.js";
import { fetchJson } from "../../core/loading/fetch.js";
import { plural } from "../../core/format.js";
import { settingsKey } from "../../core/preferences.js";
import { openDialog } from "../../core/widgets/dialog.js";
import { field, judgeFields, judgeSettings, number, setterOf } from "./form.js";
import { emptyJudge, judgeRequest, MAX_REPETITIONS } from "./member.js";
import { preflightScreen } from "./preflight.js";
import { settingsUrl, StartForm } from "./start_form.js";
import { SuiteRow } from "./suite_row.js";

/** Open the dialog. */
export async function openEvaluateDialog() {
  await loadStyles("experiments/members/members.css");
  await new EvaluateDialog().load();
}

/** The suites, the members and the judge of an evaluation; subclasses say what it is for. */
export class EvaluationDialog extends StartForm {
  constructor(least) {
    super("evaluation", least);
    this.rows = [];
    this.numbers = { limit: null };
    this.preset = "";
    this.judge = emptyJudge({ baseUrl: settingsUrl(), votes: 4 });
    this.suites = h("ul", { class: "suites", "aria-busy": "true" }, h("li", { class: "dim" }, "Loading the suites…"));
    const votes = number(this.judge.votes, (value) => (this.judge.votes = value ?? 4), { min: 1, max: 20, step: 1 });
    this.judgeSection = h(
      "section",
      { hidden: true, "aria-label": "Judge" },
      h("h3", {}, "Judge"),
      h("p", {}, "Answers of the chosen suites are scored by a model."),
      h("div", { class: "judge" }, ...judgeFields(this.judge, () => this.update()), field("Votes", votes), ...judgeSettings(this.judge, () => this.update())),
    );
    this.runs = h("div", { class: "numbers" });
    this.about = h("p", { class: "preset-about", hidden: true });
    this.form = h("div", {});
    this.checks = h("div", { hidden: true });
  }

  /** Open it; `intro` is above the suites, `members` between the headings of members and runs. */
  open(title, intro, members) {
    this.form.append(
      h("p", {}, intro),
      h("h3", {}, "Suites"),
      this.suites,
      h("h3", {}, "Members"),
      ...members,
      h("div", { class: "compare-panel" }, this.editor.chips, this.editor.form),
      h("h3", {}, "Runs"),
      this.runs,
      this.about,
      this.judgeSection,
      h("div", { class: "end" }, this.status, h("button", { class: "plain", onclick: () => this.dialog.close() }, "Cancel"), this.startButton),
    );
    this.dialog = openDialog({ name: "evaluate", title }, this.form, this.checks);
    this.dialog.querySelector("h2").focus();
  }

  /** A field of a number that holds for all suites. */
  amount(label, name, attributes) {
    const set = setterOf(this.numbers, () => this.update());
    return field(label, number(this.numbers[name], set(name), { min: 1, step: 1, ...attributes }));
  }

  /** Where the server checks a request before it is sent. */
  get checkUrl() {
    return apiUrl("evaluations/check");
  }

  /** The names of suites whose settings stay. */
  get known() {
    return [];
  }

  get needsJudge() {
    return this.chosen.some(({ suite }) => suite.scorer === "judge");
  }

  async load() {
    try {
      const { suites, paths } = await fetchJson(apiUrl("suites"));
      this.rows = suites.map((suite) => new SuiteRow(suite, { paths, known: this.known.includes(suite.name), changed: () => this.update() }));
      for (const row of this.rows) row.choosePreset(this.preset); // it may have been chosen before they came
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

  /** Say how many runs this will be, or what is missing. */
  update() {
    if (this.starting || !this.rows.length) return;
    this.judgeSection.hidden = !this.needsJudge;
    const missing = this.missing();
    this.startButton.disabled = Boolean(missing);
    this.setStatus(missing || this.sizeText());
  }

  sizeText() {
    return "";
  }

  missing() {
    const incomplete = this.chosen.map((row) => row.missing()).find(Boolean);
    if (incomplete) return incomplete;
    return this.judgeSection.hidden ? "" : judgeMissing(this.judge);
  }

  /** What it asks for besides members; uploads files first. */
  async request() {
    const suites = this.chosen.map((row) => row.request());
    const judge = this.judgeSection.hidden ? null : judgeRequest(this.judge, settingsKey);
    return { suites, limit: this.numbers.limit, judge, inputs: await this.upload() };
  }

  /** Show what the server has checked and what the runs will take, and wait for an answer. */
  async confirm(request) {
    this.setStatus("Checking judge, models and disk…");
    const found = await fetchJson(this.checkUrl, { method: "POST", body: JSON.stringify(request) });
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

  onStarted() {
    this.dialog.close();
  }
}

/** What a judge lacks; empty if nothing. */
function judgeMissing({ model, prompt, right, wrong }) {
  if (!model) return "Name the judge’s model.";
  const lacking = ["{expected}", "{answer}"].filter((each) => !prompt.includes(each));
  if (prompt && lacking.length) return `The judge’s prompt must contain ${lacking.join(" and ")}.`;
  if (Boolean(right) !== Boolean(wrong)) return "The judge has two words: one for right and one for wrong.";
  return right && !prompt ? "The judge’s own words need a prompt that asks for them." : "";
}

const PRESET_ABOUT =
  "Tasks, repetitions, limits, temperatures, prompts, reading of answers and judge as in the paper. What you enter goes first; what departs from the paper is said before the start and below the table.";

class EvaluateDialog extends EvaluationDialog {
  constructor() {
    super(1);
    Object.assign(this.numbers, { repetitions: 1, atOnce: 4 });
    this.presetChoice = h(
      "select",
      { onchange: ({ target }) => this.choosePreset(target.value) },
      h("option", { value: "" }, "None"),
      h("option", { value: "paper" }, "As in the paper"),
    );
    this.repetitions = this.amount("Repetitions", "repetitions", { max: MAX_REPETITIONS });
    this.about.textContent = PRESET_ABOUT;
    this.runs.append(
      field("Preset", this.presetChoice),
      this.repetitions,
      this.amount("At once", "atOnce", { max: 512 }),
      this.amount("Tasks of a suite, at most", "limit", { placeholder: "all" }),
    );
    this.open("Evaluate", "Tasks with known answers, for each member: plain and in the sandbox. Every run counts for quotas and limits.", []);
    this.editor.reset();
  }

  /** Take a preset's settings; what is entered after that goes before them. */
  choosePreset(preset) {
    this.preset = preset;
    this.about.hidden = !preset;
    const input = this.repetitions.querySelector("input");
    input.placeholder = preset && "as in it";
    input.value = this.numbers.repetitions = preset ? null : 1;
    for (const row of this.rows) row.choosePreset(preset);
    this.update();
  }

  sizeText() {
    const { repetitions, limit } = this.numbers;
    if (!repetitions || !this.chosen.every((row) => row.isSample)) return "";
    const tasks = this.chosen.reduce((sum, row) => sum + row.sampleTasks(limit), 0);
    const runs = this.chosen.reduce((sum, row) => sum + row.sampleRuns(this.numbers), 0) * this.editor.members.length;
    return `${plural(tasks, "task")}, ${plural(runs, "run")}.`;
  }

  missing() {
    const { repetitions, atOnce } = this.numbers;
    if (!this.chosen.length) return "Choose one or more suites.";
    if (!(this.preset && repetitions === null) && !(Number.isInteger(repetitions) && repetitions > 0)) return "Repetitions: 1 or more.";
    if (!Number.isInteger(atOnce) || atOnce < 1) return "At once: 1 or more.";
    return super.missing();
  }

  async request() {
    const { repetitions, atOnce } = this.numbers;
    return { ...(await super.request()), atOnce, ...(repetitions && { repetitions }), preset: this.preset };
  }
}
