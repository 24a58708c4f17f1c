// Words and figures of evaluations: outcomes, shares, intervals, durations.

import { formatNumber, formatSeconds, plural } from "../core/format.js";

/** The outcomes of a cell, in the order of the filter: name → { text, mark, tone }. */
export const OUTCOMES = {
  right: { text: "right", mark: "✓", tone: "good" },
  wrong: { text: "wrong", mark: "✗", tone: "bad" },
  partial: { text: "partial", mark: "◐", tone: "part" },
  unscored: { text: "unscored", mark: "?", tone: "warn" },
  infrastructure: { text: "infrastructure error", mark: "!", tone: "warn" },
  running: { text: "running", mark: "▸", tone: "live" },
  waiting: { text: "waiting", mark: "·", tone: "idle" },
  stopped: { text: "stopped", mark: "■", tone: "idle" },
};

const NOT_KNOWN = "–";
const isKnown = (value) => typeof value === "number" && Number.isFinite(value);

/** A share as a percentage; a value that is not known is not 0. */
export const percent = (value, digits = 1) => (isKnown(value) ? `${(100 * value).toFixed(digits)} %` : NOT_KNOWN);

/** A gain in points, with its sign. */
export function points(value) {
  if (!isKnown(value)) return NOT_KNOWN;
  const text = (100 * value).toFixed(1);
  return value > 0 ? `+${text}` : text.replace("-", "−");
}

export const interval = (low, high) => (isKnown(low) && isKnown(high) ? `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`.replaceAll("-", "−") : "");

export const count = (value) => (isKnown(value) ? formatNumber(Math.round(value)) : NOT_KNOWN);

export const decimal = (value, digits = 1) => (isKnown(value) ? value.toFixed(digits) : NOT_KNOWN);

/** The remaining time as words; empty if it is not known. */
export const remainingText = (seconds) => (isKnown(seconds) ? `about ${formatSeconds(seconds)} left` : "");

export const domainName = (domain) => (domain === "all" ? "All domains" : domain.charAt(0).toUpperCase() + domain.slice(1));

const STATES = {
  running: { tone: "live", live: true },
  finished: { tone: "good", live: false },
  stopped: { tone: "idle", live: false },
  interrupted: { tone: "warn", live: false },
};

/** The evaluation as a whole as { text, tone, live }, for the page's header. */
export function evaluationState({ state, counts }) {
  const progress = `${formatNumber(counts.done)} of ${plural(counts.total, "run")}`;
  return { ...STATES[state], text: state === "running" || state === "finished" ? progress : `${state} · ${progress}` };
}
