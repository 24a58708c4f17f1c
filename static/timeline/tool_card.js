// One tool call: summary line, command, live output and result.

import { ArgumentReader, isObject } from "./json_stream.js";
import { GrowingText, copy, followEnd, h, icon } from "../core/dom.js";
import { bytes, clock, number, plural, seconds } from "../core/format.js";
import * as highlight from "./highlight.js";
import { link } from "../core/file_links.js";
import { emit, runApi, session } from "../core/session.js";

const HOSTS = 6; // listed under a command
const TAIL = 4; // output lines shown on a collapsed card
const LONGEST = 300; // characters of one of them

const WRITTEN = new Set(["command", "file_text", "new_str", "old_str"]); // arguments shown while streaming
const ENDINGS = {
  timeout: "time limit", stop: "stopped", lost: "sandbox lost", full: "disk full", cut: "interrupted",
};

export class Card {
  constructor(name) {
    this.name = name;
    this.head = h("code", { class: "head" }, name);
    this.state = h("span", { class: "state num" });
    this.summary = h("summary", {}, icon("caret"), this.head, this.state);
    this.body = h("div", { class: "card-body" });
    this.element = h("details", { class: "card" }, this.summary, this.body);
    this.summary.addEventListener("click", () => (this.touched = true));
    this.element.addEventListener("toggle", () => this.link());
    this.ended = false;
    this.newlines = 0;
    this.arguments = {};
  }

  /** A card with its head only. */
  static of(head) {
    const card = new Card(head.name);
    card.id = head.id;
    card.showHead(head.head);
    card.element.classList.toggle("plain", head.name === "submit");
    head.ending ? card.settle(head) : card.cutOff();
    return card;
  }

  get edits() {
    return this.name === "str_replace_editor";
  }

  /** The summary line; added and removed line counts of an edit are coloured. */
  showHead(text) {
    if (!this.edits) return this.head.replaceChildren(text);
    const [, what, more, less] = text.match(/^(.*?)( \+\d+)?( −\d+)?$/s);
    this.head.replaceChildren(what);
    if (more) this.head.append(h("span", { class: "add" }, more));
    if (less) this.head.append(h("span", { class: "del" }, less));
    return undefined;
  }

  /** Handle a chunk of the streaming call. */
  write(piece) {
    if (!this.reader) {
      this.element.open = true;
      this.element.classList.add("writing");
      this.state.textContent = "writing";
      this.command();
      this.reader = new ArgumentReader((name, text) => this.draft(name, text));
    }
    this.reader.feed(piece);
  }

  draft(name, text) {
    if (this.edits && (name === "command" || name === "path")) return this.draftHead(name, text);
    if (!WRITTEN.has(name)) return undefined;
    this.program.add(text, name === "old_str" ? "del" : name === "new_str" ? "add" : "");
    return this.followProgram();
  }

