// Actions on an experiment: present, stop, resume, export, share, delete, retry; and the keys to continue with.

import { h, hasChanged } from "../core/dom.js";
import { emit } from "../core/event_stream.js";
import { closeMenu, openMenu } from "../core/widgets/menu.js";
import { plural } from "../core/format.js";
import { singleUser } from "../core/instance.js";
import { settingsKey } from "../core/preferences.js";
import { openShareDialog } from "../core/run/share.js";
import { leave } from "../core/view.js";
import { openDeletion } from "./deletion.js";

const NARROW = matchMedia("(max-width: 900px)");

const EXPORTS = [
  ["html", "Report", "HTML"],
  ["tex", "Tables", "LaTeX"],
  ["md", "Tables", "Markdown"],
  ["csv", "All figures", "CSV"],
  ["svg", "Chart", "SVG"],
  ["pdf", "Chart", "PDF"],
  ["png", "Chart", "PNG"],
  ["runs.csv", "Runs", "CSV"],
  ["runs.jsonl", "Runs", "JSON Lines"],
  ["runs.parquet", "Runs", "Parquet"],
  ["provenance.json", "Provenance", "JSON"],
  ["json", "Everything", "JSON"],
  ["zip", "All of these", "ZIP"],
];
/** What only an evaluation has, after its runs. */
const OF_TASKS = [
  ["appendix.html", "Appendix", "HTML"],
  ["tasks.csv", "Tasks", "CSV"],
  ["tasks.tex", "Tasks", "LaTeX"],
  ["answers.csv", "Answers about runs", "CSV"],
];

/** Disable an action on what another process carries out, with the sentence that says so. */
function showElsewhere(button, elsewhere) {
  button.disabled = Boolean(elsewhere);
  button.classList.toggle("owner-only", !elsewhere);
  if (elsewhere) button.setAttribute("aria-describedby", "elsewhere");
  else button.removeAttribute("aria-describedby");
}

export class Tools {
  /** `page` has `kind`, `url(path)`, `act(path)` and `proceed(path)`. */
  constructor(page) {
    this.page = page;
    const noun = page.kind;
    const button = (name, label, onclick, attributes = {}) => h("button", { class: `quiet ${name}`, onclick, ...attributes }, label);
    this.stop = button("stop-all owner-only", "Stop", () => page.act("stop"), { hidden: true, "aria-label": `Stop the ${noun}` });
    this.resume = button("resume owner-only", "Resume", () => page.proceed("resume"), { hidden: true, title: "Start the runs that are missing" });
    const present = button("present", "Present ", () => emit("present"), { "aria-keyshortcuts": "p", title: "Present (p)" });
    present.append(h("kbd", {}, "p"));
    const kinds = noun === "evaluation" ? EXPORTS.toSpliced(-3, 0, ...OF_TASKS) : EXPORTS;
    const items = () => kinds.map(([kind, text, note]) => ({ text, note, href: page.url(`export.${kind}${page.k ? `?k=${page.k}` : ""}`) }));
    const exportButton = button("export", "Export", () => openMenu(items(), exportButton), { "aria-haspopup": "menu", "aria-expanded": "false" });
    const share = singleUser ? null : button("share owner-only", "Share", () => this.share());
    this.deleteButton = button("delete owner-only", "Delete", () => this.remove(), { "aria-label": `Delete the ${noun}` });
    this.add = button("add owner-only", "Add…", () => this.extend(), { hidden: true, title: "Add members or tasks" });
    this.merge = button("merge owner-only", "Merge…", () => this.openMerge(), { hidden: true, title: "Make one table of several evaluations" });
    const tools = [this.stop, this.resume, this.add, this.merge, present, exportButton, share, this.deleteButton];
    this.element = h("div", { class: "comparison-tools", role: "group", "aria-label": `Actions on the ${noun}` }, ...tools);
    this.narrow = h("div", { class: "narrow-tools" });
    this.onWidth = () => this.arrange();
    NARROW.addEventListener("change", this.onWidth);
    this.arrange();
  }

  /** Place the tools in the header, or above the task where the page is narrow. */
  arrange() {
    if (NARROW.matches) this.narrow.append(this.element);
    else document.querySelector(".app-header .new").before(this.element);
  }

