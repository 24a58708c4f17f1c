// The family of a run as a tree: what it was made from, and all that was made from these.

import { h, loadStyles, plainClick } from "../core/dom.js";
import { apiUrl } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { stateElement, runTitle, runUrl } from "../core/run/run_summary.js";
import { openRun } from "../core/view.js";
import { openDialog } from "../core/widgets/dialog.js";

const UNAVAILABLE = { hidden: "A run you cannot open", deleted: "A deleted run" };

/**
 * Open the tree of a run's family.
 *
 * @param {string} run the run, which is marked
 * @param {{ onOpen?: () => void }} [options] `onOpen` is called before another run is opened
 */
export async function openFamily(run, { onOpen = () => {} } = {}) {
  const [{ members, more }] = await Promise.all([fetchJson(apiUrl(`runs/${run}/family/tree`)), loadStyles("fork/family.css")]);
  const choose = (member) => {
    dialog.close();
    onOpen();
    openRun(member.run);
  };
  const tree = h("ul", { role: "tree", "aria-labelledby": "family-title" }, ...members.map((member) => treeRow(member, member.run === run, choose)));
  tree.addEventListener("keydown", (event) => moveFocus(event, tree));
  const dialog = openDialog(
    { name: "family", title: "Forks and replays", dismissible: true },
    h("p", { class: "about" }, "All runs made from the same first run. Each stands below the run that it was made from."),
    tree,
    more ? h("p", { class: "about" }, `The first ${members.length} are shown. To find others, search in History.`) : null,
  );
  focusRow(tree, tree.querySelector("[aria-current]") ?? tree.querySelector(".member"));
}

function treeRow(member, isCurrent, choose) {
  const { depth, status, run } = member;
  const attributes = { class: "member", role: "treeitem", tabindex: "-1", "aria-level": String(depth + 1), style: `--depth: ${depth}` };
  if (status !== "open") {
    const label = UNAVAILABLE[status] ?? UNAVAILABLE.hidden;
    return h("li", { role: "none" }, h("span", { ...attributes, "aria-disabled": "true" }, h("span", { class: "dim" }, label)));
  }
  const link = h(
    "a",
    { ...attributes, href: runUrl(run), "aria-current": isCurrent ? "true" : null, onclick: plainClick(() => choose(member)) },
    h("b", { dir: "auto" }, runTitle(member)),
    h("span", { class: "facts" }, ...facts(member, isCurrent)),
  );
  return h("li", { role: "none" }, link);
}

function facts(member, isCurrent) {
  const { model } = member;
  return [
    isCurrent ? h("span", { class: "here" }, "this run") : null,
    origin(member),
    model ? h("span", { class: "model" }, model) : null,
    stateElement(member),
  ].filter(Boolean);
}

/** Where in its parent a member begins. */
function origin({ kind, step }) {
  if (!kind) return null;
  const text = kind === "replay" ? "replay" : step ? `fork at step ${step}` : "fork from the start";
  return h("span", { class: "num" }, text);
}

function focusRow(tree, row) {
  for (const each of tree.querySelectorAll(".member")) each.tabIndex = each === row ? 0 : -1;
  row?.focus();
}

/** The keys of a tree: up and down, left to the parent, right to the first below. */
function moveFocus(event, tree) {
  const rows = [...tree.querySelectorAll(".member")];
  const at = rows.indexOf(document.activeElement);
  const level = (row) => Number(row?.getAttribute("aria-level") ?? 0);
  const parent = rows.slice(0, Math.max(at, 0)).findLastIndex((row) => level(row) < level(rows[at]));
  const child = level(rows[at + 1]) > level(rows[at]) ? at + 1 : at;
  const to = { ArrowUp: at - 1, ArrowDown: at + 1, ArrowLeft: parent < 0 ? at : parent, ArrowRight: child, Home: 0, End: rows.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  focusRow(tree, rows[Math.max(0, Math.min(to, rows.length - 1))]);
}
