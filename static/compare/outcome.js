// What a comparison has come to, in words: states of its runs, scores, announcements.

import { formatNumber, plural } from "../core/format.js";
import { stateLabel, stateTone } from "../core/run/run_states.js";
import { parameterTexts } from "./members/member.js";

/** The members, the baseline first. */
export const inOrder = ({ members, baseline }) => [members[baseline], ...members.filter(({ index }) => index !== baseline)];

/** How many of the comparison's repetitions have ended: { ended, total }. */
export function progress({ members, repetitions }) {
  const ended = members.reduce((sum, { runs }) => sum + runs.filter(isOver).length, 0);
  const total = members.reduce((sum, { counts }) => sum + (counts?.total ?? repetitions), 0);
  return { ended: Math.min(ended, total), total };
}

/** Whether a repetition needs no more waiting: it ended, or its run was deleted. */
export const isOver = ({ running, status, deleted }) => deleted || (running === undefined ? Boolean(status) : !running);

/** A score as a word; empty if it is not known. */
function scoreWord(score) {
  if (score === null || score === undefined) return "";
  if (score === 1) return "right";
  return score === 0 ? "wrong" : `score ${score.toFixed(2)}`;
}

/** One run of a comparison as { text, tone, live }. */
export function runOutcome(run) {
  if (!run) return { text: "not started", tone: "idle", live: false };
  if (run.deleted) return { text: "deleted", tone: "idle", live: false };
  const live = !isOver(run);
  const status = { state: run.state, running: live, progress: null, detail: "" };
  const score = live ? "" : scoreWord(run.score);
  const tone = score === "wrong" ? "bad" : stateTone(status);
  return { text: [stateLabel(status), score].filter(Boolean).join(" · "), tone, live };
}

/** The comparison as a whole as { text, tone, live }, for the page's header. */
export function comparisonState(comparison) {
  const { ended, total } = progress(comparison);
  const count = `${formatNumber(ended)} of ${formatNumber(total)} finished`;
  if (comparison.state === "running") return { text: count, tone: "live", live: true };
  if (comparison.state === "finished") return { text: count, tone: isFailed(comparison) ? "bad" : "good", live: false };
  return { text: `${comparison.state} · ${count}`, tone: comparison.state === "stopped" ? "idle" : "warn", live: false };
}

const isFailed = ({ members }) => {
  const runs = members.flatMap(({ runs }) => runs).filter(({ deleted }) => !deleted);
  return runs.length > 0 && runs.every(({ status }) => status === "failed");
};

/** What a repetition is called in a chooser. */
export function repetitionLabel(run) {
  const { text } = runOutcome(run);
  return `Run ${run.repetition} · ${scoreWord(run.deleted ? null : run.score) || text}`;
}

/**
 * What a screen reader is told about a change: a member whose repetitions have all ended, or the end
 * of the comparison; empty for everything between.
 */
export function announcement(before, after) {
  if (!before) return "";
  if (before.state === "running" && after.state !== "running") return `The comparison is ${after.state}. ${after.verdict?.text ?? ""}`.trim();
  const done = ({ runs }, { repetitions }) => runs.filter(isOver).length >= repetitions;
  const finished = after.members.filter((member, at) => done(member, after) && !done(before.members[at], before));
  return finished
    .map(({ label, runs }) => `${label}: ${runs.length > 1 ? plural(runs.length, "run") : runOutcome(runs[0]).text}${runs.length > 1 ? " finished" : ""}.`)
    .join(" ");
}

/** The run of a member that its column shows: the chosen one, else the one that runs, else the last. */
export function shownRun(member, chosen) {
  const runs = member.runs ?? [];
  return runs.find(({ run }) => run === chosen) ?? runs.find((run) => !isOver(run) && run.state !== "queued") ?? runs.findLast(isOver) ?? runs.at(-1) ?? null;
}

/** The settings of a member that distinguish it, in a few words. */
export function settingsText({ model, settings }) {
  const { maxSteps, prompt, network } = settings ?? /** @type {Record<string, any>} */ ({});
  return [
    model,
    ...parameterTexts(settings ?? {}),
    maxSteps ? plural(maxSteps, "step") : "",
    prompt && prompt !== "general" ? `prompt ${prompt}` : "",
    network && network !== "open" ? `network ${network}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

const SETTING_NAMES = { maxSteps: "steps", maxTokens: "tokens per answer", topP: "top p", baseUrl: "endpoint", extraBody: "request body" };

/** What a reader must know about limits that differ between the members; empty if none do. */
export function unequalNote({ unequal = [] }) {
  return unequal.length ? `Unequal limits: ${unequal.map((name) => SETTING_NAMES[name] ?? name).join(", ")}` : "";
}
