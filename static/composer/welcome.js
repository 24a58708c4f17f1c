// The page without a run: examples to try and how to connect a model.

import { aboutBuiltin, builtin } from "../core/builtin_model.js";
import { h, icon } from "../core/dom.js";
import { addressOf, draftRow, stateOf, titleOf } from "../history/run_row.js";
import { about, bothWays, examples, files, hasBoth, needs, tryOut } from "./examples.js";
import { ago, plural } from "../core/format.js";
import { list } from "../history/history.js";
import { connected } from "../core/preferences.js";
import { api, ask, attach, emit, on } from "../core/session.js";

const FIRST = ["chart", "poster", "music", "journey", "physics", "survey"];
const OFFERED = 6;
const LATEST = 3;
let cards = null;
let words = null;
let own = null;
let mine = null;

export function welcome() {
  cards = h("div", { class: "cards" });
  words = [h("h3"), h("p", { class: "connect" })];
  own = h("section", { class: "own", "aria-label": "Built-in model", hidden: true });
  const ready = h("p", { class: "ready", role: "status", hidden: true });
  const latest = h("section", { "aria-label": "Your runs", hidden: true });
  const box = h("div", { class: "welcome" },
    h("h2", {}, "Give a language model a computer and watch it work."),
    h("p", {}, "Write a task below and press Run. Every thought, command and file appears as it happens."),
    ready, own, words[0], cards, words[1], latest);
  fill();
  showLatest(latest);
  mine = latest;
  tellReadiness(ready, box);
  return box;
}

for (const name of ["deleted", "renamed"]) on(name, () => mine?.isConnected && showLatest(mine));
on("endpoint", () => cards?.isConnected && fill());

export function openSettings() {
  document.querySelector(".masthead .settings").click();
}

const link = (text, onclick) => h("button", { type: "button", class: "inline", onclick }, text);

async function fill() {
  const [place, [title, note], ours] = [cards, words, own];
  title.textContent = connected() ? "Try an example" : "Watch a demonstration";
  try {
    const all = await examples();
    const first = FIRST.map((name) => all.find((each) => each.demonstration === name)).filter(Boolean);
    place.replaceChildren(...first.map(card));
    ours.hidden = !builtin || connected();
    ours.replaceChildren(...(ours.hidden ? [] : offers(all)));
    const more = link(`all ${all.length} examples`, () => emit("examples"));
    if (connected()) note.replaceChildren("Run an example with your model, or play its demonstration. See ", more, ".");
    else {
      note.replaceChildren("Scripted model turns with real commands in a real sandbox. See ", more,
        ". For ", builtin ? "anything else, " : "your own tasks, ", link("connect a model", openSettings),
        ": enter an endpoint, an API key and a model name.", builtin || !aboutBuiltin ? "" : ` ${aboutBuiltin}`);
    }
  } catch {
    place.replaceChildren();
  }
}

/** Topics of the built-in model with example tasks. */
function offers(all) {
  const known = all.filter((each) => each.builtin).slice(0, OFFERED);
  return [
    h("h3", {}, "Ask the built-in model"),
    h("p", { class: "connect" }, `${aboutBuiltin}.`),
    h("div", { class: "cards" }, ...known.map(card)),
  ];
}

function card(example) {
  if (hasBoth(example)) {
    return h("div", { class: "demo" }, h("b", {}, example.title), h("span", { title: about(example) }, about(example)),
      bothWays(example, (how) => tryOut(example, how)));
  }
  const needed = example.builtin ? files(example) : needs(example);
  const label = `${connected() || example.builtin ? "Try" : "Watch"}: ${example.title}`;
  return h("button", { type: "button", class: "demo", "aria-label": label, onclick: () => tryOut(example) },
    h("b", {}, example.title), h("span", { title: about(example) }, about(example)),
    h("small", { class: "num" }, ...(needed.length ? needed : [icon("play"), "try"])));
}

/** Show the latest runs; ignore errors. */
async function showLatest(place) {
  let answer;
  try {
    answer = await list({ most: 2 * LATEST });
  } catch {
    return;
  }
  const { total, now } = answer;
  const runs = answer.runs.filter(({ problem }) => !problem).slice(0, LATEST);
  const drafts = (answer.drafts ?? []).map(draftRow).filter(({ files }) => files).slice(0, LATEST);
  place.hidden = !runs.length && !drafts.length;
  if (drafts.length) cards.previousElementSibling?.before(place); // drafts come before suggestions
  place.replaceChildren(
    h("h3", {}, drafts.length ? "Your drafts and runs" : "Your runs"),
    h("ul", { class: "latest-runs" }, ...[...drafts, ...runs].map((row) => h("li", {}, line(row, now)))),
    total > runs.length
      ? h("p", { class: "all-runs" }, h("button", { type: "button", class: "inline", onclick: () => emit("history") }, `All ${plural(total, "run")}`))
      : "");
}

function line(row, now) {
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    attach(row.run);
  };
  return h("a", { href: addressOf(row.run), onclick: open },
    h("b", { dir: "auto" }, titleOf(row)), row.draft ? h("span", { class: "how" }, `draft, ${plural(row.files, "file")}`) : stateOf(row), h("small", { class: "num" }, row.alive ? "now" : ago(now - row.at)));
}

/** Show progress until the container engine and image are ready. */
async function tellReadiness(place, box) {
  while (box.isConnected || !place.dataset.seen) {
    place.dataset.seen = "1";
    let health;
    try {
      health = await ask(api("../healthz"));
    } catch {
      return;
    }
    const words = readiness(health);
    place.hidden = !words;
    place.textContent = words;
    if (!words || health.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
}

function readiness({ engine, image }) {
  if (engine && (!engine.ok || image?.ok)) return engine.detail;
  if (!image || image.ok) return "";
  const done = image.progress === null || image.progress === undefined ? "" : ` ${Math.round(100 * image.progress)}%`;
  return `Preparing the sandbox image${done}${image.detail ? `: ${image.detail}` : ""}`;
}
