// The token chart of the run that the page shows, in a dialog.

import { h, icon, loadStyles } from "../core/dom.js";
import { currentRun, on } from "../core/event_stream.js";
import { mountTokenChart } from "./token_chart.js";

const CHANGING = new Set(["model_answered", "step_ended", "run_ended", "run_started"]);
let opened = null;

/** Open the dialog; a click on a step closes it and goes to the step. */
export async function openTokenDialog() {
  await loadStyles("charts/charts.css");
  opened?.dialog.close();
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => dialog.close() }, icon("close"));
  const body = h("div", { class: "body" });
  const dialog = h(
    "dialog",
    { class: "token-dialog", "aria-labelledby": "tokens-title" },
    h("div", { class: "header" }, h("h2", { id: "tokens-title", tabindex: "-1" }, "Where the tokens go"), close),
    body,
  );
  document.querySelector(".gradio-container").append(dialog);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.showModal();
  dialog.querySelector("h2").focus();
  const chart = mountTokenChart(body, {
    runs: [{ run: currentRun.id, label: "" }],
    onStep: ({ step }) => {
      dialog.close();
      // The same hash twice is no change: the timeline would not go there again.
      if (location.hash === `#step-${step}`) history.replaceState(null, "", location.pathname + location.search);
      location.hash = `step-${step}`;
    },
  });
  opened = { dialog, chart };
  dialog.addEventListener("close", () => {
    chart.destroy();
    dialog.remove();
    if (opened?.dialog === dialog) opened = null;
  });
}

on("events", (events) => opened && events.some(({ kind }) => CHANGING.has(kind)) && opened.chart.update());
on("reset", () => opened?.dialog.close());
