// The family of a run: its parent and its forks, as chips in the run's head.

import { h } from "../core/dom.js";
import { emit, fetchJson, on } from "../core/event_stream.js";
import { plural } from "../core/format.js";
import { stateLabel } from "../core/run_states.js";
import { openRun } from "../core/view.js";
import { runUrl } from "../history/run_summary.js";
import { addOriginChip, originChip } from "../timeline/origin.js";

const KINDS = { fork: "fork of", replay: "replay of" };

addOriginChip(async (run) => {
  if (!run.parent) return null;
  const { parent } = await familyOf(run);
  return parent && parentChip(parent);
}, 10);

addOriginChip(async (run) => {
  const forks = (await familyOf(run)).children.filter(({ kind }) => kind === "fork"); // static/replay/ shows the replays
  return forks.length ? forksChip(forks) : null;
}, 20);

on("message-sent", () => emit("family")); // a fork may have been made in another tab

/** @type {WeakMap<any, { id: string, at: number, family: Promise<any> }>} */
const known = new WeakMap();

/** The family of a run; both chips share one request. */
function familyOf(run) {
  const last = known.get(run);
  if (last?.id === run.id && Date.now() - last.at < 1000) return last.family;
  const family = fetchJson(run.url("family")).catch(() => ({ parent: null, children: [] })); // the chips are an extra
  known.set(run, { id: run.id, at: Date.now(), family });
  return family;
}

/** What a run was made from, such as “fork of Title at step 4”. */
export function parentChip({ run, step, kind, title, exists, visible }) {
  const label = KINDS[kind] ?? "made from";
  const place = kind !== "fork" ? "" : step ? ` at step ${step}` : " from its start";
  if (!visible) return originChip(`${label} ${exists ? "another run" : "a deleted run"}${place}`, "");
  const options = { title: `Open “${title}”${step ? ` at step ${step}` : ""}`, onclick: () => openRun(run, step || null) };
  const chip = originChip(label, title || "Untitled run", options);
  chip.append(place.trim());
  return chip;
}

function forksChip(forks) {
  const rows = forks.map(({ run, step, title, model, state, running }) => {
    const about = [`step ${step}`, model, state ? stateLabel({ state, running }) : ""].filter(Boolean).join(" · ");
    const open = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      openRun(run);
    };
    return h("li", {}, h("a", { href: runUrl(run), onclick: open }, h("span", { dir: "auto" }, title || "Untitled run"), h("small", { class: "num" }, about)));
  });
  const list = h(
    "details",
    { class: "children" },
    h("summary", { class: "chip" }, plural(forks.length, "fork")),
    h("ul", { "aria-label": "Forks of this run" }, ...rows),
  );
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !list.open) return;
    event.stopPropagation();
    list.open = false;
    list.querySelector("summary").focus();
  });
  list.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !list.contains(relatedTarget)) list.open = false;
  });
  return list;
}
