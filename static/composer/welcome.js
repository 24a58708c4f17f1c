// The page without a run: examples to try and how to connect a model.

import { builtinDescription, builtinAvailable } from "../core/builtin_model.js";
import { h, icon } from "../core/dom.js";
import { runUrl, draftRow, stateElement, runTitle } from "../history/run_summary.js";
import { exampleDescription, exampleButtons, fetchExamples, exampleFiles, isPlayable, exampleNeeds, runExample } from "./examples.js";
import { formatAge, plural } from "../core/format.js";
import { listRuns } from "../history/history.js";
import { hasEndpoint } from "../core/preferences.js";
import { apiUrl, fetchJson, showRun, emit, on } from "../core/event_stream.js";

const FEATURED = ["chart", "poster", "music", "journey", "physics", "survey"];
const MAX_BUILTIN = 6;
const MAX_LATEST = 3;
let cards = null;
let introduction = null;
let builtinSection = null;
let latestSection = null;

export function createWelcome() {
  cards = h("div", { class: "cards" });
  introduction = [h("h3"), h("p", { class: "connect" })];
  builtinSection = h("section", { class: "own", "aria-label": "Built-in model", hidden: true });
  const ready = h("p", { class: "ready", role: "status", hidden: true });
  const latest = h("section", { "aria-label": "Your runs", hidden: true });
  const box = h("div", { class: "welcome" },
    h("h2", {}, "Give a language model a computer and watch it work."),
    h("p", {}, "Write a task below and press Run. Every thought, command and file appears as it happens."),
    ready, builtinSection, introduction[0], cards, introduction[1], latest);
  showExamples();
  showLatest(latest);
  latestSection = latest;
  showSetupStatus(ready, box);
  return box;
}

for (const name of ["deleted", "renamed"]) on(name, () => latestSection?.isConnected && showLatest(latestSection));
on("endpoint", () => cards?.isConnected && showExamples());

export function openSettings() {
  document.querySelector(".app-header .settings").click();
}

const linkButton = (text, onclick) => h("button", { type: "button", class: "inline", onclick }, text);

async function showExamples() {
  const [container, [title, note], section] = [cards, introduction, builtinSection];
  title.textContent = hasEndpoint() ? "Try an example" : "Watch a demonstration";
  try {
    const all = await fetchExamples();
    const featured = FEATURED.map((name) => all.find((each) => each.demonstration === name)).filter(Boolean);
    container.replaceChildren(...featured.map(exampleCard));
    section.hidden = !builtinAvailable || hasEndpoint();
    section.replaceChildren(...(section.hidden ? [] : builtinExamples(all)));
    const allLink = linkButton(`all ${all.length} examples`, () => emit("examples"));
    if (hasEndpoint()) note.replaceChildren("Run an example with your model, or play its demonstration. See ", allLink, ".");
    else {
      note.replaceChildren("Scripted model turns with real commands in a real sandbox. See ", allLink,
        ". For ", builtinAvailable ? "anything else, " : "your own tasks, ", linkButton("connect a model", openSettings),
        ": enter an endpoint, an API key and a model name.", builtinAvailable || !builtinDescription ? "" : ` ${builtinDescription}`);
    }
  } catch {
    container.replaceChildren();
  }
}

/** Topics of the built-in model with example tasks. */
function builtinExamples(all) {
  const examples = all.filter((each) => each.builtin).slice(0, MAX_BUILTIN);
  return [
    h("h3", {}, "Ask the built-in model"),
    h("p", { class: "connect" }, `${builtinDescription}.`),
    h("div", { class: "cards" }, ...examples.map(exampleCard)),
  ];
}

function exampleCard(example) {
  if (isPlayable(example)) {
    return h("div", { class: "demo" }, h("b", {}, example.title), h("span", { title: exampleDescription(example) }, exampleDescription(example)),
      exampleButtons(example, (options) => runExample(example, options)));
  }
  const facts = example.builtin ? exampleFiles(example) : exampleNeeds(example);
  const label = `${hasEndpoint() || example.builtin ? "Try" : "Watch"}: ${example.title}`;
  return h("button", { type: "button", class: "demo", "aria-label": label, onclick: () => runExample(example) },
    h("b", {}, example.title), h("span", { title: exampleDescription(example) }, exampleDescription(example)),
    h("small", { class: "num" }, ...(facts.length ? facts : [icon("play"), "try"])));
}

/** Show the latest runs; ignore errors. */
async function showLatest(section) {
  let response;
  try {
    response = await listRuns({ limit: 2 * MAX_LATEST });
  } catch {
    return;
  }
  const { total, now } = response;
  const runs = response.runs.filter(({ error }) => !error).slice(0, MAX_LATEST);
  const drafts = (response.drafts ?? []).map(draftRow).filter(({ files }) => files).slice(0, MAX_LATEST);
  section.hidden = !runs.length && !drafts.length;
  if (drafts.length) cards.previousElementSibling?.before(section); // drafts come before suggestions
  section.replaceChildren(
    h("h3", {}, drafts.length ? "Your drafts and runs" : "Your runs"),
    h("ul", { class: "latest-runs" }, ...[...drafts, ...runs].map((row) => h("li", {}, runLink(row, now)))),
    total > runs.length
      ? h("p", { class: "all-runs" }, h("button", { type: "button", class: "inline", onclick: () => emit("history") }, `All ${plural(total, "run")}`))
      : "");
}

function runLink(row, now) {
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    showRun(row.run);
  };
  return h("a", { href: runUrl(row.run), onclick: open },
    h("b", { dir: "auto" }, runTitle(row)), row.draft ? h("span", { class: "run-state" }, `draft, ${plural(row.files, "file")}`) : stateElement(row), h("small", { class: "num" }, row.running ? "now" : formatAge(now - row.at)));
}

/** Show progress until the container engine and image are ready. */
async function showSetupStatus(status, box) {
  while (box.isConnected || !status.dataset.seen) {
    status.dataset.seen = "1";
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
  }
}

function setupText({ engine, image }) {
  if (engine && (!engine.ok || image?.ok)) return engine.detail;
  if (!image || image.ok) return "";
  const percent = image.progress === null || image.progress === undefined ? "" : ` ${Math.round(100 * image.progress)}%`;
  return `Preparing the sandbox image${percent}${image.detail ? `: ${image.detail}` : ""}`;
}
