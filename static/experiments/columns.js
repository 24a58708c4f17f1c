// The members' columns side by side, or one at a time as tabs where the page is narrow. A column has a head, and the
// timeline of one of its runs at reduced detail.

import { h, hasChanged, icon, iconButton, isModified, plainClick, setIcon } from "../core/dom.js";
import { Run } from "../core/run/run.js";
import { RunStrip } from "../capabilities/run_strip.js";
import { RunThread } from "../timeline/thread.js";
import { RunAnswers } from "./reading/run_answers.js";
import { RunLabels } from "./reading/run_labels.js";
import { openRun } from "../core/view.js";
import { repetitionLabel, runOutcome, shownRun } from "./words.js";
import { runUrl } from "../core/run/run_summary.js";

const NARROW = matchMedia("(max-width: 900px)");
const LOAD_MARGIN = 200; // pixels; columns are low, and there may be many of them

export class Columns {
  /**
   * `chosen` maps members' indices to the runs that the user chose, and `onChoose()` is called when
   * it changes, or another tab is shown; `onStop(index)` stops a member, if that can be done here.
   * `url(path)` is an address of the experiment.
   */
  constructor({ chosen, onChoose, onStop = null, url }) {
    this.options = { chosen, onChoose, onStop, url };
    this.columns = [];
    this.selected = 0;
    this.heads = h("div", { class: "heads", "aria-label": "Members" });
    this.body = h("div", { class: "member-columns" });
    this.element = h("section", { class: "members", "aria-label": "Timelines" }, this.heads, this.body);
    this.body.addEventListener("scroll", () => (this.heads.scrollLeft = this.body.scrollLeft), { passive: true });
    this.heads.addEventListener("scroll", () => (this.body.scrollLeft = this.heads.scrollLeft), { passive: true });
    this.heads.addEventListener("keydown", (event) => this.onKey(event));
    this.onWidth = () => this.arrange();
    NARROW.addEventListener("change", this.onWidth);
    this.clock = setInterval(() => document.hidden || this.columns.forEach((column) => column.tick()), 1000);
  }

  /** Show members with their runs, the baseline first; they stay the same. */
  show(members, experiment) {
    if (!this.columns.length) this.build(members, experiment.baseline);
    this.columns.forEach((column, at) => column.show(members[at], experiment));
  }

  build(members, baseline) {
    this.columns = members.map((member) => new MemberColumn(member, member.index === baseline, this.options));
    this.element.dataset.members = members.length;
    this.heads.append(...this.columns.map(({ head }) => head));
    this.body.append(...this.columns.map(({ element }) => element));
    this.columns.forEach(({ title }, at) => title.addEventListener("click", () => this.select(at)));
    this.arrange();
  }

  /** The runs whose events are needed: those of visible columns. */
  get followed() {
    const visible = NARROW.matches ? this.columns.slice(this.selected, this.selected + 1) : this.columns;
    return visible.map(({ run }) => run?.id).filter(Boolean);
  }

  receive(messages) {
    for (const column of this.columns) column.receive(messages);
  }

  select(at) {
    if (!NARROW.matches) return this.columns[at].unfold(!this.columns[at].whole);
    this.selected = at;
    this.arrange();
    return this.options.onChoose();
  }

  /** Set the roles: tabs and their panels where narrow, else headed columns. */
  arrange() {
    const narrow = NARROW.matches;
    this.element.classList.toggle("tabs", narrow);
    setAttributes(this.heads, { role: narrow && "tablist" });
    this.columns.forEach(({ title, head, element, tools }, at) => {
      const shown = !narrow || at === this.selected;
      setAttributes(title, {
        role: narrow && "tab",
        tabindex: shown ? "0" : "-1",
        title: !narrow && "Unfold or fold this run",
        "aria-selected": narrow && String(shown),
        "aria-controls": narrow && element.id,
      });
      setAttributes(element, { role: narrow && "tabpanel" });
      head.classList.toggle("selected", narrow && shown);
      element.hidden = !shown;
      if (narrow) element.prepend(tools);
      else head.append(tools);
    });
  }

  onKey(event) {
    const at = this.columns.findIndex(({ title }) => title === event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = (to + this.columns.length) % this.columns.length;
    if (NARROW.matches) this.select(next);
    this.columns[next].title.focus();
  }

  close() {
    clearInterval(this.clock);
    NARROW.removeEventListener("change", this.onWidth);
    for (const column of this.columns) column.close();
  }
}

/** Set attributes; those whose value is false are removed. */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) element.removeAttribute(name);
    else element.setAttribute(name, value);
  }
}

