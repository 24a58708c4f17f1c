// Line diff of two texts: the shortest edit script (Myers).

import { h } from "../../core/dom.js";
import { plural } from "../../core/format.js";
import { markInvisible } from "./rows.js";

const MAX_CHANGES = 1500; // differing lines; beyond this, the diff is one block
const CONTEXT_LINES = 3; // lines of context

/** Return the lines as [sign, line]: "=" in both, "-" in the first, "+" in the second. */
export function diffLines(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const same = (line) => ["=", line];
  return [
    ...a.slice(0, head).map(same),
    ...shortestEdit(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ];
}

function shortestEdit(a, b) {
  const traces = [];
  let reach = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(a.length + b.length, MAX_CHANGES); d++) {
    traces.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return backtrack(a, b, traces);
    }
  }
  return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
}

function backtrack(a, b, traces) {
  const found = [];
  let [x, y] = [a.length, b.length];
  for (let d = traces.length - 1; d >= 0; d--) {
    const reach = traces[d];
    const k = x - y;
    const from = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1)) ? k + 1 : k - 1;
    const [fromX, fromY] = [reach.get(from), reach.get(from) - from];
    while (x > fromX && y > fromY) found.push(["=", a[--x]]), y--;
    if (d === 0) break;
    if (x > fromX) found.push(["-", a[--x]]);
    else found.push(["+", b[--y]]);
  }
  return found.reverse();
}

/** Render a diff with equal lines collapsed. */
export function renderDiff(before, after, label) {
  const all = diffLines(before, after);
  const visible = new Set();
  all.forEach(([sign], at) => {
    if (sign !== "=") for (let near = at - CONTEXT_LINES; near <= at + CONTEXT_LINES; near++) visible.add(near);
  });
  const rows = [];
  let skipped = 0;
  const flush = () => {
    if (skipped) rows.push(h("div", { class: "omitted" }, plural(skipped, "unchanged line")));
    skipped = 0;
  };
  all.forEach(([sign, line], at) => {
    if (!visible.has(at)) return void skipped++;
    flush();
    const kind = { "+": "add", "-": "del", "=": "" }[sign];
    rows.push(h("div", { class: `row ${kind}`, "data-sign": sign === "=" ? " " : sign }, ...markInvisible(line)));
  });
  flush();
  return h("div", { class: "compared", tabindex: "0", role: "document", "aria-label": label }, ...rows);
}
