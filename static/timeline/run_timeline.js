// The timeline of a run that is recorded, whole or so far: its thread, totals, search, moments, stage and links to steps.

import { h, iconButton, isModified, setIcon } from "../core/dom.js";
import { currentRun, emit, on, whileShown } from "../core/event_stream.js";
import { RunStrip } from "../capabilities/run_strip.js";
import { MomentView } from "../playback/moment_view.js";
import { Scrubber } from "../playback/scrubber.js";
import { RunStage } from "../present/run_stage.js";
import { RunSearch } from "./find.js";
import { RunThread } from "./thread.js";
import { showTotals } from "../core/run/totals.js";
import { mountStepKeys } from "./step_keys.js";

// The dialog and its library are loaded on first use.
const openTokens = () => whileShown(import("../charts/token_dialog.js"), "charts/charts.css", ({ openTokenDialog }) => openTokenDialog());

export class RunTimeline extends RunThread {
  constructor(root) {
    super(currentRun, root.querySelector(".thread"), { anchored: true });
    this.overview = root.querySelector(".overview");
    /** @type {WeakMap<Element, number>} the steps before a message or the end of a round */
    this.stepsUntil = new WeakMap();
    this.meter = root.querySelector(".meter");
    this.strip = new RunStrip(root.querySelector(".run-capabilities"), (number) => this.goTo({ part: "step", step: number }));
    this.search = new RunSearch(currentRun, root.querySelector(".find"), this.thread, (place) => this.goTo(place));
    this.moments = new MomentView(this);
    this.scrubber = new Scrubber(this);
    on("moment", (moment) => this.moments.show(moment));
    addEventListener("hashchange", () => this.goToLink());
    this.thread.addEventListener("click", (event) => this.onClick(event));
    on("files-linked", (element) => this.search.highlight(element));
    this.expandButton = iconButton("expand", "Expand all", () => this.expandAll(!this.expanded), { class: "quiet" });
    this.moreButton = h("button", { class: "quiet more-figures", onclick: () => this.showMore(!this.overview.hasAttribute("data-open")) }, "More");
    this.showMore(false);
    root.querySelector(".run-tools").before(this.moreButton);
    const presents = { class: "quiet present-run", title: "Present (p)", "aria-keyshortcuts": "p" };
    root.querySelector(".run-tools").append(
      iconButton("present", "Present", () => emit("present"), presents),
      iconButton("find", "Find in run", () => this.search.open(), { class: "quiet", title: "Find in run (/)", "aria-keyshortcuts": "/" }),
      iconButton("chart", "Where the tokens go", openTokens, { class: "quiet" }),
      this.expandButton,
    );
    new RunStage(this);
    mountStepKeys(this);
  }

  reset() {
    super.reset();
    this.moments.reset();
    this.linkedStep = null;
    this.overview.hidden = true;
    this.strip.reset();
    this.search.close();
    this.showExpanded();
  }

  expandAll(open) {
    super.expandAll(open);
    this.showExpanded();
  }

  /** Show all figures, and what the run used of the computer; or the main figures on one line. */
  showMore(open) {
    this.overview.toggleAttribute("data-open", open);
    this.moreButton.setAttribute("aria-expanded", String(open));
    this.moreButton.textContent = open ? "Less" : "More";
  }

  showExpanded() {
    setIcon(this.expandButton, this.expanded ? "collapse" : "expand", this.expanded ? "Collapse all" : "Expand all");
  }

  showState(state) {
    super.showState(state);
    this.scrubber.load(state);
    this.goToLink();
  }

  startStep(number_) {
    super.startStep(number_);
    if (this.linkedStep === number_) this.goToLink();
  }

  addStep(step) {
    super.addStep(step);
    this.moments.onStep(step);
  }

  endRound(event) {
    super.endRound(event);
    this.stepsUntil.set(this.roundEnd, currentRun.step);
    this.moments.onRound();
  }

  showUsed(step) {
    this.strip.update(step.number, step.used);
  }

  async load(step) {
    await super.load(step);
    this.search.highlight(step.element);
  }

  addMessage(text, inputs) {
    super.addMessage(text, inputs);
    this.stepsUntil.set(this.messages.at(-1), this.stepsBefore);
    this.moments.onRound();
  }

  /** Clicking a step's number, or a link to it, puts the step into the URL. */
  onClick(event) {
    const { hash } = event.target.closest("a:is(.step-number, .step-link)") ?? {};
    if (!hash || isModified(event)) return;
    event.preventDefault();
    if (hash === location.hash) this.goToLink();
    else location.hash = hash; // a hashchange event follows
  }

  /** Go to the step in the URL, now or once it exists. */
  goToLink() {
    const number_ = Number(location.hash.match(/^#step-(\d+)$/)?.[1]);
    this.thread.querySelector(".step.linked")?.classList.remove("linked");
    this.linkedStep = number_ || null;
    if (!this.steps.has(number_)) return;
    this.linkedStep = null;
    this.steps.get(number_).element.classList.add("linked");
    if (!this.scrubber.goTo(number_)) this.goTo({ part: "step", step: number_ });
  }

  update() {
    this.overview.hidden = !currentRun.started;
    const { steps } = currentRun.limits;
    if (currentRun.moment) this.moments.showTotals();
    else showTotals(this.meter, currentRun, steps ? this.stepsBefore + steps : 0, this.context);
    super.update();
  }
}