  /** `elsewhere` says which other process carries it out: its actions are shown, but disabled. */
  show({ state, canEdit, canResume, elsewhere = "", suites, merged }) {
    this.stop.hidden = !(canEdit || elsewhere) || state !== "running";
    this.resume.hidden = !(canEdit || elsewhere) || !canResume;
    showElsewhere(this.stop, elsewhere);
    showElsewhere(this.resume, elsewhere);
    this.deleteButton.hidden = !canEdit || state === "running";
    this.add.hidden = this.merge.hidden = !suites || !canEdit || state === "running";
    this.add.hidden ||= merged;
  }

  async extend() {
    const { openExtendDialog } = await import("./members/extend.js");
    return openExtendDialog(this.page, new EndpointKeys());
  }

  async openMerge() {
    const { openMergeDialog } = await import("./merge.js");
    return openMergeDialog(this.page.experiment);
  }

  share() {
    const noun = this.page.kind;
    return openShareDialog({
      url: this.page.url,
      title: `Share this ${noun}`,
      text: `Anyone with the link can view this ${noun}, its runs and their files, including what is added later, but cannot change anything.`,
    });
  }

  remove() {
    const { kind } = this.page;
    return openDeletion(kind, this.page.url(""), () => {
      leave();
      emit("notice", { text: `The ${kind} was deleted.` });
    });
  }

  close() {
    closeMenu(false);
    NARROW.removeEventListener("change", this.onWidth);
    this.element.remove();
  }
}

/** What is not counted in the figures, and the button that starts failed runs again. */
export class NotCounted {
  constructor(page) {
    this.retry = h("button", { class: "inline owner-only", onclick: () => page.proceed("retry-infrastructure") }, "Retry infrastructure errors");
    this.element = h("p", { class: "apart-line", hidden: true });
  }

  show({ counts, suites, expected, canRetry, elsewhere }) {
    const apart = [
      counts.infrastructure ? `${plural(counts.infrastructure, "run")} failed by infrastructure errors` : "",
      counts.unscored && (suites || expected) ? `${plural(counts.unscored, "answer")} without a score` : "",
    ].filter(Boolean);
    this.element.hidden = !apart.length;
    this.retry.hidden = !canRetry && !(elsewhere && counts.infrastructure);
    showElsewhere(this.retry, elsewhere);
    this.element.replaceChildren(`${apart.join(", ")}: not counted in the scores. `, this.retry);
  }
}

/** The API keys with which an experiment is continued; the server does not store them. */
export class EndpointKeys {
  constructor() {
    this.typed = new Map(); // endpoint → key
    this.fields = h("div", { class: "fields" });
    this.element = h(
      "details",
      { class: "endpoint-keys owner-only", hidden: true },
      h("summary", {}, "API keys of other endpoints"),
      h("p", { class: "dim" }, "The server does not store keys. Before you continue, enter those of endpoints that are not in your settings."),
      this.fields,
    );
  }

  /** Show a field for each endpoint that is not the settings', while there is something to continue. */
  show({ members, judge, expected, canEdit, canResume, canRetry, elsewhere }) {
    this.members = members;
    this.judgeUrl = (judge ?? expected?.judge)?.baseUrl ?? "";
    const urls = [...new Set([...members.map(({ settings }) => settings.baseUrl), this.judgeUrl])].filter((url) => url && !settingsKey(url));
    this.element.hidden = !canEdit || Boolean(elsewhere) || !(canResume || canRetry) || !urls.length;
    if (!hasChanged(this, urls)) return;
    this.fields.replaceChildren(...urls.map((url) => h("label", { class: "field" }, h("span", { dir: "ltr" }, url), this.input(url))));
  }

  input(url) {
    const oninput = ({ target }) => this.typed.set(url, target.value.trim());
    return h("input", { type: "password", autocomplete: "off", spellcheck: "false", placeholder: "API key", value: this.typed.get(url) ?? "", oninput });
  }

  keyOf(url) {
    return this.typed.get(url) || settingsKey(url ?? "");
  }

  /** The keys of members and the judge, as the server takes them. */
  request() {
    const members = this.members.map(({ index, settings }) => ({ index, apiKey: this.keyOf(settings.baseUrl) }));
    return { members, judgeApiKey: this.judgeUrl && this.keyOf(this.judgeUrl) };
  }
}
