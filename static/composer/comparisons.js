// Comparisons to start with one click: the same task without and with a sandbox.

import { builtinAvailable } from "../core/instance.js";
import { h, icon, setFieldValue, waitForElement } from "../core/dom.js";
import { connectedModel, currentSettings, defaultSettings, hasEndpoint, settingsKey } from "../core/preferences.js";
import { apiUrl, emit } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { showView } from "../core/view.js";
import { firstMembers, memberRequest } from "../experiments/members/member.js";
import { fetchRecordings, recordingName } from "./gallery.js";
import { showExample } from "./showcase.js";
import { Versus } from "./versus.js";

/** Fill the section with the comparison examples; the first one shows its recording. */
export async function createComparisons(section, examples) {
  section.hidden = !examples.length;
  if (!examples.length) return;
  const recordings = await fetchRecordings();
  const recorded = examples.find((each) => recordings[recordingName(each)]?.plain);
  const own = examples.filter((each) => each !== recorded && each.builtin !== hasEndpoint());
  section.replaceChildren(heading(), recorded ? versusCard(recorded, recordings) : "", choices(own));
}

function heading() {
  const own = h("button", { class: "inline", onclick: () => document.querySelector("#compare")?.click() }, "Compare your own…");
  const evaluate = h("button", { class: "inline", "aria-haspopup": "dialog", onclick: () => openEvaluation() }, "Evaluate on tasks…");
  return h("div", { class: "section-head" }, h("h3", {}, "One model, with and without"), own, evaluate);
}

const openEvaluation = async () => (await import("../experiments/members/dialog.js")).openEvaluateDialog();

function versusCard(example, recordings) {
  const versus = new Versus(example, recordings[recordingName(example)]);
  const label = hasEndpoint() ? `Compare now with ${connectedModel()}` : "Compare now";
  const card = h(
    "button",
    { class: "versus", "aria-label": `${label.replace(" now", "")}: ${example.title}. ${example.task}`, onclick: () => startComparison(example, card) },
    h("span", { class: "versus-task" }, h("b", {}, example.task), h("small", { class: "go" }, icon("play"), label)),
    versus.element,
  );
  for (const name of ["pointerenter", "focusin"]) card.addEventListener(name, () => versus.play());
  return h("div", {}, card, h("p", { class: "versus-note" }, "Shown is a recording of the built-in model.", ...otherModel(example)));
}

/** With a connected model, the built-in one is the second choice. */
function otherModel(example) {
  if (!hasEndpoint() || !builtinAvailable) return [];
  const element = h("button", { class: "inline", onclick: () => start(example, BUILTIN_MEMBERS, element) }, "Compare with the built-in model");
  return [" ", element];
}

function choices(examples) {
  const button = (example) => {
    const element = h(
      "button",
      { class: "choice", "aria-label": `Compare: ${example.title}`, title: example.task, onclick: () => startComparison(example, element) },
      example.title,
    );
    for (const name of ["pointerenter", "focusin"]) element.addEventListener(name, () => showExample(example));
    return element;
  };
  return h("div", { class: "choices" }, h("span", {}, hasEndpoint() ? "With your model:" : "More:"), ...examples.map(button));
}

const BUILTIN_MEMBERS = ["plain", "sandbox"].map((mode) => ({ mode, model: "builtin", baseUrl: "" }));

/** The connected model without a sandbox and with one, as the settings have it. */
const connectedMembers = () => firstMembers(currentSettings(), defaultSettings()).map((member) => memberRequest(member, settingsKey));

/** Start an example's comparison with the connected model, or else the built-in one; a long one opens the composer's panel first. */
function startComparison(example, button) {
  if (!example.builtin) return prepareComparison(example);
  if (hasEndpoint()) return start(example, connectedMembers(), button);
  if (!builtinAvailable) return void document.querySelector(".app-header .settings").click();
  return start(example, BUILTIN_MEMBERS, button);
}

/** Start a comparison and show it. */
async function start(example, members, button) {
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    const body = { task: example.task, members, repetitions: 1, expected: example.expected };
    const { id } = await fetchJson(apiUrl("comparisons"), { method: "POST", body: JSON.stringify(body) });
    await showView("comparison", id);
  } catch (error) {
    emit("notice", { text: error.message });
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

async function prepareComparison(example) {
  setFieldValue(await waitForElement("#task textarea"), example.task);
  document.querySelector("#compare")?.click();
}
