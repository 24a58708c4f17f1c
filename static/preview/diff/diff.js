// How a step changed a file: lines, images or the facts of both versions.

import { h } from "../../core/dom.js";
import { formatBytes, formatMode, plural } from "../../core/format.js";
import { emit } from "../../core/event_stream.js";
import { renderTextDiff } from "./text_diff.js";
import { renderImageDiff } from "./image_diff.js";

export async function open(file, view) {
  const { before, after, step } = view;
  const between = hasBase(view);
  const title = between ? `from step ${view.base} to step ${step}` : `${changeVerb(before, after)} step ${step}`;
  const bar = h("div", { class: "about" }, h("span", {}, title));
  const element = h("div", { class: "difference" }, bar);
  const tools = [];
  const content = await RENDERERS[view.display](file, view, (tool) => tools.push(tool));
  const message = view.reason || content.message;
  if (message) element.append(h("p", { class: "note" }, message));
  if (content.element) element.append(content.element);
  if (after?.kind === "file" && after.kept !== false) tools.push(versionButton(file, step));
  bar.append(...(content.summary ?? []), h("span", { class: "grow" }), ...tools);
  file.setDetails(between ? `changes from step ${view.base} to ${step}` : `changes in step ${step}`);
  return { element, close: content.close };
}

const RENDERERS = { text: renderTextDiff, images: renderImageDiff, metadata: renderFacts };

/** Whether two steps' versions are compared, instead of those before and after one step. */
const hasBase = ({ base }) => (base ?? null) !== null;

const changeVerb = (before, after) => (!before ? "created by" : !after ? "deleted by" : "changed by");

function versionButton(file, step) {
  const openVersion = () => emit("open-version", { path: file.path, step: Number(step) });
  const inStudio = Boolean(document.querySelector(".workspace"));
  if (!inStudio) return h("a", { class: "quiet", href: versionUrl(step) }, `After step ${step}`);
  return h("button", { class: "quiet", title: `Show the file after step ${step}`, onclick: openVersion }, `After step ${step}`);
}

function versionUrl(step) {
  const address = new URL(location.href);
  address.searchParams.delete("compared");
  address.searchParams.set("step", step);
  return address.href;
}

/** Sizes and hashes, for contents that cannot be displayed. */
function renderFacts(file, { before, after, step, base = null }) {
  /** @type {[string, (side: any) => string][]} */
  const facts = [
    ["kind", (side) => side.kind],
    ["size", (side) => (side.kind === "file" ? `${formatBytes(side.size)} (${plural(side.size, "byte")})` : "")],
    ["target", (side) => side.target ?? ""],
    ["permissions", (side) => formatMode(side.mode)],
    ["SHA-256", (side) => side.hash ?? ""],
  ];
  const rows = facts.map(([name, describe]) => [name, before ? describe(before) : "", after ? describe(after) : ""]);
  const line = ([name, old, now]) =>
    h("tr", { class: before && after && old !== now ? "differs" : null }, h("th", { scope: "row" }, name), h("td", {}, old), h("td", {}, now));
  const downloadLink = (side, at) =>
    side?.kind === "file" && side.kept !== false ? h("a", { class: "quiet", href: file.address("files", { step: at }), download: file.name }, "Download") : "";
  return {
    element: h(
      "table",
      { class: "facts" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td"),
          h("th", { scope: "col" }, !before ? "did not exist" : base === null ? `before step ${step}` : `after step ${base}`),
          h("th", { scope: "col" }, after ? `after step ${step}` : "deleted"),
        ),
      ),
      h(
        "tbody",
        {},
        ...rows.filter(([, old, now]) => old || now).map(line),
        h("tr", {}, h("td"), h("td", {}, downloadLink(before, base ?? step - 1)), h("td", {}, downloadLink(after, step))),
      ),
    ),
  };
}
