// An experiment in words and figures: states, outcomes, scores, shares, announcements.

import { formatNumber, plural } from "../core/format.js";
import { stateLabel, stateTone } from "../core/run/run_states.js";
import { parameterTexts } from "./members/member.js";

/** The outcomes of a task's runs, in the order of the filter: name → { text, mark, tone }. */
export const OUTCOMES = {
  right: { text: "right", mark: "✓", tone: "good" },
  wrong: { text: "wrong", mark: "✗", tone: "bad" },
  partial: { text: "partial", mark: "◐", tone: "warn" },
  unscored: { text: "unscored", mark: "?", tone: "warn" },
  infrastructure: { text: "infrastructure error", mark: "!", tone: "warn" },
  running: { text: "running", mark: "▸", tone: "live" },
  waiting: { text: "waiting", mark: "·", tone: "idle" },
  stopped: { text: "stopped", mark: "■", tone: "idle" },
};

/** The tones of an experiment's states. */
export const TONES = { running: "live", finished: "good", stopped: "idle", interrupted: "warn" };

const NOT_KNOWN = "–";
export const isKnown = (value) => typeof value === "number" && Number.isFinite(value);

/** A share as a percentage; a value that is not known is not 0. */
export const percent = (value, digits = 1) => (isKnown(value) ? `${(100 * value).toFixed(digits)} %` : NOT_KNOWN);

/** A gain in points, with its sign. */
export const points = (value) => (isKnown(value) ? `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`.replace("-", "−") : NOT_KNOWN);

export const gainSign = (value) => (value > 0 ? "up" : value < 0 ? "down" : "same");

export const interval = (low, high) => (isKnown(low) && isKnown(high) ? `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`.replaceAll("-", "−") : "");

const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const domainName = (domain) => ({ all: "All domains", mean: "Mean over domains" })[domain] ?? capitalised(domain);

/** What an experiment is called: a comparison has one task, an evaluation suites of them. */
const nounOf = ({ suites }) => (suites ? "evaluation" : "comparison");

/** How a member's score of a task can stand to its baseline's. */
export const DIFFERENCES = { better: "Better than its baseline", worse: "Worse than its baseline", same: "Same as its baseline" };

/** The members, the baseline first. */
export const inOrder = ({ members, baseline }) => [members[baseline], ...members.filter(({ index }) => index !== baseline)];

/** Whether a repetition needs no more waiting: it ended, or its run was deleted. */
export const isOver = ({ running, deleted }) => deleted || !running;

/** A score as a word; empty if it is not known. */
function scoreWord(score) {
  if (!isKnown(score)) return "";
  if (score === 1) return "right";
  return score === 0 ? "wrong" : `score ${score.toFixed(2)}`;
}

/** One run of a member as { text, tone, live }. */
export function runOutcome(run) {
  if (!run) return { text: "not started", tone: "idle", live: false };
  if (run.deleted) return { text: "deleted", tone: "idle", live: false };
  const live = !isOver(run);
  if (run.outcome) return { ...OUTCOMES[run.outcome], live };
  const status = { state: run.state, running: live, progress: null, detail: "" };
  const score = live ? "" : scoreWord(run.score);
  return { text: [stateLabel(status), score].filter(Boolean).join(" · "), tone: score === "wrong" ? "bad" : stateTone(status), live };
}

/** The experiment as a whole as { text, tone, live }, for the page's header. */
export function experimentState(experiment) {
  const { state, counts } = experiment;
  const { done, total, infrastructure } = counts;
  const ended = `${formatNumber(done)} of ${formatNumber(total)} finished`;
  const isCounted = state === "running" || state === "finished";
  return {
    text: isCounted ? ended : `${state} · ${ended}`,
    tone: state === "finished" && infrastructure === total ? "bad" : TONES[state],
    live: state === "running",
  };
}

/** The size of an experiment, beside its state. */
export function experimentSize({ suites, members, repetitions }) {
  if (suites) return `${plural(suites.length, "suite")} · ${plural(members.length, "member")}`;
  return repetitions > 1 ? plural(repetitions, "repetition") : "";
}

/** What a repetition is called in a chooser. */
export const repetitionLabel = (run) => `Run ${run.repetition} · ${(!run.deleted && !run.outcome && scoreWord(run.score)) || runOutcome(run).text}`;

/**
 * What a screen reader is told about a change: another state of the whole, or a member whose
 * repetitions have all ended; empty for everything between.
 */
export function announcement(before, after) {
  if (!before) return "";
  if (before.state !== after.state) {
    const verdict = after.state === "running" ? "" : (after.verdict?.text ?? "");
    return `The ${nounOf(after)} is ${after.state}. ${verdict}`.trim();
  }
  const done = ({ runs = [] }) => runs.filter(isOver).length >= after.repetitions;
  return after.members
    .filter((member, at) => done(member) && !done(before.members[at]))
    .map(({ label, runs }) => `${label}: ${runs.length > 1 ? `${plural(runs.length, "run")} finished` : runOutcome(runs[0]).text}.`)
    .join(" ");
}

/** The run of a member that its column shows: the chosen one, else the one that runs, else the last. */
export const shownRun = ({ runs = [] }, chosen) =>
  runs.find(({ run }) => run === chosen) ?? runs.find((run) => !isOver(run) && run.state !== "queued") ?? runs.findLast(isOver) ?? runs.at(-1) ?? null;

/** The members of an evaluation with their runs of one task. */
export const membersOfTask = ({ members, cells }, task) => members.map((member) => ({ ...member, runs: cells[task][member.index].runs.map(runOfCell) }));

const runOfCell = (run) => ({
  ...run,
  running: run.outcome === "running" || run.outcome === "waiting",
  state: run.outcome === "waiting" ? "queued" : run.outcome,
});

/** The settings of a member that distinguish it, in a few words. */
export function settingsText({ model, settings }) {
  const { maxSteps, prompt, network } = settings;
  return [
    model,
    ...parameterTexts(settings),
    maxSteps ? plural(maxSteps, "step") : "",
    prompt && prompt !== "general" ? `prompt ${prompt}` : "",
    network && network !== "open" ? `network ${network}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

const SETTING_NAMES = { maxSteps: "steps", maxTokens: "tokens per answer", topP: "top p", baseUrl: "endpoint", extraBody: "request body" };

/** What a reader must know about limits that differ between the members; empty if none do. */
export const unequalNote = ({ unequal = [] }) => (unequal.length ? `Unequal limits: ${unequal.map((name) => SETTING_NAMES[name] ?? name).join(", ")}` : "");

/** A member's pass@k and pass^k in a domain for a k; of the mean over domains, only where each has one. */
export function passOf(result, domain, results, k) {
  if (!k || k === result.k) return {};
  const parts = domain === "mean" ? results.filter((each) => !["all", "mean"].includes(each.domain)).map(({ members }) => members[result.member]) : [result];
  const known = parts.map(({ pass = [] }) => pass.find((each) => each.k === k)).filter(Boolean);
  if (!known.length || known.length < parts.length) return { k: null };
  const mean = (name) => known.reduce((sum, each) => sum + each[name], 0) / known.length;
  return { k, passAt: mean("at"), passHat: mean("hat") };
}
