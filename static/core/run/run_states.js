// Run states as text; style sheets also distinguish them by `data-state`.

const LABELS = {
  draft: "draft",
  queued: "queued",
  preparing_image: "preparing the sandbox image",
  starting_sandbox: "starting a sandbox",
  waiting_model: "waiting for the model",
  thinking: "thinking",
  writing: "writing",
  running_tool: "running a command",
  retrying: "retrying",
  paused: "paused",
  waiting_approval: "waiting for approval",
  summarising: "summarising older steps",
  submitted: "submitted",
  answered: "answered",
  step_limit: "step limit reached",
  token_limit: "token limit reached",
  budget_limit: "budget reached",
  time_limit: "time limit reached",
  stopped: "stopped",
  failed: "failed",
};

/** Return a state in two or three words. */
export function stateLabel(status) {
  const text = LABELS[status.state] ?? status.state;
  if (status.state === "preparing_image" && status.progress !== null) {
    return `preparing image ${Math.round(status.progress * 100)}%`;
  }
  // Queue position first, then perhaps the reason for waiting.
  if (status.state === "queued" && status.detail) return status.detail.split(";")[0];
  return text;
}

/** Return the colour of a state: good, bad, warn, idle or live. */
export function stateTone(status) {
  if (status.running) return ["retrying", "paused", "waiting_approval"].includes(status.state) ? "warn" : "live";
  if (status.state === "failed") return "bad";
  if (["submitted", "answered"].includes(status.state)) return "good";
  return status.state.endsWith("_limit") ? "warn" : "idle";
}

/** Explain what the user can do after a round has ended, in addition to its reason. */
export function nextStepHint(status) {
  if (status === "stopped") return "Files and sandbox are kept. Send a message to continue.";
  if (status.endsWith("_limit")) return "Nothing is lost. Send a message to continue from here.";
  if (status === "failed") return "Files are kept. Fix this, then retry or send a message to continue.";
  return "";
}
