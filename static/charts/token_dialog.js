// The token chart of the run that the page shows, in a dialog.

import { h } from "../core/dom.js";
import { currentRun, on } from "../core/event_stream.js";
import { openDialog } from "../core/widgets/dialog.js";
import { mountTokenChart } from "./token_chart.js";

const CHANGING = new Set(["model_answered", "step_ended", "run_ended", "run_started"]);
let opened = null;

/** Open the dialog; a click on a step closes it and goes to the step. */
export function openTokenDialog() {
  const body = h("div", { class: "body" });
  const dialog = openDialog({ name: "token-dialog", title: "Where the tokens go", dismissible: true }, body);
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
    if (opened?.dialog === dialog) opened = null;
  });
}

on("events", (events) => opened && events.some(({ kind }) => CHANGING.has(kind)) && opened.chart.update());
on("reset", () => opened?.dialog.close());
