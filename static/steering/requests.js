// What a user asks of a run while it works; the run's stream then says what has become of it.

import { reported } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";

const send = (run, path, method, body) => fetchJson(run.url(path), { method, ...(body && { body: JSON.stringify(body) }) });

/** Pause, resume or step a run, as `action` says. */
export const steer = (run, action) => reported(send(run, action, "POST"));

/** Send a message, which reaches the model with its next observation; with `pictures` unless they are the usual ones: null. */
export const queueMessage = (run, text, pictures = null) => send(run, "messages", "POST", { text, ...(pictures && { pictures }) });

/** Take back a message that was not delivered yet. */
export const revokeMessage = (run, id) => reported(send(run, `messages/${encodeURIComponent(id)}`, "DELETE"));

/** Set the rules by which calls wait for approval. */
export const setApproval = (run, rules) => reported(send(run, "approval", "PUT", { rules }));

/** Let the model see another text as the result of a call, which was not sent to it yet. */
export const editObservation = (run, call, text) => send(run, "observation", "POST", { call, text });

/** Decide on a call that waits: allow, edit with `arguments`, or deny with a `reason`. */
export const decide = (run, call, decision, rest = {}) => send(run, "approval", "POST", { call, decision, ...rest });
