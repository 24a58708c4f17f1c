// One tool call: summary line, command, live output and result.

import { ArgumentReader, isObject } from "./text/json_stream.js";
import { Approval } from "../steering/approval.js";
import { ObservationEdit } from "../steering/observation.js";
import { GrowingText, copyText, followEnd, h, icon } from "../core/dom.js";
import { formatBytes, formatElapsed, formatNumber, plural, formatSeconds } from "../core/format.js";
import { highlightCommand, highlightFile } from "./text/highlight.js";
import { markHidden, withHiddenMarked } from "../core/text/hidden_characters.js";
import { linkFiles } from "../core/run/file_links.js";
import { PictureList } from "./pictures.js";

const MAX_HOSTS = 6; // listed under a command
const TAIL_LINES = 4; // output lines shown on a collapsed card
const MAX_TAIL_LENGTH = 300; // characters of one of them

const STREAMED_ARGUMENTS = new Set(["command", "file_text", "new_str", "old_str"]); // arguments shown while streaming
const END_REASON_LABELS = {
  timeout: "time limit",
  stop: "stopped",
  lost: "sandbox lost",
  full: "disk full",
  cut: "interrupted",
};

export class ToolCard {
  constructor(name, run) {
    this.name = name;
    this.run = run;
    this.callSummary = h("code", { class: "call-summary" }, name);
    this.state = h("span", { class: "state num" });
    this.summary = h("summary", {}, icon("caret"), this.callSummary, this.state);
    this.body = h("div", { class: "card-body" });
    this.element = h("details", { class: "card" }, this.summary, this.body);
    this.summary.addEventListener("click", () => (this.toggled = true));
    this.element.addEventListener("toggle", () => this.link());
    this.ended = false;
    this.newlines = 0;
    this.arguments = {};
    this.draft = { command: "", path: "" }; // as far as the call has been streamed
    this.raw = null;
    this.approval = null; // of a call that waits for the user, or has waited
    this.observation = null; // of an ended call: what the user lets the model see of it
    this.fullOutputs = new Map(); // by stream
    /** @type {PictureList | null} */
    this.pictures = null; // that the model got with the result
  }

  /** A card with its summary only, and the user's decision on the call, if there was one. */
  static fromSummary(summary, run, decision = "") {
    const card = new ToolCard(summary.name, run);
    card.id = summary.id;
    card.showSummary(summary.summary);
    card.element.classList.toggle("plain", summary.name === "submit");
    card.markReviewed(decision);
    if (summary.observation_edited) card.markObservationEdited();
    summary.end_reason ? card.finish(summary) : card.interrupt();
    return card;
  }

  get isEditor() {
    return this.name === "str_replace_editor";
  }

  /** The summary line; added and removed line counts of an edit are coloured. */
  showSummary(summary) {
    const text = withHiddenMarked(summary);
    if (!this.isEditor) return this.callSummary.replaceChildren(text);
    const [, title, added, removed] = text.match(/^(.*?)( \+\d+)?( −\d+)?$/s);
    this.callSummary.replaceChildren(title);
    if (added) this.callSummary.append(h("span", { class: "add" }, added));
    if (removed) this.callSummary.append(h("span", { class: "del" }, removed));
    return undefined;
  }

  /** Handle a chunk of the streaming call. */
  append(piece) {
    if (!this.reader) {
      this.element.open = true;
      this.element.classList.add("writing");
      this.state.textContent = "writing";
      this.createProgram();
      this.reader = new ArgumentReader((name, text) => this.addDraft(name, text));
    }
    this.reader.feed(piece);
  }

  addDraft(name, text) {
    if (this.isEditor && (name === "command" || name === "path")) return this.addDraftSummary(name, text);
    if (!STREAMED_ARGUMENTS.has(name)) return undefined;
    this.appendProgram([[text, name === "old_str" ? "del" : name === "new_str" ? "add" : ""]]);
    return this.followProgram();
  }

