// Line diff, unified or side by side.

import { h } from "../../core/dom.js";
import { formatNumber, plural } from "../../core/format.js";

const MIN_SPLIT_WIDTH = 760; // minimum width in pixels for two columns
const MAX_EXPANDED = 1000; // lines expanded at once

/** Render a diff's `text`; `offer` receives the button that switches the layout. */
export function renderTextDiff(file, { before, after, text }, addTool) {
  if (!text.rows.length) return {};
  const table = h("table", { class: "lines", tabindex: "0", "aria-label": `Changes to ${file.name}` });
  const element = h("div", { class: "lines-box" }, table);
  if (text.truncated) element.append(h("p", { class: "note" }, "Only the first changes are shown."));
  if (before && after && text.lacks_final_newline[0] !== text.lacks_final_newline[1]) {
    element.append(h("p", { class: "note" }, text.lacks_final_newline[1] ? "The newline at the end of the file was removed." : "A newline was added at the end of the file."));
  }
  const both = Boolean(before && after);
  let chosen = null;
  let split = null;
  const splitButton = h("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => layout((chosen = !split)) }, "Side by side");
  if (both) addTool(splitButton);
  const layout = (wanted) => {
    const sideBySide = both && wanted;
    if (sideBySide === split) return;
    split = sideBySide;
    splitButton.setAttribute("aria-pressed", String(sideBySide));
    table.classList.toggle("split", sideBySide);
    const format = sideBySide ? SPLIT : UNIFIED;
    table.replaceChildren(h("colgroup", {}, ...format.columns.map((each) => h("col", { class: each }))), diffBody(file, text.rows, format));
  };
  const size = new ResizeObserver(([{ contentRect }]) => layout(chosen ?? contentRect.width >= MIN_SPLIT_WIDTH));
  size.observe(element);
  layout(false);
  return { element, close: () => size.disconnect(), summary: changeCounts(text) };
}

const changeCounts = ({ added, removed }) => [
  h("b", { class: "add", "aria-label": `${plural(added, "line")} added` }, `+${formatNumber(added)}`),
  h("b", { class: "del", "aria-label": `${plural(removed, "line")} removed` }, `−${formatNumber(removed)}`),
];

function diffBody(file, rows, format) {
  const tbody = h("tbody");
  let changed = [];
  const flush = () => {
    tbody.append(...format.changed(changed));
    changed = [];
  };
  for (const row of rows) {
    if (row[0] !== "=" && row[0] !== "…") {
      changed.push(row);
      continue;
    }
    flush();
    tbody.append(row[0] === "=" ? format.same(row[1], row[2], row[3]) : gapRow(file, row, format));
  }
  flush();
  return tbody;
}

/** Collapsed equal lines. */
function gapRow(file, [, before, after, count], format) {
  const words = plural(count, "unchanged line");
  const button = h("button", { type: "button" }, `⋯ ${words}`);
  const row = h("tr", { class: "gap" }, h("td", { colspan: "4" }, button));
  button.addEventListener("click", async () => {
    const focused = document.activeElement === button;
    button.disabled = true;
    try {
      const { text } = await file.ask({ start: after, count: Math.min(count, MAX_EXPANDED) });
      const shown = text.lines.map((line, at) => format.same(before + at, after + at, line));
      const left = count - shown.length;
      const rest = left > 0 && shown.length ? [gapRow(file, ["…", before + shown.length, after + shown.length, left], format)] : [];
      row.replaceWith(...shown, ...rest);
      if (focused) (rest[0]?.querySelector("button") ?? shown[0]?.closest("table"))?.focus({ preventScroll: true });
    } catch (error) {
      button.textContent = error.message;
      button.disabled = false;
      if (focused) button.focus();
    }
  });
  return row;
}

const UNIFIED = {
  columns: ["number", "number", "sign", "text"],
  same: (before, after, text) => h("tr", {}, lineNumber(before), lineNumber(after), signCell(" "), textCell([text])),
  *changed(rows) {
    for (const row of rows) {
      const [kind, line, ...rest] = row;
      if (kind === "-" || kind === "~") yield h("tr", { class: "del" }, lineNumber(line), lineNumber(""), signCell("−"), textCell(kind === "-" ? rest[0] : rest[1], "del"));
    }
    for (const row of rows) {
      if (row[0] === "+") yield h("tr", { class: "add" }, lineNumber(""), lineNumber(row[1]), signCell("+"), textCell(row[2], "ins"));
      if (row[0] === "~") yield h("tr", { class: "add" }, lineNumber(""), lineNumber(row[2]), signCell("+"), textCell(row[4], "ins"));
    }
  },
};

const SPLIT = {
  columns: ["number", "text", "number", "text"],
  same: (before, after, text) => h("tr", {}, lineNumber(before), textCell([text]), lineNumber(after), textCell([text])),
  *changed(rows) {
    let [removed, added] = [[], []];
    const rest = function* () {
      for (let index = 0; index < Math.max(removed.length, added.length); index++) {
        yield splitRow(removed[index]?.[1], removed[index]?.[2], added[index]?.[1], added[index]?.[2]);
      }
      [removed, added] = [[], []];
    };
    for (const row of rows) {
      if (row[0] === "-") removed.push(row);
      else if (row[0] === "+") added.push(row);
      else {
        yield* rest();
        yield splitRow(row[1], row[3], row[2], row[4]);
      }
    }
    yield* rest();
  },
};

function splitRow(before, old, after, now) {
  const [left, right] = [textCell(old ?? [], "del"), textCell(now ?? [], "ins")];
  left.className = old ? "del" : "absent";
  right.className = now ? "add" : "absent";
  return h("tr", {}, lineNumber(before ?? "", old ? "del" : "absent"), left, lineNumber(after ?? "", now ? "add" : "absent"), right);
}

/** A line number, drawn by CSS so that it is not copied. */
const lineNumber = (line, kind = null) => h("th", { scope: "row", class: kind, "data-at": line });

const signCell = (text) => h("td", { class: "sign", "data-at": text, "aria-label": { "+": "added", "−": "removed" }[text] });

/** A line of alternating equal and differing parts. */
function textCell(parts, mark = "") {
  const cell = h("td", {}, ...parts.map((part, index) => (index % 2 && mark ? h(mark, {}, part) : part)));
  cell.dir = "ltr";
  return cell;
}
