// How a step changed a file: lines, images or the facts of both versions.

import { h } from "../../core/dom.js";
import { bytes, plural } from "../../core/format.js";
import { emit } from "../../core/session.js";
import { lines } from "./text_diff.js";
import { pictures } from "./image_diff.js";

export function open(file, view) {
  const { before, after, step } = view;
  const bar = h("div", { class: "about" }, h("span", {}, what(before, after), ` step ${step}`));
  const element = h("div", { class: "difference" }, bar);
  const said = sentence(view);
  if (said) element.append(h("p", { class: "note" }, said));
  const tools = [];
  const shown = SHOWN[view.shows](file, view, (tool) => tools.push(tool));
  if (shown.element) element.append(shown.element);
  if (after?.kind === "file" && after.kept !== false) tools.push(asItWas(file, step));
  bar.append(...(shown.tells ?? []), h("span", { class: "grow" }), ...tools);
  file.tell(`changes in step ${step}`);
  return { element, close: shown.close };
}

const SHOWN = { text: lines, pictures, facts };

const what = (before, after) => (!before ? "created by" : !after ? "deleted by" : "changed by");

function asItWas(file, step) {
  const look = () => emit("past", { path: file.path, step: Number(step) });
  const here = Boolean(document.querySelector(".workspace"));
  if (!here) return h("a", { class: "quiet", href: apart(file, step) }, `After step ${step}`);
  return h("button", { type: "button", class: "quiet", title: `Show the file after step ${step}`, onclick: look }, `After step ${step}`);
}

function apart(file, step) {
  const address = new URL(location.href);
  address.searchParams.delete("compared");
  address.searchParams.set("step", step);
  return address.href;
}

/** The message above or instead of the diff. */
function sentence({ before, after, step, shows, why, text }) {
  if (why) return why;
  if (shows !== "text" || text.added || text.removed) return "";
  if (before && after && before.mode !== after.mode) {
    return `Only the permissions changed: ${octal(before.mode)} → ${octal(after.mode)}.`;
  }
  if (!before || !after) return "The file is empty.";
  return `Step ${step} did not change this file.`;
}

const octal = (mode) => mode.toString(8).padStart(3, "0");

/** Sizes and hashes, for contents that cannot be displayed. */
function facts(file, { before, after, step }) {
  const rows = [
    ["kind", (side) => side.kind],
    ["size", (side) => (side.kind === "file" ? `${bytes(side.size)} (${plural(side.size, "byte")})` : "")],
    ["target", (side) => side.target ?? ""],
    ["permissions", (side) => octal(side.mode)],
    ["SHA-256", (side) => side.hash ?? ""],
  ].map(([name, tell]) => [name, before ? tell(before) : "", after ? tell(after) : ""]);
  const line = ([name, old, now]) => h("tr", { class: before && after && old !== now ? "differs" : null },
    h("th", { scope: "row" }, name), h("td", {}, old), h("td", {}, now));
  const load = (side, at) => (side?.kind === "file" && side.kept !== false
    ? h("a", { class: "quiet", href: file.address("files", { step: at }), download: file.name }, "Download") : "");
  return {
    element: h("table", { class: "facts" },
      h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col" }, before ? `before step ${step}` : "did not exist"),
        h("th", { scope: "col" }, after ? `after step ${step}` : "deleted"))),
      h("tbody", {}, ...rows.filter(([, old, now]) => old || now).map(line),
        h("tr", {}, h("td"), h("td", {}, load(before, step - 1)), h("td", {}, load(after, step))))),
  };
}
