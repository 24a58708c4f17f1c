// The family of a run as chips in the run's head: its parent, and a button that opens the tree.

import { emit, on, reported } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { plural } from "../core/format.js";
import { openRun } from "../core/view.js";
import { addOriginChip, originChip } from "../core/run/origin.js";
import { openFamily } from "./family_dialog.js";

const KINDS = { fork: "fork of", replay: "replay of" };

addOriginChip(async (run) => {
  if (!run.parent) return null;
  const { parent } = await familyOf(run);
  return parent && parentChip(parent);
}, 10);

addOriginChip(async (run) => {
  const { parent, children } = await familyOf(run);
  return parent || children.length ? treeChip(run, children.filter(({ kind }) => kind === "fork").length) : null;
}, 20);

on("message-sent", () => emit("family")); // a fork may have been made in another tab

/** @type {WeakMap<any, { id: string, at: number, family: Promise<any> }>} */
const known = new WeakMap();

/** The family of a run; the chips share one request. */
function familyOf(run) {
  const last = known.get(run);
  if (last?.id === run.id && Date.now() - last.at < 1000) return last.family;
  const family = fetchJson(run.url("family")).catch(() => ({ parent: null, children: [] })); // the chips are an extra
  known.set(run, { id: run.id, at: Date.now(), family });
  return family;
}

/** What a run was made from, such as “fork of Title at step 4”. */
function parentChip({ run, step, kind, title, exists, visible }) {
  const label = KINDS[kind] ?? "made from";
  const place = kind !== "fork" ? "" : step ? ` at step ${step}` : " from its start";
  if (!visible) return originChip(`${label} ${exists ? "another run" : "a deleted run"}${place}`, "");
  const options = { title: `Open “${title}”${step ? ` at step ${step}` : ""}`, onclick: () => openRun(run, step || null) };
  const chip = originChip(label, title || "Untitled run", options);
  chip.append(place.trim());
  return chip;
}

function treeChip(run, forks) {
  const open = () => reported(openFamily(run.id));
  const chip = originChip(forks ? plural(forks, "fork") : "all forks and replays", "", { title: "Show all forks and replays as a tree", onclick: open });
  chip.setAttribute("aria-haspopup", "dialog");
  return chip;
}