/** A thread with the strip of what its steps used. */
class MemberThread extends RunThread {
  constructor(run, thread, strip) {
    super(run, thread, { loadMargin: LOAD_MARGIN, maxFrames: 0 });
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

class MemberColumn {
  /** The options are those of `Columns`. */
  constructor({ index }, isBaseline, { chosen, onChoose, onStop, url }) {
    this.index = index;
    this.chosen = chosen;
    this.run = null;
    this.thread = null;
    this.whole = false;
    const id = `member-${index}`;
    this.label = h("span", { class: "label", dir: "auto" });
    this.state = h("span", { class: "pill" });
    this.title = h("button", { class: "member-title", id: `${id}-tab` }, this.label, this.state);
    const choose = () => {
      chosen.set(index, this.chooser.value);
      onChoose();
    };
    this.chooser = h("select", { class: "repetition", hidden: true, onchange: choose });
    this.unfoldButton = iconButton("expand", "", () => this.unfold(!this.whole), { class: "quiet" });
    this.openLink = h(
      "a",
      { class: "quiet", title: "Open this run", "aria-label": "Open this run", onclick: plainClick(() => openRun(this.run.id)) },
      icon("link"),
    );
    this.stopButton = onStop && h("button", { class: "quiet stop-member owner-only", hidden: true, onclick: () => onStop(index) }, "Stop");
    this.tools = h("span", { class: "head-tools" }, this.chooser, this.stopButton, this.unfoldButton, this.openLink);
    const kind = isBaseline ? "baseline" : "";
    this.head = h("div", { class: `head ${kind}`, role: "presentation" }, this.title, this.tools);
    this.note = h("p", { class: "column-note", hidden: true });
    this.place = h("div", { class: "thread-place" });
    this.labels = new RunLabels(url);
    this.answers = new RunAnswers(url);
    const strip = h("div", { class: "run-capabilities", role: "group", "aria-label": "Capability usage", hidden: true });
    this.strip = new RunStrip(strip, (number) => this.thread?.goTo({ part: "step", step: number }));
    this.element = h(
      "section",
      { class: `column ${kind}`, id, tabindex: "-1", "aria-labelledby": `${id}-tab` },
      this.note,
      this.labels.element,
      this.answers.element,
      strip,
      this.place,
    );
    this.unfold(false);
  }

  /** Show the member as it is now, with its runs. */
  show(member, experiment) {
    const { label, runs } = member;
    setText(this.label, label);
    const shown = shownRun(member, this.chosen.get(this.index));
    const { text, tone, live } = runOutcome(shown);
    setText(this.state, text);
    this.state.dataset.tone = tone;
    this.state.toggleAttribute("data-live", live);
    this.state.title = shown?.reason ?? "";
    this.showChooser(member, shown);
    if (this.stopButton) {
      this.stopButton.hidden = !experiment.canEdit || !runs.some(({ running }) => running);
      this.stopButton.setAttribute("aria-label", `Stop ${label}`);
    }
    const note = shown?.deleted ? "This run was deleted. Its figures are no longer part of the comparison." : shown ? "" : "Not started yet.";
    setText(this.note, note);
    this.note.hidden = !note;
    this.showRun(note ? null : shown.run, label);
    this.labels.show(note || shown.running ? null : shown, experiment); // while it works there is nothing to label
    this.answers.show(note ? null : shown, experiment);
  }

  showChooser({ runs, label }, shown) {
    this.chooser.hidden = runs.length < 2;
    this.chooser.setAttribute("aria-label", `Repetition of ${label}`);
    const options = runs.map((run) => [run.run, repetitionLabel(run)]);
    if (hasChanged(this.chooser, options)) this.chooser.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
    if (shown) this.chooser.value = shown.run;
  }

  /** Show the thread of a run, or of none. */
  showRun(id, label) {
    this.openLink.hidden = this.unfoldButton.hidden = !id;
    if (id === (this.run?.id ?? null)) return;
    this.thread?.reset();
    this.run = this.thread = null;
    this.place.replaceChildren();
    if (!id) return;
    this.run = new Run(id);
    const thread = h("div", { class: "thread reduced", tabindex: "0", role: "group", "aria-label": `Steps of ${label}` });
    this.thread = new MemberThread(this.run, thread, this.strip);
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
    const own = messages.filter(([run]) => run === this.run?.id);
    for (const [, name, data] of own) this.run.receive(name, data);
    if (own.length && this.run.status) this.run.emit("update");
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
