// Verdicts of a replay: their words, and a badge for a step or a run.

import { h } from "../core/dom.js";
import { plural } from "../core/format.js";

/** The verdicts, from best to worst. */
const VERDICTS = {
  same: { label: "Same", short: "same", tone: "good", about: "Exit codes, outputs and files are equal." },
  volatile: {
    label: "Same but for volatile parts",
    short: "volatile",
    tone: "good",
    about: "Only parts differ that differ in every execution, such as times.",
  },
  unverified: { label: "Unverified", short: "unverified", tone: "warn", about: "It cannot be told whether it is the same." },
  differs: { label: "Differs", short: "different", tone: "bad", about: "The result is another one than recorded." },
};

const UNKNOWN = { label: "Unknown", short: "unknown", tone: "warn", about: "A newer version wrote this verdict." };

/** The words of a verdict, also of one that this version does not know. */
export const wordsOf = (verdict) => (Object.hasOwn(VERDICTS, verdict) ? VERDICTS[verdict] : UNKNOWN);

/** Create the badge of a verdict. */
export function createVerdictBadge(verdict, label = wordsOf(verdict).label) {
  const { tone, about } = wordsOf(verdict);
  return h("span", { class: "verdict-badge", "data-tone": tone, "data-verdict": verdict, title: about }, label);
}

/** How many steps have each verdict, in words, worst first, of a run's `ReplaySummary`. */
export function describeCounts({ steps, counts }, running = false) {
  const parts = Object.keys(VERDICTS)
    .filter((verdict) => counts[verdict])
    .reverse()
    .map((verdict) => `${counts[verdict]} ${wordsOf(verdict).short}`);
  const missing = steps - Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (missing > 0) parts.push(`${missing} ${running ? "to go" : "not reached"}`);
  return `${plural(steps, "step")}: ${parts.join(", ")}`;
}