  /** Show an edit's command and path, in whichever order they arrive. */
  draftHead(name, text) {
    this.drafted ??= { command: "", path: "" };
    this.drafted[name] += text;
    const { command, path } = this.drafted;
    this.head.textContent = [command, path.replace(/^\/workspace\//, "")].filter(Boolean).join(" ");
  }

  /** The execution starts. */
  start(event) {
    this.id = event.call_id;
    this.name = event.name;
    this.arguments = event.arguments;
    this.began = event.at;
    this.element.classList.remove("writing");
    this.element.classList.add("run");
    if (event.name === "submit") this.element.classList.add("plain");
    else this.element.open = true;
    this.showHead(event.head);
    this.showArguments();
    this.bar = h("div", { class: "slide", role: "presentation" });
    this.body.append(this.bar);
    this.tick();
  }

  showArguments() {
    const { command, file_text: made, old_str: before, new_str: after, path } = this.arguments;
    if (this.name === "execute_bash") return this.showProgram(["$ ", "prompt"], ...highlight.command(String(command ?? "")));
    if (made !== undefined) return this.showProgram(...highlight.file(String(made), String(path)));
    if (after === undefined) return this.pre?.remove();
    this.showProgram(...changed(before, "del"), ...changed(after, "add"));
  }

  /** Show the raw arguments of an invalid call. */
  showRaw() {
    if (!this.raw || isObject(this.raw) && (this.program?.size || this.raw === "{}")) return;
    this.showProgram([this.raw, ""]);
    this.pre.setAttribute("aria-label", "Raw arguments");
  }

  /** Show the executed program, in pieces of [text, kind]. */
  showProgram(...pieces) {
    this.command();
    this.program.clear();
    for (const [text, kind] of pieces) this.program.add(text, kind);
    this.pre.scrollTop = 0;
  }

  command() {
    if (this.pre) return;
    this.pre = h("pre", { class: "program", tabindex: "0", "aria-label": "Command" });
    this.program = new GrowingText(this.pre);
    this.followProgram = followEnd(this.pre);
    this.body.prepend(this.pre);
  }

  output(event) {
    const viewport = this.viewport();
    if (event.skipped) viewport.add(`\n… ${bytes(event.skipped)} omitted …\n`, "dim");
    viewport.add(event.text, event.stream === "stderr" ? "err" : "");
    this.newlines += event.text.split("\n").length - 1;
    if (event.output_file) this.offer(event.output_file, event.stream);
    this.followOut();
  }

  viewport() {
    if (!this.out) {
      const pre = h("pre", { class: "out", tabindex: "0", "aria-label": "Output" });
      this.out = new GrowingText(pre, { onCut: (cut) => this.tellCut(cut) });
      this.followOut = followEnd(pre);
      this.pre ? this.pre.after(pre) : this.body.prepend(pre);
      this.outPre = pre;
    }
    return this.out;
  }

  tellCut(cut) {
    this.cutLine ??= h("div", { class: "cut" });
    this.cutLine.textContent = `${number(cut)} earlier characters are not shown`;
    this.outPre.before(this.cutLine);
  }

  /** Link to the full output, stored next to the journal. */
  offer(name, stream) {
    this.wholes ??= new Map();
    this.wholes.set(stream, name);
    this.long = true;
  }

  tick() {
    if (this.ended || !this.began) return;
    this.state.textContent = `running ${clock(session.now() - this.began)}`;
  }

  end(event) {
    this.id ??= event.call_id;
    this.settle(event);
    if (!this.began) this.showRaw();
    if (this.pre && !this.program.size) {
      this.pre.remove();
      this.pre = null;
    }
    this.requests = event.requests ?? [];
    const carriedOut = this.name === "execute_bash" && (event.exit_code !== null || event.ending !== "exit");
    const told = !this.out && event.observation && !this.says && !carriedOut;
    if (told) this.showResult(event);
    this.foot(event, told ? null : event.observation);
    if (this.name === "execute_bash") this.showTail();
    if (this.failed && !this.touched) this.element.open = true;
  }

  /** Whether the card needs no result text if the call succeeded. */
  get says() {
    if (this.edits) return !this.failed && this.arguments.command !== "view";
    return !this.failed && ["execute_bash", "submit"].includes(this.name);
  }

  /** Show the result of a call without other output: a viewed file, or the reason for a refusal. */
  showResult(event) {
    const text = event.observation.replace(/^Execution output of \[[\w-]+\]:\n/, "");
    this.viewport().add(text, event.ok ? "" : "err");
    this.newlines = text.split("\n").length - 1;
    this.outPre.scrollTop = 0;
  }

  /** Show the last output lines, visible while the card is collapsed. */
  showTail() {
    const lines = this.outPre?.textContent.trimEnd().split("\n").slice(-TAIL) ?? [];
    if (!lines.join("").trim()) return;
    this.tail = h("span", { class: "tail" }, lines.map((line) => line.slice(0, LONGEST)).join("\n"));
    this.summary.append(this.tail);
  }

  settle({ ok, exit_code: exit, ending, seconds: took }) {
    this.ended = true;
    this.failed = !ok || (exit !== null && exit !== 0) || ending !== "exit";
    this.bar?.remove();
    this.element.classList.remove("run", "writing");
    this.element.classList.toggle("failed", this.failed);
    if (this.failed && this.edits) this.head.querySelectorAll(".add, .del").forEach((count) => count.remove());
    const time = took >= 0.05 ? seconds(took) : "";
    const what = ENDINGS[ending] ?? (exit ? `exit ${exit}` : this.failed ? "failed" : "✓");
    this.state.textContent = [what, time].filter(Boolean).join(this.failed ? " · " : " ");
    this.state.className = `state num ${this.failed ? "bad" : "ok"}`;
    this.state.setAttribute("aria-label", this.failed ? this.state.textContent : `done ${time}`);
  }

  /** The round ended before the call did: its outcome is unknown. */
  cutOff() {
    if (!this.ended) this.settle({ ok: false, exit_code: null, ending: "cut", seconds: 0 });
  }

  foot(event, observation) {
    if (this.name === "submit") return;
    const parts = [];
    if (event.exit_code !== null) parts.push(h("span", {}, `exit ${event.exit_code}`));
    if (!this.out && this.name === "execute_bash" && event.exit_code !== null) parts.push(h("span", {}, "no output"));
    if (this.out) parts.push(h("span", {}, this.long ? "long output" : plural(shownLines(this), "line")));
    for (const [stream, name] of this.wholes ?? []) {
      const address = runApi(`outputs/${encodeURIComponent(name)}`);
      parts.push(h("a", { href: address, download: "" }, `full ${stream}`));
    }
    if (event.storage_note) parts.push(h("span", { class: "host bad" }, event.storage_note));
    if (this.requests?.length) parts.push(...asked(this.requests));
    const source = this.arguments.command && this.name === "execute_bash"
      ? this.arguments.command : this.arguments.file_text;
    const tools = [];
    const copier = (what, text) => h("button", { type: "button", onclick: (e) => copy(text(), e.target) }, `Copy ${what}`);
    if (source) tools.push(copier(this.name === "execute_bash" ? "command" : "text", () => source));
    if (this.out) tools.push(copier("output", () => this.outPre.textContent));
    if (observation) tools.push(this.sawButton(observation));
    this.body.append(h("div", { class: "foot num" }, ...parts, h("span", { class: "tools" }, ...tools)));
  }

  sawButton(observation) {
    const button = h("button", { type: "button", "aria-expanded": "false" }, "What the model saw");
    let shown = null;
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", String(!shown));
      if (shown) return shown.remove(), (shown = null);
      shown = h("pre", { class: "saw", tabindex: "0" }, observation);
      this.body.append(shown);
      link(shown);
      return null;
    });
    return button;
  }

