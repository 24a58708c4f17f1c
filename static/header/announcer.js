// What a screen reader says of the run without being asked: approvals, failures, and its end.

import { h } from "../core/dom.js";
import { currentRun, on } from "../core/event_stream.js";
import { firstLine } from "../core/format.js";
import { stateLabel } from "../core/run/run_states.js";
import { withHiddenMarked } from "../core/text/hidden_characters.js";

const MAX_LENGTH = 200; // characters of what a model has written

const start = (text) => withHiddenMarked(firstLine(text, MAX_LENGTH));

/** What is said of an event; nothing of most. */
const SENTENCES = {
  approval_requested: ({ step, summary }) => `Step ${step} waits for your approval: ${start(summary)}`,
  tool_ended: ({ step, ok, exit_code: exit, name }) =>
    ok && !exit ? "" : `Step ${step}: ${name === "execute_bash" ? "command" : name} failed${exit ? `, exit ${exit}` : ""}.`,
  retrying: ({ reason }) => `The model is asked again. ${start(reason)}`,
  run_ended: ({ status, reason, answer }) => [`Run ${stateLabel({ state: status })}.`, start(reason), start(answer)].join(" "),
};

/** Return the element that is read out when it changes. */
export function createAnnouncer() {
  const element = h("p", { class: "visually-hidden announcer", role: "status" });
  const say = (text) => element.replaceChildren(text);
  on("events", (events) => {
    const sentences = events.map((event) => SENTENCES[event.kind]?.(event)).filter(Boolean);
    if (sentences.length) say(sentences.join(" "));
  });
  on("reset", () => say(""));
  on("connection", () => say(currentRun.offline ? "Connection lost, reconnecting." : "Connected again."));
  return element;
}
