// What a person can do with a step: one bar of buttons at the end of each step.

import { h } from "../dom.js";

/**
 * @typedef {object} StepAction
 * @property {string} label what the button says
 * @property {string} title what it does, in a sentence
 * @property {(step: any) => void} onclick receives the `Step`, with its `number` and its `view.run`
 * @property {number} [order] its position: smaller ones come first
 * @property {(step: any) => boolean} [isVisible] whether the step has it; by default every one does
 */

/** @type {StepAction[]} */
const actions = [];

/** Add a button to every step; call it when the module is loaded, before the page shows a run. */
export function addStepAction(/** @type {StepAction} */ action) {
  actions.push(action);
  actions.sort((a, b) => (a.order ?? 0) - (b.order ?? 0));
}

/** Return the bar of a step that is over; null for a step in a comparison, or without actions. */
export function createStepActions(step) {
  const shown = step.view.anchored ? actions.filter(({ isVisible }) => !isVisible || isVisible(step)) : [];
  if (!shown.length) return null;
  const buttons = shown.map(({ label, title, onclick }) =>
    h("button", { title, "aria-label": `${label.replace(/…$/, "")}, step ${step.number}`, onclick: () => onclick(step) }, label),
  );
  return h("div", { class: "step-actions owner-only", role: "group", "aria-label": `Actions of step ${step.number}` }, ...buttons);
}
