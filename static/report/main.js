// The script of a report, bundled into one file: the page's views of what the report's file contains.

import "../core/loading/language.js"; // before uPlot
import dompurify from "dompurify";
import uPlot from "uplot";
import { h, iconButton } from "../core/dom.js";
import { plural } from "../core/format.js";
import { currentRun, emit, on } from "../core/event_stream.js";
import { ExperimentPage } from "../experiments/page.js";
import { domainName } from "../experiments/words.js";
import { source } from "../core/loading/source.js";
import { stateLabel, stateTone } from "../core/run/run_states.js";
import { mountThemeButton } from "../core/theme.js";
import { openDialog } from "../core/widgets/dialog.js";
import "../present/present.js";
import { RunTimeline } from "../timeline/run_timeline.js";
import { mountWorkspace } from "../workspace/workspace.js";
import { GroupAnswers, readJson, RunAnswers, stateOf } from "./answers.js";
import { createKinds } from "./kinds.js";

const find = (selector) => document.querySelector(selector);

class ReportTimeline extends RunTimeline {
  constructor(root, record) {
    super(root);
    this.expandButton.before(iconButton("request", "Settings and versions", () => openSettings(record.settings), { class: "quiet" }));
    addEventListener("beforeprint", () => this.showWhole());
    addEventListener("keydown", (event) => this.onFindKey(event));
  }

  /** Search all of the run, of which the browser knows only what is near; pressed again, search as the browser does. */
  onFindKey(event) {
    const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event;
    if (key.toLowerCase() !== "f" || !(ctrlKey || metaKey) || altKey || shiftKey || target.closest("#workspace, dialog, .find")) return;
    event.preventDefault();
    this.search.openWithSelection();
  }

  /** Load and open all steps: a printed page has no scrolling and no buttons. */
  showWhole() {
    this.scrubber.goLive();
    for (const step of this.steps.values()) {
      step.nearby = true;
      step.show();
      step.load()?.then(() => step.expand(true));
    }
  }
}

/** Show what the run was carried out with, as [name, value]. */
function openSettings(settings) {
  const rows = settings.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value)));
  openDialog({ name: "settings-list", title: "Settings and versions", dismissible: true }, h("dl", {}, ...rows));
}

/** Let the page's views read from the report's file. */
function answerFrom(answers, textOf = (_file) => "") {
  Object.assign(source, {
    url: (path, query) => answers.url(path, query),
    fetch: (address, options) => answers.fetch(String(address), options),
    stream: (address) => answers.stream(address),
    bundled: { kinds: createKinds(textOf), libraries: { dompurify: { default: dompurify }, uplot: { uPlot } } },
  });
}

/** Show a run, its files and its moments; `prefix` begins the names of its blocks. */
function showRun(record, prefix = "") {
  const answers = new RunAnswers(record, prefix);
  answerFrom(answers, (file) => answers.textOf(file));
  const timeline = new ReportTimeline(find(".timeline"), record);
  on("notice", ({ text }) => timeline.addNote(text));
  mountWorkspace(find("#workspace"));
  currentRun.reset(record.state.state.run);
  emit("reset");
  currentRun.receive("read_only");
  currentRun.receive("state", stateOf(record));
  for (const note of record.notes) timeline.addNote(note);
  emit("update");
  currentRun.receive("workspace", {});
  const { status } = currentRun;
  showHeader(record.title, stateLabel(status), stateTone(status), status.model);
}

/** Show a run of an appendix, with the way back. */
function showChosen(run) {
  find(".app-header .title").before(h("a", { class: "quiet back", href: "#" }, "Back to the results"));
  showRun(readJson(`record-${run}`), `${run}-`);
}

/** The runs of an appendix, each of which opens in place of the results. */
function appendixOf(domains) {
  const row = ({ run, why, task_id: task, label, repetition, outcome, score, turns, tokens_once: tokens }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", dir: "auto" }, hasBlock(run) ? h("a", { href: `#run=${run}` }, `${task} · ${label} · ${repetition}`) : `${task} · ${label}`),
      h("td", {}, why),
      h("td", {}, score === null ? outcome : `${outcome}, ${score.toFixed(2)}`),
      h("td", { class: "num" }, plural(turns ?? 0, "turn")),
      h("td", { class: "num" }, tokens === null ? "tokens not known" : plural(tokens, "token")),
    );
  const tables = domains.flatMap(({ domain, runs }) => [h("h3", {}, domainName(domain)), h("table", {}, h("tbody", {}, ...runs.map(row)))]);
  return h("section", { class: "appendix", "aria-label": "Appendix" }, h("h2", {}, "Appendix: the shortest and the most different runs"), ...tables);
}

const hasBlock = (run) => Boolean(document.getElementById(`record-${run}`));

/** Show a comparison or an evaluation in place of a run. */
function showGroup({ kind, view, appendix = [] }) {
  answerFrom(new GroupAnswers(view));
  find("#studio").remove();
  document.documentElement.dataset.view = kind;
  const place = h("section", { class: `view ${kind}`, tabindex: "0", "aria-label": view.title });
  find("main.contain > .column").append(place);
  const runs = appendix.length ? appendixOf(appendix) : null;
  on("view", ({ title, state, detail }) => {
    showHeader(title, state.text, state.tone, detail);
    if (runs && !runs.isConnected) place.append(runs); // the page has drawn its parts
  });
  new ExperimentPage(kind, view.id, place, (text) => place.append(h("p", {}, text)));
}

function showHeader(title, label, tone, detail) {
  find(".title").replaceChildren(h("span", { dir: "auto", title }, title));
  find(".state .label").textContent = label;
  find(".state").dataset.tone = tone;
  find(".model").textContent = find(".model").title = detail;
  find(".model").hidden = !detail;
}

try {
  mountThemeButton(find(".theme"));
  const record = readJson("record");
  const chosen = new URLSearchParams(location.hash.slice(1)).get("run");
  addEventListener("hashchange", () => location.reload());
  if (chosen && hasBlock(chosen)) showChosen(chosen);
  else if (record.kind === "run") showRun(record);
  else showGroup(record);
} catch (error) {
  const { body } = new DOMParser().parseFromString(find("body > noscript").textContent, "text/html");
  document.body.replaceChildren(h("pre", { class: "plain" }, body.textContent));
  throw error;
}
