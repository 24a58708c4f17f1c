// The list of runs: its rows, grouped by day, created once and updated in place.

import { h, iconButton, setChildren } from "../core/dom.js";
import { runUrl, dayHeading, runFacts, highlightTerms, thumbnails, timeOfDay, runTitle, originLine } from "../core/run/run_summary.js";
import { groupCells, isGroup } from "./group_row.js";
import { currentRun } from "../core/event_stream.js";

const IN_TITLE = "In the title";
const DRAFTS = "Drafts: not sent yet, deleted after a week";

/** Create a run's row; `searched` is highlighted, `now` is the server's clock. */
export function createRow(row, options) {
  const element = h("li", { class: "entry", "data-run": row.run });
  updateRow(element, row, options);
  return element;
}

/** Update a row and keep the focus within it. */
export function updateRow(element, row, options) {
  const { searched, selected, now } = options;
  const title = runTitle(row);
  const tool = (name, iconName, label, key) =>
    iconButton(iconName, `${label} (${key})`, null, { class: `quiet ${name}`, tabindex: "-1", "aria-label": `${label} “${title}”` });
  const focusedClass = element.contains(document.activeElement) ? document.activeElement.className : null;
  const actions = h(
    "span",
    { class: "row-actions" },
    ...(row.error || row.draft ? [] : [pinButton(row.pinned, title), tool("rename", "edit", "Rename", "F2")]),
    tool("delete", "trash", "Delete", "Delete"),
    ...(row.parent || row.forked ? [tool("relatives", "fork", "Forks and replays of", "f")] : []),
  );
  element.classList.toggle("comparison-entry", isGroup(row));
  element.classList.toggle("made", Boolean(row.parent));
  if (isGroup(row)) element.replaceChildren(...groupCells(row, options, actions));
  else
    element.replaceChildren(
      h("input", { type: "checkbox", tabindex: "-1", "aria-label": `Select “${title}”`, ...(selected ? { checked: true } : {}) }),
      h(
        "a",
        { class: "open", href: runUrl(row.run), "aria-current": row.run === currentRun.id ? "page" : null },
        h("b", { class: "title", dir: "auto" }, ...highlightTerms(title, searched)),
        originLine(row),
        h("span", { class: "facts" }, ...runFacts(row, now)),
        row.excerpt ? h("span", { class: "found", dir: "auto" }, matchPlace(row.match), ...highlightTerms(row.excerpt, searched)) : null,
      ),
      h("span", { class: "thumbnails" }, ...thumbnails(row)),
      h("time", { class: "num", datetime: new Date(row.at * 1000).toISOString() }, timeOfDay(row.at)),
      actions,
    );
  if (focusedClass) element.querySelector(`.${focusedClass.split(" ").at(-1) || "open"}`)?.focus();
}

/** The place of a search match in the conversation. */
function matchPlace(match) {
  const name = { step: `Step ${match?.step}`, asked: "Task", answer: "Answer" }[match?.part];
  return name ? h("span", { class: "place" }, name) : null;
}

function pinButton(pinned, title) {
  const label = pinned ? "Pinned: never deleted automatically" : "Pin: never delete automatically (p)";
  const pressed = String(Boolean(pinned));
  return iconButton("pin", label, null, { class: "quiet pin", tabindex: "-1", "aria-pressed": pressed, "aria-label": `Pin “${title}”` });
}

/** Order of rows: drafts, then those with the searched words in their titles; newest first. */
export const compareRows = (one, other) =>
  Number(Boolean(other.draft)) - Number(Boolean(one.draft)) ||
  Number(Boolean(other.in_title)) - Number(Boolean(one.in_title)) ||
  other.at - one.at ||
  (other.run < one.run ? -1 : 1);

/** Arrange rows (`{ row, element }`) in the list, by day. */
export function arrangeRows(body, entries, now) {
  const sorted = [...entries].sort(({ row: one }, { row: other }) => compareRows(one, other));
  const heading = (row) => (row.draft ? DRAFTS : row.in_title ? IN_TITLE : dayHeading(row.at, now));
  const days = Map.groupBy(sorted, ({ row }) => heading(row));
  setChildren(
    body,
    [...days].map(([name, each]) =>
      daySection(
        body,
        name,
        each.map(({ element }) => element),
      ),
    ),
  );
}

function daySection(body, name, elements) {
  const existing = [...body.children].find((each) => each.dataset.day === name);
  const section = existing ?? h("section", { "data-day": name, "aria-label": name }, h("h3", {}, name), h("ul"));
  setChildren(section.lastChild, elements);
  return section;
}
