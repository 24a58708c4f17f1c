// The script of a report, bundled into one file and inlined: its only script. It loads nothing.

import { h, iconButton } from "../core/dom.js";
import { enableDownloads } from "./downloads.js";
import { Player } from "./player.js";

const root = document.documentElement;
const data = JSON.parse(document.getElementById("report-data").textContent);

const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** @returns {HTMLDetailsElement[]} */
const detailsOf = (selector) => [...document.querySelectorAll(selector)];

/** Expand all calls and reasoning, or collapse them. */
function toggleAll() {
  const all = detailsOf(".step details");
  const open = all.some((each) => !each.open);
  for (const each of all) each.open = open;
}

const tools = h("div", { class: "tools" });
if (data.kind === "run") tools.append(iconButton("expand", "Expand or collapse all", toggleAll, { class: "" }));
tools.append(iconButton("theme", "Light or dark", () => (root.dataset.theme = isDark() ? "light" : "dark"), { class: "" }));
document.querySelector(".report-header").append(tools);

enableDownloads(document);
addEventListener("beforeprint", () => {
  for (const each of detailsOf(".card")) each.open = true;
});
if (data.kind === "run" && data.steps.length) new Player(document.getElementById("player"), data.steps);
