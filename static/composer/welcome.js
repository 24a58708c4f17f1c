// The page without a run: what this is, comparisons, demonstrations, and small tasks to try.

import { builtinDescription, builtinAvailable } from "../core/instance.js";
import { h, icon, plainClick } from "../core/dom.js";
import { runUrl, draftRow, stateElement, runTitle } from "../core/run/run_summary.js";
import { fetchExamples } from "../core/examples.js";
import { exampleDescription, exampleButtons, exampleFiles, isPlayable, exampleNeeds, runExample } from "./examples.js";
import { formatAge, plural } from "../core/format.js";
import { listRuns } from "../history/history.js";
import { connectedModel, hasEndpoint } from "../core/preferences.js";
import { examplePicture } from "./gallery.js";
import { createComparisons } from "./comparisons.js";
import { showExample } from "./showcase.js";
import { showRecordings } from "./recordings.js";
import { apiUrl, showRun, emit, on } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";

const FEATURED = ["journey", "physics", "music", "poster", "chart", "survey"];
const FIRST_ROW = 3; // demonstrations before the comparison
const MAX_BUILTIN = 6;
const MAX_LATEST = 3;
const WHAT = "LLM-in-Sandbox: the same model, with a shell and a folder of files, works out what it could only guess.";
const HOW = "Every thought, command and file is shown as it happens, recorded and repeatable.";
let view = null; // the elements that depend on the examples
let latestSection = null;

export function createWelcome() {
  view = {
    ways: h("div", { class: "ways" }),
    comparisons: h("section", { class: "comparisons", "aria-label": "One model, with and without", hidden: true }),
    heading: h("h3", {}),
    gallery: h("div", { class: "tiles" }),
    note: h("p", { class: "connect" }),
    builtin: h("section", { class: "own", "aria-label": "Built-in model", hidden: true }),
  };
  const recorded = h("p", { class: "recorded", hidden: true });
  const ready = h("p", { class: "ready", role: "status", hidden: true });
  const latest = h("section", { "aria-label": "Your runs", hidden: true });
  const box = h(
    "div",
    { class: "welcome" },
    h("h2", {}, "Give a language model a computer and watch it work."),
    h("p", { class: "lead" }, WHAT, h("span", {}, ` ${HOW}`)),
    view.ways,
    ready,
    recorded,
    h("section", { class: "demonstrations", "aria-label": "Demonstrations" }, view.heading, view.gallery, view.note),
    view.builtin,
    latest,
  );
  showRecordings(recorded);
  showExamples();
  showLatest(latest);
  latestSection = latest;
  showSetupStatus(ready, box);
  return box;
}

for (const name of ["deleted", "renamed"]) on(name, () => latestSection?.isConnected && showLatest(latestSection));
on("endpoint", () => view?.gallery.isConnected && showExamples());

const linkButton = (text, onclick) => h("button", { class: "inline", onclick }, text);

async function showExamples() {
  const shown = view;
  try {
    const all = await fetchExamples();
    const featured = FEATURED.map((name) => all.find((each) => each.demonstration === name)).filter(Boolean);
    showWays(shown.ways, featured[0]);
    createComparisons(
      shown.comparisons,
      (await fetchExamples({ withBuiltin: builtinAvailable || hasEndpoint() })).filter((each) => each.expected),
    );
    shown.heading.replaceChildren(hasEndpoint() ? "Try an example" : "Demonstrations: scripted model, real computer");
    const tiles = featured.map(tile);
    shown.gallery.replaceChildren(...tiles.slice(0, FIRST_ROW), shown.comparisons, ...tiles.slice(FIRST_ROW));
    shown.builtin.hidden = !builtinAvailable || hasEndpoint();
    shown.builtin.replaceChildren(...(shown.builtin.hidden ? [] : builtinExamples(all)));
    shown.note.replaceChildren(...noteText(all));
    if (featured.length) whenIdle(() => view === shown && showExample(featured[0]));
  } catch {
    shown.gallery.replaceChildren();
  }
}

const whenIdle = (action) => (window.requestIdleCallback ?? setTimeout)(action);

/** The three ways to begin. */
function showWays(element, demonstration) {
  const way = (label, onclick, attributes = {}) => h("button", { onclick, ...attributes }, label);
  element.replaceChildren(
    demonstration ? way("Play a demonstration", () => runExample(demonstration, { play: true }), { class: "first" }) : "",
    way(hasEndpoint() ? `Model: ${connectedModel()}` : "Connect a model", () => emit("open-settings"), {
      title: hasEndpoint() ? "Choose another model" : null,
    }),
    way("Open files", () => document.querySelector(".attachments .choose").click()),
  );
}

