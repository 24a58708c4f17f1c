// The page before there is a run: what can be watched at once, and how to connect a model.

import { h, icon } from "./dom.js";
import { api, ask } from "./session.js";

export function welcome() {
  const cards = h("div", { class: "cards" });
  const ready = h("p", { class: "ready", role: "status", hidden: true });
  const box = h("div", { class: "welcome" },
    h("h2", {}, "Give a language model a computer and watch it work."),
    h("p", {}, "Write a task below and press Run. Every thought, command and file appears as it happens."),
    ready, h("h3", {}, "Watch one now"), cards,
    h("p", { class: "connect" }, "These are scripted turns with real commands in a real sandbox, and need no model. For your own tasks, ",
      h("button", { type: "button", class: "inline", onclick: openSettings }, "connect a model"), "."));
  fill(cards);
  tellReadiness(ready, box);
  return box;
}

export function openSettings() {
  document.querySelector(".masthead .settings").click();
}

async function fill(cards) {
  try {
    const demonstrations = await ask(api("demonstrations"));
    cards.append(...demonstrations.map(card));
  } catch {
    cards.remove();
  }
}

function card(each) {
  const run = h("button", { type: "button", class: "demo", "aria-label": `Watch: ${each.title}`, onclick: () => submit(each.task) },
    h("b", {}, each.title), h("span", { title: each.watch }, each.watch),
    h("small", { class: "num" }, icon("play"), `about ${each.seconds} s`));
  return run;
}

/** Put a text into the task's box and press Run. */
function submit(text) {
  const box = document.querySelector("#task textarea");
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  setTimeout(() => document.querySelector("#run").click());
}

/** While engine and image are not ready, say how far they are. */
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
    if (!words) return;
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
}

function readiness({ engine, image }) {
  if (engine && !engine.ok) return engine.detail;
  if (!image || image.ok) return "";
  const done = image.progress === null || image.progress === undefined ? "" : ` ${Math.round(100 * image.progress)} %`;
  return `The sandbox image is being prepared${done}${image.detail ? `: ${image.detail}` : ""}`;
}
