// Making a fork: the server copies the run up to a step; the page shows it and sends its first message.

import { currentRun, emit } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { openRun } from "../core/view.js";

/**
 * Fork `run` after `step` and let the model go on.
 *
 * @param {any} run the run, which may be working
 * @param {number} step the last step to keep; 0 starts over
 * @param {object} [wanted]
 * @param {string} [wanted.message] the message; without one the model goes on where the conversation ends
 * @param {Record<string, any>} [wanted.options] values that replace those of the settings: model, steps, and for step 0 more
 * @param {Record<string, any>} [wanted.changes] what the fork itself has otherwise: mode, prompt, reinstall
 */
export async function startFork(run, step, { message = "", options = {}, changes = {} } = {}) {
  const { run: fork } = await fetchJson(run.url("fork"), { method: "POST", body: JSON.stringify({ step, ...changes }) });
  openRun(fork);
  await stateOf(fork);
  if (currentRun.id === fork) emit("send", { text: message, resume: !message, options });
}

/** Wait until the page shows the state of a run, or another run. */
async function stateOf(run) {
  await new Promise((resolve) => {
    const wait = () => {
      if (currentRun.id !== run || currentRun.status) resolve(undefined);
      else requestAnimationFrame(wait);
    };
    wait();
  });
}
