// How a round ended: its answer or its reason, and the files that it hands over.

import { copy, h, icon, picture } from "./dom.js";
import { bytes, kindOf } from "./format.js";
import { render } from "./markdown.js";
import { ask, emit, runApi, session } from "./session.js";
import { sequel, tone } from "./states.js";

const TITLES = {
  submitted: "Answer", answered: "Answer", stopped: "Stopped", failed: "Failed",
  step_limit: "Step limit reached", token_limit: "Token limit reached",
  budget_limit: "Budget reached", time_limit: "Time limit reached",
};

export function ending(status, reason, answer) {
  const kind = tone({ alive: false, state: status });
  const box = h("section", { class: "ending", "data-tone": kind, "aria-label": TITLES[status] }, h("h2", {}, TITLES[status]));
  if (reason) box.append(h("p", { class: "reason" }, reason));
  const next = sequel(status);
  if (next) box.append(h("p", { class: "next" }, next));
  if (answer) box.append(...said(answer));
  box.append(h("div", { class: "outputs" }));
  return box;
}

function said(answer) {
  const text = h("div", { class: "answer" }, answer);
  render(text, answer);
  const tool = h("button", { type: "button", class: "quiet copy", onclick: (e) => copy(answer, e.target) }, "copy answer");
  return [text, tool];
}

export async function showOutputs(place) {
  if (session.mode === "plain") return;
  try {
    const { entries } = await ask(runApi("files?folder=output"));
    place.append(...entries.filter((entry) => entry.kind === "file").map(fileCard));
  } catch {
    // a run whose workspace is gone still has its timeline
  }
}

function fileCard(entry) {
  const address = runApi(`files/${entry.path}`);
  const kind = kindOf(entry.name);
  const shown = `${address}?inline=1&v=${entry.changed}`;
  const look = { type: "button", class: "look", "aria-label": `Look at ${entry.name}`, onclick: () => emit("look", entry.path) };
  let view = h("button", look, icon(kind));
  if (kind === "image" && !entry.name.endsWith(".svg")) view = h("button", look, picture(shown, ""));
  if (kind === "sound") view = h("audio", { src: shown, controls: true, preload: "metadata", "aria-label": entry.name });
  return h("figure", { class: `output ${kind}` }, view, h("figcaption", {},
    h("b", { title: entry.name }, entry.name), h("small", { class: "num" }, bytes(entry.size)),
    h("a", { href: address, download: entry.name, "aria-label": `Download ${entry.name}` }, icon("down"))));
}