  /** Show an edit's command and path, in whichever order they arrive. */
  addDraftSummary(name, text) {
    this.draft[name] += text;
    const { command, path } = this.draft;
    this.callSummary.textContent = withHiddenMarked([command, path.replace(/^\/workspace\//, "")].filter(Boolean).join(" "));
  }

  /** The call waits for the user's decision. */
  ask(event) {
    this.id = event.call_id;
    this.name = event.name;
    this.arguments = event.arguments;
    this.element.classList.remove("writing");
    this.element.classList.add("asks");
    this.element.open = true;
    this.state.textContent = "waiting for approval";
    this.showSummary(event.summary);
    this.showArguments();
    this.approval = new Approval(this, event);
    this.body.append(this.approval.element);
    this.approval.watchEnds();
  }

  /** The user has decided. */
  review(event) {
    this.element.classList.remove("asks");
    this.state.textContent = "";
    this.approval?.review(event);
    this.markReviewed(event.decision);
  }

  /** Mark a call that was not executed as the model made it. */
  markReviewed(decision) {
    this.denied = decision === "denied";
    if (decision === "edited") this.state.before(h("span", { class: "reviewed" }, "edited"));
  }

  /** The user has edited what the model sees as the result. */
  editObservation(event) {
    this.observation?.apply(event);
    const view = this.body.querySelector("pre.observation");
    if (view) view.textContent = event.observation;
    this.markObservationEdited();
  }

  markObservationEdited() {
    if (this.summary.querySelector(".result-edited")) return;
    this.state.before(h("span", { class: "reviewed result-edited" }, "result edited"));
  }

  /** The execution starts. */
  start(event) {
    this.id = event.call_id;
    this.name = event.name;
    this.arguments = event.arguments;
    this.startedAt = event.at;
    this.element.classList.remove("writing");
    this.element.classList.add("run");
    if (event.name === "submit") this.element.classList.add("plain");
    else this.element.open = true;
    this.showSummary(event.summary);
    this.showArguments();
    this.bar = h("div", { class: "busy-bar", role: "presentation" });
    this.body.append(this.bar);
    this.tick();
  }

  showArguments() {
    const { command, file_text: content, old_str: before, new_str: after, path } = this.arguments;
    if (this.name === "execute_bash") return this.showProgram(["$ ", "prompt"], ...highlightCommand(String(command ?? "")));
    if (content !== undefined) return this.showProgram(...highlightFile(String(content), String(path)));
    if (after === undefined) return this.pre?.remove();
    this.showProgram(...diffLines(before, "del"), ...diffLines(after, "add"));
  }

  /** Show the raw arguments of an invalid call. */
  showRaw() {
    if (!this.raw || (isObject(this.raw) && (this.program?.size || this.raw === "{}"))) return;
    this.showProgram([this.raw, ""]);
    this.pre.setAttribute("aria-label", "Raw arguments");
  }

  /** Show the executed program, in pieces of [text, kind]. */
  showProgram(...pieces) {
    this.createProgram();
    this.program.clear();
    this.appendProgram(pieces);
    this.pre.scrollTop = 0;
  }

  appendProgram(pieces) {
    for (const [text, kind] of markHidden(pieces)) this.program.append(text, kind);
  }

  createProgram() {
    if (this.pre) return;
    this.pre = h("pre", { class: "program", tabindex: "0", "aria-label": "Command" });
    this.program = new GrowingText(this.pre, { maxLength: Infinity }); // whoever approves it sees all of it
    this.followProgram = followEnd(this.pre);
    this.body.prepend(this.pre);
  }

  output(event) {
    const output = this.outputText();
    if (event.skipped) output.append(`\n… ${formatBytes(event.skipped)} omitted …\n`, "dim");
    output.append(event.text, event.stream === "stderr" ? "error" : "");
    this.newlines += event.text.split("\n").length - 1;
    if (event.output_file) this.addFullOutput(event.output_file, event.stream);
    this.followOutput();
  }

  outputText() {
    if (!this.out) {
      const pre = h("pre", { class: "output", tabindex: "0", "aria-label": "Output" });
      this.out = new GrowingText(pre, { onTrim: (count) => this.showTrimmed(count) });
      this.followOutput = followEnd(pre);
      this.pre ? this.pre.after(pre) : this.body.prepend(pre);
      this.outputElement = pre;
    }
    return this.out;
  }

  showTrimmed(count) {
    this.trimNote ??= h("div", { class: "truncated" });
    this.trimNote.textContent = `${formatNumber(count)} earlier characters are not shown`;
    this.outputElement.before(this.trimNote);
  }

  /** Link to the full output, stored next to the journal. */
  addFullOutput(name, stream) {
    this.fullOutputs.set(stream, name);
    this.long = true;
  }

  tick() {
    if (this.ended || !this.startedAt) return;
    this.state.textContent = `running ${formatElapsed(this.run.shownTime() - this.startedAt)}`;
  }

  end(event) {
    this.id ??= event.call_id;
    this.finish(event);
    if (!this.startedAt) this.showRaw();
    if (this.pre && !this.program.size) {
      this.pre.remove();
      this.pre = null;
    }
    this.requests = event.requests ?? [];
    const executed = this.name === "execute_bash" && (event.exit_code !== null || event.end_reason !== "exit");
    const showsResult = !this.out && event.observation && !this.silentOnSuccess && !executed && !this.denied;
    if (showsResult) this.showResult(event);
    this.showPictures(event);
    this.observation = new ObservationEdit(this, event.observation);
    this.addFooter(event, showsResult ? null : event.observation);
    this.body.append(this.observation.element);
    if (this.name === "execute_bash") this.showTail();
    if (this.failed && !this.toggled) this.element.open = true;
  }

  /** Show the pictures that the model gets with the result; a card with some stays open. */
  showPictures({ call_id: id, pictures = [] }) {
    if (!pictures.length) return;
    const known = this.run.pictures.ofCall(id);
    const looks = pictures.map((picture, at) => known[at] ?? { where: "call", step: 0, round: 0, call_id: id, picture, dropped: null });
    this.pictures = new PictureList(this.run, looks);
    this.body.append(this.pictures.element);
    if (!this.toggled) this.element.open = true;
  }

  /** Whether the card needs no result text if the call succeeded. */
  get silentOnSuccess() {
    if (this.isEditor) return !this.failed && this.arguments.command !== "view";
    return !this.failed && ["execute_bash", "submit"].includes(this.name);
  }

  /** Show the result of a call without other output: a viewed file, or the reason for a refusal. */
  showResult(event) {
    const text = event.observation.replace(/^Execution output of \[[\w-]+\]:\n/, "");
    this.outputText().append(text, event.ok ? "" : "error");
    this.newlines = text.split("\n").length - 1;
    this.outputElement.scrollTop = 0;
  }

  /** Show the last output lines, visible while the card is collapsed. */
  showTail() {
    const lines = this.outputElement?.textContent.trimEnd().split("\n").slice(-TAIL_LINES) ?? [];
    if (!lines.join("").trim()) return;
    this.tail = h("span", { class: "tail" }, lines.map((line) => withHiddenMarked(line.slice(0, MAX_TAIL_LENGTH))).join("\n"));
    this.summary.append(this.tail);
  }

  finish({ ok, exit_code: exit, end_reason: reason, seconds: duration }) {
    this.ended = true;
    this.failed = !ok || (exit !== null && exit !== 0) || reason !== "exit";
    this.bar?.remove();
    this.approval?.cancel();
    this.element.classList.remove("run", "writing", "asks");
    this.element.classList.toggle("failed", this.failed);
    if (this.failed && this.isEditor) this.callSummary.querySelectorAll(".add, .del").forEach((count) => count.remove());
    const time = duration >= 0.05 ? formatSeconds(duration) : "";
    const outcome = this.denied ? "denied" : (END_REASON_LABELS[reason] ?? (exit ? `exit ${exit}` : this.failed ? "failed" : "✓"));
    const state = [outcome, time].filter(Boolean).join(this.failed ? " · " : " ");
    this.state.textContent = state;
    this.state.className = `state num ${this.failed ? "bad" : "ok"}`;
    this.state.setAttribute("aria-label", this.failed ? state : `done ${time}`);
  }

  /** The round ended before the call did: its outcome is unknown. */
  interrupt() {
    if (!this.ended) this.finish({ ok: false, exit_code: null, end_reason: "cut", seconds: 0 });
  }

  addFooter(event, observation) {
    if (this.name === "submit") return;
    const parts = [];
    if (event.exit_code !== null) parts.push(h("span", {}, `exit ${event.exit_code}`));
    if (!this.out && this.name === "execute_bash" && event.exit_code !== null) parts.push(h("span", {}, "no output"));
    if (this.out) parts.push(h("span", {}, this.long ? "long output" : plural(lineCount(this), "line")));
    for (const [stream, name] of this.fullOutputs) {
      const address = this.run.url(`outputs/${encodeURIComponent(name)}`);
      if (address) parts.push(h("a", { href: address, download: "" }, `full ${stream}`));
    }
    if (event.storage_note) parts.push(h("span", { class: "host bad" }, event.storage_note));
    if (this.requests?.length) parts.push(...requestChips(this.requests));
    const source = this.arguments.command && this.name === "execute_bash" ? this.arguments.command : this.arguments.file_text;
    const buttons = [];
    const copyButton = (name, text) => h("button", { onclick: (e) => copyText(text(), e.target) }, `Copy ${name}`);
    if (source) buttons.push(copyButton(this.name === "execute_bash" ? "command" : "text", () => source));
    if (this.out) buttons.push(copyButton("output", () => this.outputElement.textContent));
    if (observation) buttons.push(this.observationButton());
    this.body.append(h("div", { class: "card-footer num" }, ...parts, h("span", { class: "tools" }, ...buttons)));
  }

  observationButton() {
    const button = h("button", { "aria-expanded": "false" }, "What the model saw");
    let view = null;
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", String(!view));
      if (view) return view.remove(), (view = null);
      view = h("pre", { class: "observation", tabindex: "0" }, this.observation.seen);
      this.body.append(view);
      linkFiles(this.run, view);
      return null;
    });
    return button;
  }

  /** Link paths in the card once its content is final. */
  link() {
    if (!this.ended || this.linked || !this.element.open || !this.body.firstChild) return;
    this.linked = true;
    linkFiles(this.run, this.body, () => this.run.emit("files-linked", this.element));
  }

  expand(open) {
    this.toggled = true;
    this.element.open = open;
  }

  /** Unload all but the summary line. */
  unload() {
    this.body.replaceChildren();
    this.linked = false;
    this.pictures = null;
    this.pre = this.program = this.out = this.outputElement = this.trimNote = this.reader = null;
    this.arguments = {};
  }

  /** Collapse a successful call without pictures once the run has moved on, unless the user toggled it. */
  collapse() {
    if (this.ended && !this.failed && !this.toggled && !this.pictures && !this.observation?.isEditable) this.element.open = false;
  }
}

const lineCount = (card) => card.newlines + (card.outputElement.textContent.endsWith("\n") ? 0 : 1);

/** Lines added or removed by an edit. */
function* diffLines(text, kind) {
  const sign = kind === "add" ? "+ " : "- ";
  if (text)
    yield [
      `${String(text)
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => sign + line)
        .join("\n")}\n`,
      kind,
    ];
}

/** A command's network requests, grouped by host. */
function requestChips(requests) {
  const hosts = new Map();
  for (const { host, received, sent, refused } of requests) {
    const sums = hosts.get(host) ?? { received: 0, sent: 0, refused: "" };
    hosts.set(host, { received: sums.received + received, sent: sums.sent + sent, refused: sums.refused || refused });
  }
  return [...hosts].slice(0, MAX_HOSTS).map(([host, { received, sent, refused }]) =>
    h(
      "span",
      {
        class: refused ? "host bad" : "host",
        title: refused ? `Blocked: ${refused}` : `${formatBytes(received)} received, ${formatBytes(sent)} sent`,
      },
      refused ? `${host} blocked` : `${host} ${formatBytes(received)}`,
    ),
  );
}