  /** Link paths in the card once its content is final. */
  link() {
    if (!this.ended || this.linked || !this.element.open || !this.body.firstChild) return;
    this.linked = true;
    link(this.body, () => emit("linked", this.element));
  }

  unfold(open) {
    this.touched = true;
    this.element.open = open;
  }

  /** Unload all but the summary line. */
  shed() {
    this.body.replaceChildren();
    this.linked = false;
    this.pre = this.program = this.out = this.outPre = this.cutLine = this.reader = null;
    this.arguments = {};
  }

  /** Collapse a successful call once the run has moved on, unless the user toggled it. */
  rest() {
    if (this.ended && !this.failed && !this.touched) this.element.open = false;
  }
}

const shownLines = (card) => card.newlines + (card.outPre.textContent.endsWith("\n") ? 0 : 1);

/** Lines added or removed by an edit. */
function* changed(text, kind) {
  const sign = kind === "add" ? "+ " : "- ";
  if (text) yield [`${String(text).replace(/\n$/, "").split("\n").map((line) => sign + line).join("\n")}\n`, kind];
}

/** A command's network requests, grouped by host. */
function asked(requests) {
  const hosts = new Map();
  for (const { host, received, sent, refused } of requests) {
    const known = hosts.get(host) ?? { received: 0, sent: 0, refused: "" };
    hosts.set(host, { received: known.received + received, sent: known.sent + sent, refused: known.refused || refused });
  }
  return [...hosts].slice(0, HOSTS).map(([host, { received, sent, refused }]) => h("span", {
    class: refused ? "host bad" : "host",
    title: refused ? `Blocked: ${refused}` : `${bytes(received)} received, ${bytes(sent)} sent`,
  }, refused ? `${host} blocked` : `${host} ${bytes(received)}`));
}
