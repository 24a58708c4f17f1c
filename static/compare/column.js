// One member's column: its head, and the timeline of one of its runs at reduced detail.

import { h, icon, iconButton, isModified, plainClick, setIcon } from "../core/dom.js";
import { Run } from "../core/run/run.js";
import { RunStrip } from "../capabilities/run_strip.js";
import { RunThread } from "../timeline/thread.js";
import { openRun } from "../core/view.js";
import { repetitionLabel, runOutcome, shownRun } from "./outcome.js";
import { runUrl } from "../core/run/run_summary.js";

const LOAD_MARGIN = 200; // pixels; columns are low, and there may be six of them

/** A thread with the strip of what its steps used. */
class MemberThread extends RunThread {
  constructor(run, thread, strip, options) {
    super(run, thread, options);
    this.strip = strip;
  }

  reset() {
    super.reset();
    this.strip.reset();
  }

  showUsed(step) {
    this.strip.update(step.number, step.used);
  }
}

export class MemberColumn {
  /** `onChoose()` is called when another repetition is shown; `onStop(index)` stops the member. */
  constructor(member, { baseline, onChoose, onStop }) {
    this.index = member.index;
    this.onChoose = onChoose;
    this.chosen = null;
    this.run = null;
    this.thread = null;
    this.whole = false;
    const id = `member-${member.index}`;
    this.label = h("span", { class: "label", dir: "auto" });
    this.state = h("span", { class: "pill" });
    this.title = h("button", { class: "member-title", id: `${id}-tab` }, this.label, this.state);
    this.chooser = h("select", { class: "repetition", "aria-label": "Repetition", hidden: true, onchange: () => this.choose(this.chooser.value) });
    this.unfoldButton = iconButton("expand", "", () => this.unfold(!this.whole), { class: "quiet" });
    this.openLink = h(
      "a",
      { class: "quiet", title: "Open this run", "aria-label": "Open this run", onclick: plainClick(() => openRun(this.run.id)) },
      icon("link"),
    );
    this.stopButton = h("button", { class: "quiet stop-member owner-only", hidden: true, onclick: () => onStop(this.index) }, "Stop");
    this.tools = h("span", { class: "head-tools" }, this.chooser, this.stopButton, this.unfoldButton, this.openLink);
    this.head = h("div", { class: `head ${baseline ? "baseline" : ""}`, role: "presentation" }, this.title, this.tools);
    this.note = h("p", { class: "column-note", hidden: true });
    this.place = h("div", { class: "thread-place" });
    const strip = h("div", { class: "run-capabilities", role: "group", "aria-label": "Capability usage", hidden: true });
    this.strip = new RunStrip(strip, (number) => this.thread?.goTo({ part: "step", step: number }));
    this.element = h(
      "section",
      { class: `column ${baseline ? "baseline" : ""}`, id, tabindex: "-1", "aria-labelledby": `${id}-tab` },
      this.note,
      strip,
      this.place,
    );
    this.unfold(false);
  }

  /** Show the member as the comparison has it now. */
  show(member, { canEdit }) {
    this.member = member;
    setText(this.label, member.label);
    const shown = shownRun(member, this.chosen);
    this.showOutcome(shown);
    this.showChooser(member, shown);
    this.stopButton.hidden = !canEdit || !member.runs.some(({ running }) => running);
    this.stopButton.setAttribute("aria-label", `Stop ${member.label}`);
    if (shown?.deleted) return this.showNote("This run was deleted. Its figures are no longer part of the comparison.", null);
    if (!shown) return this.showNote("Not started yet.", null);
    this.showNote("", shown.run);
    return undefined;
  }

  showOutcome(run) {
    const { text, tone, live } = runOutcome(run);
    setText(this.state, text);
    this.state.dataset.tone = tone;
    this.state.toggleAttribute("data-live", live);
    this.state.title = run?.reason ?? "";
  }

  showChooser({ runs, label }, shown) {
    this.chooser.hidden = runs.length < 2;
    this.chooser.setAttribute("aria-label", `Repetition of ${label}`);
    const options = runs.map((run) => [run.run, repetitionLabel(run)]);
    const key = JSON.stringify(options);
    if (key !== this.options) {
      this.options = key;
      this.chooser.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
    }
    if (shown) this.chooser.value = shown.run;
  }

  choose(run) {
    this.chosen = run;
    this.onChoose();
  }

  /** Show a note instead of a run, or the thread of a run. */
  showNote(text, id) {
    setText(this.note, text);
    this.note.hidden = !text;
    this.openLink.hidden = this.unfoldButton.hidden = !id;
    if (id === (this.run?.id ?? null)) return;
    this.thread?.reset();
    this.run = this.thread = null;
    this.place.replaceChildren();
    if (id) this.showRun(id);
  }

  showRun(id) {
    this.run = new Run(id);
    const thread = h("div", { class: "thread reduced", tabindex: "0", role: "group", "aria-label": `Steps of ${this.member.label}` });
    this.thread = new MemberThread(this.run, thread, this.strip, { loadMargin: LOAD_MARGIN, maxFrames: 0 });
    this.thread.reset();
    thread.addEventListener("click", (event) => this.onClick(event));
    const fileTab = ({ path }) => window.open(new URL(`look?${new URLSearchParams({ run: id, path })}`, document.baseURI), "_blank", "noopener");
    this.run.on("open-file", (path) => fileTab({ path }));
    this.run.on("open-version", fileTab);
    this.openLink.href = runUrl(id);
    this.place.append(thread);
    this.unfold(this.whole);
  }

  /** A step's number opens the run at this step. */
  onClick(event) {
    const link = event.target.closest("a.step-number");
    if (!link || isModified(event)) return;
    event.preventDefault();
    openRun(this.run.id, link.closest(".step").dataset.step);
  }

  /** Show the run whole, with all that its steps contain, or at reduced detail. */
  unfold(whole) {
    this.whole = whole;
    setIcon(this.unfoldButton, whole ? "collapse" : "expand", whole ? "Fold the run" : "Unfold the whole run");
    this.unfoldButton.setAttribute("aria-pressed", String(whole));
    this.element.classList.toggle("whole", whole);
    this.place.firstChild?.classList.toggle("reduced", !whole);
    if (this.thread && this.run.started) this.thread.expandAll(whole);
  }

  /** Take in messages of the shown run's stream. */
  receive(messages) {
    if (!this.run) return;
    let received = false;
    for (const [run, name, data] of messages) {
      if (run !== this.run.id) continue;
      this.run.receive(name, data);
      received = true;
    }
    if (received && this.run.status) this.run.emit("update");
  }

  tick() {
    if (this.run?.running) this.run.emit("tick");
  }

  close() {
    this.thread?.reset();
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
