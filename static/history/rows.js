// Rows of the run list, grouped by day; created once and updated in place.

import { h, icon } from "../core/dom.js";
import { addressOf, dayOf, factsOf, marked, shotsOf, timeOf, titleOf } from "./run_row.js";
import { session } from "../core/session.js";

const DRAFTS = "Drafts: not sent yet, deleted after a week";

/** Create a run's row; `searched` is highlighted, `now` is the server's clock. */
export function made(row, shown) {
  const element = h("li", { class: "entry", "data-run": row.run });
  fill(element, row, shown);
  return element;
}

/** Update a row and keep the focus within it. */
export function fill(element, row, { searched, chosen, now }) {
  const title = titleOf(row);
  const tool = (name, drawn, label) => h("button", { type: "button", class: `quiet ${name}`, tabindex: "-1", "aria-label": `${label} “${title}”`, title: label }, icon(drawn));
  const within = element.contains(document.activeElement) ? document.activeElement.className : null;
  element.replaceChildren(
    h("input", { type: "checkbox", tabindex: "-1", "aria-label": `Select “${title}”`, ...(chosen ? { checked: true } : {}) }),
    h("a", { class: "open", href: addressOf(row.run), "aria-current": row.run === session.run ? "page" : null },
      h("b", { class: "title", dir: "auto" }, ...marked(title, searched)),
      h("span", { class: "facts" }, ...factsOf(row, now)),
      row.found ? h("span", { class: "found", dir: "auto" }, ...marked(row.found, searched)) : null),
    h("span", { class: "shots" }, ...shotsOf(row)),
    h("time", { class: "num", datetime: new Date(row.at * 1000).toISOString() }, timeOf(row.at)),
    h("span", { class: "acts" }, ...(row.problem || row.draft ? [] : [pin(row.pinned, title), tool("pen", "pen", "Rename")]), tool("bin", "bin", "Delete")));
  if (within) element.querySelector(`.${within.split(" ").at(-1) || "open"}`)?.focus();
}

function pin(pinned, title) {
  const label = pinned ? "Pinned: never deleted automatically" : "Pin: never delete automatically";
  return h("button", { type: "button", class: "quiet pin", tabindex: "-1", "aria-pressed": String(Boolean(pinned)), "aria-label": `Pin “${title}”`, title: label }, icon("pin"));
}

/** Arrange rows (`{ row, element }`) in the list: drafts first, then by day, newest first. */
export function arrange(body, entries, now) {
  const sorted = [...entries].sort(({ row: one }, { row: other }) =>
    Boolean(other.draft) - Boolean(one.draft) || other.at - one.at || (other.run < one.run ? -1 : 1));
  const days = Map.groupBy(sorted, ({ row }) => (row.draft ? DRAFTS : dayOf(row.at, now)));
  place(body, [...days].map(([name, each]) => day(body, name, each.map(({ element }) => element))));
}

function day(body, name, elements) {
  const known = [...body.children].find((each) => each.dataset.day === name);
  const section = known ?? h("section", { "data-day": name, "aria-label": name }, h("h3", {}, name), h("ul"));
  place(section.lastChild, elements);
  return section;
}

/** Put elements in order without moving those already in place. */
function place(parent, wanted) {
  let at = parent.firstChild;
  for (const element of wanted) {
    if (element === at) at = at.nextSibling;
    else parent.insertBefore(element, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
