// Forks on the page: what a step and a message offer.

import { reported } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { h } from "../core/dom.js";
import { addStepAction } from "../core/run/step_actions.js";
import { openForkDialog } from "./dialog.js";
import { startFork } from "./start.js";
import "./family.js";

addStepAction({
  label: "Fork from here…",
  title: "Start a new run from the files and the conversation after this step",
  order: 10,
  onclick: (step) => reported(openForkDialog(step.view.run, step.number)),
});

addStepAction({
  label: "Retry this step",
  title: "Start a new run that does this step again",
  order: 20,
  onclick: (step) => reported(retryStep(step.view.run, step.number)),
});

addStepAction({
  label: "Continue with another model…",
  title: "Start a new run in which another model goes on after this step",
  order: 30,
  onclick: (step) => reported(openForkDialog(step.view.run, step.number, { title: `Continue after step ${step.number} with another model`, focus: "model" })),
});

/** Do a step again: from the state before it, with the same message if it was the round's first. */
async function retryStep(run, number) {
  const { first_step: first, message } = await describe(run, number);
  const before = number - 1;
  if (before && first !== number) return startFork(run, before);
  return startFork(run, before, { message, options: before ? {} : (await describe(run, 0)).spec });
}

const describe = (run, step) => fetchJson(run.url(`fork?step=${step}`));

/** A button that sends a message again, edited, from the state before it: after step `before`. */
export function editMessageButton(run, text, before) {
  const title = "Edit this message and send it in a new run, from the state before it";
  const open = () => reported(openForkDialog(run, before, { title: "Edit and retry", message: text }));
  return h("button", { class: "edit-message owner-only", title, onclick: open }, "Edit and retry…");
}
