// The dialog that starts an evaluation: suites and their data, members, repetitions, the judge.

import { MemberEditor } from "../compare/members/editor.js";
import { field, judgeFields, number } from "../compare/members/form.js";
import { judgeRequest, memberRequest } from "../compare/members/member.js";
import { h, loadStyles } from "../core/dom.js";
import { apiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { plural } from "../core/format.js";
import { currentSettings, settingsKey } from "../core/preferences.js";
import { openDialog } from "../core/widgets/dialog.js";
import { showEvaluation } from "./open.js";
import { domainName } from "./words.js";

/** Open the dialog. */
export async function openEvaluateDialog() {
  await Promise.all([loadStyles("evaluations/evaluations.css"), loadStyles("compare/members/panel.css")]);
  await new EvaluateDialog().load();
}

class EvaluateDialog {
  constructor() {
    this.rows = [];
    this.starting = false;
    this.numbers = { repetitions: 1, atOnce: 4, limit: null };
    this.judge = { model: "", baseUrl: (currentSettings().base_url ?? "").trim(), prompt: "", apiKey: "", votes: 4 };
    this.editor = new MemberEditor({ least: 1, changed: () => this.update() });
    this.suites = h("ul", { class: "suites", "aria-busy": "true" }, h("li", { class: "dim" }, "Loading the suites…"));
    this.judgePlace = h("div", { class: "judge" });
    this.judgeSection = h(
      "section",
      { hidden: true, "aria-label": "Judge" },
      h("h3", {}, "Judge"),
      h("p", {}, "Answers of the chosen suites are scored by a model."),
      this.judgePlace,
    );
    this.status = h("p", { role: "status" });
    this.startButton = h("button", { class: "plain start", onclick: () => this.start() }, "Start evaluation");
    const set = (name) => (value) => {
      this.numbers[name] = value;
      this.update();
    };
    this.dialog = openDialog(
      { name: "evaluate", title: "Evaluate" },
      h("p", {}, "Tasks with known answers, for each member: plain and in the sandbox. Every run counts for quotas and limits."),
      h("h3", {}, "Suites"),
      this.suites,
      h("h3", {}, "Members"),
      h("div", { class: "compare-panel" }, this.editor.chips, this.editor.form),
      h("h3", {}, "Runs"),
      h(
        "div",
        { class: "numbers" },
        field("Repetitions", number(1, set("repetitions"), { min: 1, max: 64, step: 1 })),
        field("At once", number(4, set("atOnce"), { min: 1, max: 512, step: 1 })),
        field("Tasks of a suite, at most", number(null, set("limit"), { min: 1, step: 1, placeholder: "all" })),
      ),
      this.judgeSection,
      h("div", { class: "end" }, this.status, h("button", { class: "plain", onclick: () => this.dialog.close() }, "Cancel"), this.startButton),
    );
    this.judgePlace.append(
      ...judgeFields(this.judge, () => this.update()),
      field(
        "Votes",
        number(4, (value) => (this.judge.votes = value ?? 4), { min: 1, max: 20, step: 1 }),
      ),
    );
    this.dialog.querySelector("h2").focus();
    this.editor.reset();
  }

  async load() {
    try {
      const { suites, paths } = await fetchJson(apiUrl("suites"));
      this.rows = suites.map((suite) => new SuiteRow(suite, { paths, changed: () => this.update() }));
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
    const { chosen } = this;
    this.judgeSection.hidden = !chosen.some(({ suite }) => suite.scorer === "judge");
    const missing = this.missing();
    this.startButton.disabled = Boolean(missing);
    if (missing) return this.setStatus(missing);
    const { repetitions, limit } = this.numbers;
    const known = chosen.every((row) => row.isSample);
    const tasks = chosen.reduce((sum, { suite }) => sum + Math.min(suite.sampleTasks, limit ?? Infinity), 0);
    const runs = tasks * this.editor.members.length * repetitions;
    return this.setStatus(known ? `${plural(tasks, "task")}, ${plural(runs, "run")}.` : "");
  }

  missing() {
    const { repetitions, atOnce } = this.numbers;
    if (!this.chosen.length) return "Choose one or more suites.";
    const incomplete = this.chosen.map((row) => row.missing()).find(Boolean);
    if (incomplete) return incomplete;
    if (!Number.isInteger(repetitions) || repetitions < 1) return "Repetitions: 1 or more.";
    if (!Number.isInteger(atOnce) || atOnce < 1) return "At once: 1 or more.";
    if (!this.judgeSection.hidden && !this.judge.model) return "Name the judge’s model.";
    return "";
  }

  setStatus(text, bad = false) {
    this.status.textContent = text;
    this.status.classList.toggle("bad", bad);
  }

  async start() {
    const keyUrl = (currentSettings().base_url ?? "").trim();
    const key = settingsKey(keyUrl);
    const { repetitions, atOnce, limit } = this.numbers;
    this.starting = true;
    this.startButton.disabled = true;
    this.setStatus("Starting…");
    try {
      const draft = await this.upload();
      const body = {
        suites: this.chosen.map((row) => row.request()),
        members: this.editor.members.map((member) => memberRequest(member, key, keyUrl)),
        repetitions,
        atOnce,
        ...(limit ? { limit } : {}),
        ...(draft ? { inputs: draft } : {}),
        ...(this.judgeSection.hidden ? {} : { judge: judgeRequest(this.judge, key, keyUrl) }),
      };
      const { id } = await fetchJson(apiUrl("evaluations"), { method: "POST", body: JSON.stringify(body) });
      this.dialog.close();
      await showEvaluation(id);
    } catch (error) {
      this.setStatus(error.message, true);
    } finally {
      this.starting = false;
      this.startButton.disabled = false;
    }
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
  constructor(suite, { paths, changed }) {
    this.suite = suite;
    this.files = [];
    const box = h("input", { type: "checkbox", onchange: () => this.choose(box.checked) });
    this.changed = changed;
    this.chosen = false;
    const options = [
      suite.sampleTasks ? ["sample", `Sample: ${plural(suite.sampleTasks, "task")} of this project`] : null,
      ["upload", "Upload the authors’ data"],
      paths ? ["path", "The authors’ data on the server"] : null,
    ].filter(Boolean);
    this.kind = h(
      "select",
      { "aria-label": `Data of ${suite.title}`, onchange: () => this.showKind() },
      ...options.map(([value, label]) => h("option", { value }, label)),
    );
    this.path = h("input", {
      type: "text",
      placeholder: "/path/to/the/data",
      "aria-label": `Path of ${suite.title} on the server`,
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => changed(),
    });
    this.input = h("input", { type: "file", multiple: true, "aria-label": `Files of ${suite.title}`, onchange: () => this.onFiles() });
    const source = h("a", { href: suite.source, target: "_blank", rel: "noreferrer noopener" }, "source");
    this.extraction = h(
      "select",
      { "aria-label": `Final answers of ${suite.title}`, hidden: suite.extractions.length < 2 },
      ...suite.extractions.map((rule) => h("option", { value: rule }, EXTRACTIONS[rule])),
    );
    const licence = h("small", {}, `Licence: ${suite.licence} · `, source);
    this.data = h("div", { class: "data", hidden: true }, this.kind, this.path, this.input, this.extraction, licence);
    this.element = h(
      "li",
      { class: "suite-row" },
      h("label", {}, box, h("span", {}, h("b", {}, suite.title), " ", h("small", {}, `${domainName(suite.domain)} · ${suite.check}`))),
      this.data,
    );
    this.showKind();
  }

  get isSample() {
    return this.kind.value === "sample";
  }

  choose(chosen) {
    this.chosen = chosen;
    this.data.hidden = !chosen;
    this.changed();
  }

  showKind() {
    this.path.hidden = this.kind.value !== "path";
    this.input.hidden = this.kind.value !== "upload";
    if (this.chosen) this.changed();
  }

  onFiles() {
    this.files = [...this.input.files];
    this.changed();
  }

  missing() {
    if (this.kind.value === "path" && !this.path.value.trim()) return `${this.suite.title}: enter the path of the data.`;
    if (this.kind.value === "upload" && !this.files.length) return `${this.suite.title}: choose the files.`;
    return "";
  }

  uploads() {
    return this.kind.value === "upload" ? this.files.map((file) => ({ file, path: `${this.suite.name}/${file.name}` })) : [];
  }

  request() {
    const { name } = this.suite;
    const request = { name, extraction: this.extraction.value };
    if (this.isSample) return request;
    if (this.kind.value === "path") return { ...request, path: this.path.value.trim() };
    return { ...request, upload: this.files.length === 1 ? `${name}/${this.files[0].name}` : name };
  }
}