function noteText(all) {
  const allLink = linkButton(`all ${all.length} examples`, () => emit("examples"));
  if (hasEndpoint()) return ["Run an example with your model, or play its demonstration. See ", allLink, "."];
  return [
    "See ",
    allLink,
    ". For ",
    builtinAvailable ? "anything else, " : "your own tasks, ",
    linkButton("connect a model", () => emit("open-settings")),
    ": enter an endpoint, an API key and a model name.",
    builtinAvailable || !builtinDescription ? "" : ` ${builtinDescription}`,
  ];
}

/** Topics of the built-in model with example tasks. */
function builtinExamples(all) {
  const examples = all.filter((each) => each.builtin && !each.expected).slice(0, MAX_BUILTIN);
  return [
    h("h3", {}, "Ask the built-in model"),
    h("p", { class: "connect" }, `${builtinDescription}.`),
    h("div", { class: "cards" }, ...examples.map(smallTask)),
  ];
}

/** A demonstration with its picture; with a connected model it can be played or run. */
function tile(example) {
  const playable = isPlayable(example);
  const label = `${hasEndpoint() ? "Try" : "Watch"}: ${example.title}`;
  const element = playable ? h("div", { class: "tile" }) : h("button", { class: "tile", "aria-label": label, onclick: () => runExample(example) });
  element.append(
    examplePicture(example.demonstration, { mover: element }),
    h("b", {}, example.title),
    h("span", { title: exampleDescription(example) }, exampleDescription(example)),
    playable ? exampleButtons(example, (options) => runExample(example, options)) : h("small", { class: "num" }, ...exampleNeeds(example)),
  );
  return announced(element, example);
}

function smallTask(example) {
  const facts = exampleFiles(example);
  const element = h(
    "button",
    { class: "demo", "aria-label": `Try: ${example.title}`, onclick: () => runExample(example) },
    h("b", {}, example.title),
    h("span", { title: exampleDescription(example) }, exampleDescription(example)),
    h("small", { class: "num" }, ...(facts.length ? facts : [icon("play"), "try"])),
  );
  return announced(element, example);
}

/** Show on the right what an example makes while it has the pointer or the focus. */
function announced(element, example) {
  for (const name of ["pointerenter", "focusin"]) element.addEventListener(name, () => showExample(example));
  return element;
}

/** Show the latest runs; ignore errors. */
async function showLatest(section) {
  const { gallery } = view; // another welcome may be there when the runs arrive
  let response;
  try {
    response = await listRuns({ limit: 2 * MAX_LATEST });
  } catch {
    return;
  }
  const { total, now } = response;
  const runs = response.runs.filter(({ error }) => !error).slice(0, MAX_LATEST);
  const drafts = (response.drafts ?? [])
    .map(draftRow)
    .filter(({ files }) => files)
    .slice(0, MAX_LATEST);
  section.hidden = !runs.length && !drafts.length;
  if (drafts.length) gallery.parentElement.before(section); // drafts come before suggestions
  section.replaceChildren(
    h("h3", {}, drafts.length ? "Your drafts and runs" : "Your runs"),
    h("ul", { class: "latest-runs" }, ...[...drafts, ...runs].map((row) => h("li", {}, runLink(row, now)))),
    total > runs.length ? h("p", { class: "all-runs" }, h("button", { class: "inline", onclick: () => emit("history") }, `All ${plural(total, "run")}`)) : "",
  );
}

function runLink(row, now) {
  return h(
    "a",
    { href: runUrl(row.run), onclick: plainClick(() => showRun(row.run)) },
    h("b", { dir: "auto" }, runTitle(row)),
    row.draft ? h("span", { class: "run-state" }, `draft, ${plural(row.files, "file")}`) : stateElement(row),
    h("small", { class: "num" }, row.running ? "now" : formatAge(now - row.at)),
  );
}

/** Show progress until the container engine and image are ready. */
async function showSetupStatus(status, box) {
  do {
    let health;
    try {
      health = await fetchJson(apiUrl("../healthz"));
    } catch {
      return;
    }
    const text = setupText(health);
    status.hidden = !text;
    status.textContent = text;
    if (!text || health.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 1500));
  } while (box.isConnected);
}

function setupText({ engine, image }) {
  if (engine && (!engine.ok || image?.ok)) return engine.detail;
  if (!image || image.ok) return "";
  const percent = image.progress === null || image.progress === undefined ? "" : ` ${Math.round(100 * image.progress)}%`;
  return `Preparing the sandbox image${percent}${image.detail ? `: ${image.detail}` : ""}`;
}
