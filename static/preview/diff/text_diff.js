// Line diff, unified or side by side.

import { h } from "../../core/dom.js";
import { number, plural } from "../../core/format.js";

const WIDE = 760; // minimum width in pixels for two columns
const MOST = 1000; // lines expanded at once

/** Render a diff's `text`; `offer` receives the button that switches the layout. */
export function lines(file, { before, after, text }, offer) {
  if (!text.rows.length) return {};
  const table = h("table", { class: "lines", tabindex: "0", "aria-label": `Changes to ${file.name}` });
  const element = h("div", { class: "lines-box" }, table);
  if (text.cut) element.append(h("p", { class: "note" }, "Only the first changes are shown."));
  if (before && after && text.unended[0] !== text.unended[1]) {
    element.append(h("p", { class: "note" }, text.unended[1] ? "The newline at the end of the file was removed." : "A newline was added at the end of the file."));
  }
  const both = Boolean(before && after);
  let chosen = null;
  let split = null;
  const turn = h("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => lay((chosen = !split)) }, "Side by side");
  if (both) offer(turn);
  const lay = (wanted) => {
    const beside = both && wanted;
    if (beside === split) return;
    split = beside;
    turn.setAttribute("aria-pressed", String(beside));
    table.classList.toggle("split", beside);
    const form = beside ? SPLIT : UNIFIED;
    table.replaceChildren(h("colgroup", {}, ...form.columns.map((each) => h("col", { class: each }))), body(file, text.rows, form));
  };
  const size = new ResizeObserver(([{ contentRect }]) => lay(chosen ?? contentRect.width >= WIDE));
  size.observe(element);
  lay(false);
  return { element, close: () => size.disconnect(), tells: tells(text) };
}

const tells = ({ added, removed }) => [
  h("b", { class: "add", "aria-label": `${plural(added, "line")} added` }, `+${number(added)}`),
  h("b", { class: "del", "aria-label": `${plural(removed, "line")} removed` }, `−${number(removed)}`),
];

function body(file, rows, form) {
  const made = h("tbody");
  let changed = [];
  const flush = () => {
    made.append(...form.changed(changed));
    changed = [];
  };
  for (const row of rows) {
    if (row[0] !== "=" && row[0] !== "…") {
      changed.push(row);
      continue;
    }
    flush();
    made.append(row[0] === "=" ? form.same(row[1], row[2], row[3]) : gap(file, row, form));
  }
  flush();
  return made;
}

/** Collapsed equal lines. */
function gap(file, [, before, after, count], form) {
  const words = plural(count, "unchanged line");
  const button = h("button", { type: "button" }, `⋯ ${words}`);
  const row = h("tr", { class: "gap" }, h("td", { colspan: "4" }, button));
  button.addEventListener("click", async () => {
    const focused = document.activeElement === button;
    button.disabled = true;
    try {
      const { text } = await file.ask({ from: after, count: Math.min(count, MOST) });
      const shown = text.lines.map((line, at) => form.same(before + at, after + at, line));
      const left = count - shown.length;
      const rest = left > 0 && shown.length ? [gap(file, ["…", before + shown.length, after + shown.length, left], form)] : [];
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
  same: (before, after, text) => h("tr", {}, at(before), at(after), sign(" "), words([text])),
  *changed(rows) {
    for (const row of rows) {
      const [kind, number_, ...rest] = row;
      if (kind === "-" || kind === "~") yield h("tr", { class: "del" }, at(number_), at(""), sign("−"), words(kind === "-" ? rest[0] : rest[1], "del"));
    }
    for (const row of rows) {
      if (row[0] === "+") yield h("tr", { class: "add" }, at(""), at(row[1]), sign("+"), words(row[2], "ins"));
      if (row[0] === "~") yield h("tr", { class: "add" }, at(""), at(row[2]), sign("+"), words(row[4], "ins"));
    }
  },
};

const SPLIT = {
  columns: ["number", "text", "number", "text"],
  same: (before, after, text) => h("tr", {}, at(before), words([text]), at(after), words([text])),
  *changed(rows) {
    let [gone, come] = [[], []];
    const rest = function* () {
      for (let place = 0; place < Math.max(gone.length, come.length); place++) {
        yield pair(gone[place]?.[1], gone[place]?.[2], come[place]?.[1], come[place]?.[2]);
      }
      [gone, come] = [[], []];
    };
    for (const row of rows) {
      if (row[0] === "-") gone.push(row);
      else if (row[0] === "+") come.push(row);
      else {
        yield* rest();
        yield pair(row[1], row[3], row[2], row[4]);
      }
    }
    yield* rest();
  },
};

function pair(before, old, after, now) {
  const [left, right] = [words(old ?? [], "del"), words(now ?? [], "ins")];
  left.className = old ? "del" : "none";
  right.className = now ? "add" : "none";
  return h("tr", {}, at(before ?? "", old ? "del" : "none"), left, at(after ?? "", now ? "add" : "none"), right);
}

/** A line number, drawn by CSS so that it is not copied. */
const at = (number_, kind = null) => h("th", { scope: "row", class: kind, "data-at": number_ });

const sign = (text) => h("td", { class: "sign", "data-at": text, "aria-label": { "+": "added", "−": "removed" }[text] });

/** A line of alternating equal and differing parts. */
function words(parts, mark = "") {
  const cell = h("td", {}, ...parts.map((part, place) => (place % 2 && mark ? h(mark, {}, part) : part)));
  cell.dir = "ltr";
  return cell;
}
