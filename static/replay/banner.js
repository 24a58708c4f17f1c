// The line above a run: of a replay its verdict, of a replayed run the verdicts of its replays.

import { h, plainClick } from "../core/dom.js";
import { currentRun, on, showRun } from "../core/event_stream.js";
import { formatNumber } from "../core/format.js";
import { compareReplay, fetchReplays } from "./actions.js";
import { createVerdictBadge, describeCounts, wordsOf } from "./verdict.js";

const MAX_SHOWN = 3;

export class ReplayBanner {
  /** Show the line after `place`, for the run that the page shows. */
  constructor(place) {
    this.element = h("div", { class: "replay-banner", role: "status", "aria-label": "Replay", hidden: true });
    const notes = h("div", { class: "run-notes" });
    place.before(notes);
    notes.append(place, this.element);
    this.shown = "";
    this.replays = []; // of the run that the page shows
    on("reset", () => this.reset());
  }

  reset() {
    this.shown = "";
    this.replays = [];
    this.asked = null;
    this.element.hidden = true;
    this.element.replaceChildren();
  }

  /** Take in the state of the run. */
  update() {
    const { status, running, id } = currentRun;
    if (!status || !currentRun.started) return;
    if (!status.replay && !running && this.asked !== id) this.load(id);
    const key = JSON.stringify([status.replay, running, this.replays]);
    if (key === this.shown) return;
    this.shown = key;
    const parts = status.replay ? this.describeReplay(status.replay) : this.describeReplays();
    this.element.hidden = !parts.length;
    this.element.replaceChildren(...parts);
  }

  async load(id) {
    this.asked = id;
    try {
      const replays = await fetchReplays(id);
      if (id !== currentRun.id) return;
      this.replays = replays.filter(({ replay }) => replay);
      this.update();
    } catch {
      // The line is a convenience: History lists the replays, too.
    }
  }

  describeReplay(replay) {
    const { running } = currentRun;
    const badge = running ? h("span", { class: "verdict-badge", "data-tone": "live" }, "Replaying") : createVerdictBadge(replay.verdict);
    const source = replay.run ? runLink(replay.run, "recorded run") : "a journal";
    const parts = [badge, h("span", {}, "Replay of the ", source), h("span", { class: "dim num" }, describeCounts(replay, running))];
    if (replay.run && !running && currentRun.canEdit)
      parts.push(h("button", { class: "quiet", onclick: () => compareReplay(replay.run, currentRun.id) }, "Compare"));
    for (const note of replay.notes) parts.push(h("p", { class: "remark warn" }, note));
    return parts;
  }

  describeReplays() {
    if (!this.replays.length) return [];
    const links = this.replays.slice(0, MAX_SHOWN).map(({ run, running, replay }) => {
      const { tone, label } = wordsOf(replay.verdict);
      const attributes = { class: "verdict-badge", "data-tone": running ? "live" : tone };
      return runLink(run, running ? "Replaying" : label, attributes);
    });
    const more = this.replays.length - links.length;
    return [h("span", {}, "Replayed:"), ...links, more > 0 ? h("span", { class: "dim" }, `and ${formatNumber(more)} more`) : ""];
  }
}

/** A link to a run, which is shown without a reload. */
function runLink(run, text, attributes = {}) {
  return h("a", { href: `?run=${encodeURIComponent(run)}`, ...attributes, onclick: plainClick(() => showRun(run)) }, text);
}
