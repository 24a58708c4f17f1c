// The event stream of the run that the page shows.

import { loadStyles } from "./dom.js";
import { fetchJson } from "./loading/fetch.js";
import { Run, apiUrl } from "./run/run.js";

export { apiUrl };

/** The run that the page shows; its id is null if it shows none. */
export const currentRun = new Run();

/** Listen to an event of the page or of the run that it shows. */
export const on = (name, listener) => currentRun.on(name, listener);

export const emit = (name, data) => currentRun.emit(name, data);

export const runApiUrl = (path, query = {}) => currentRun.url(path, query);

/** Show the failure of a promise as a notice; return whether it succeeded. */
export async function reported(promise) {
  try {
    await promise;
    return true;
  } catch (error) {
    emit("notice", { text: error.message });
    return false;
  }
}

/** Call `open` with a module once it and its styles are loaded, unless another run is shown by then; report an error. */
export function whileShown(loading, styles, open) {
  const { id } = currentRun;
  return reported(Promise.all([loading, loadStyles(styles)]).then(([module]) => (currentRun.id === id ? open(module) : undefined)));
}

const RECOVERY_MS = 250; // ms until a browser recovers from a change of the networks
const GRACE_MS = 2000; // ms that a stream may be interrupted while the server responds

let ready = false;
let source = null;
let cursor = null;
let pending = [];
let frame = 0;

/** Start with the run in the page's URL, or with none. */
export function startEventStream(run) {
  ready = true;
  if (run) showRun(run);
  else openStream();
}

/** Show a run from its start; null shows the page without a run. */
export function showRun(run) {
  if (run === currentRun.id) return;
  ready = true;
  closeStream();
  const address = new URL(location.href);
  if (currentRun.id) address.hash = ""; // it named a step of the previous run
  currentRun.reset(run);
  cursor = null;
  if (run) address.searchParams.set("run", run);
  else address.searchParams.delete("run");
  history.replaceState(null, "", address);
  emit("reset");
  emit("permissions");
  openStream();
}

function openStream() {
  if (!ready || source || document.hidden) return;
  source = new EventSource(currentRun.id ? runApiUrl(cursor === null ? "events" : `events?cursor=${cursor}`) : apiUrl("presence"));
  let announced = true; // a stream that is read-only says so first
  source.addEventListener("open", () => {
    announced = false;
    onConnected();
  });
  source.addEventListener("read_only", (message) => {
    announced = true;
    currentRun.receive("read_only", JSON.parse(message.data));
  });
  for (const kind of ["state", "message", "workspace", "steering"])
    source.addEventListener(kind, (message) => {
      if (!announced) currentRun.receive("editable");
      announced = true;
      if (kind === "state" || kind === "message") receive(kind, message);
      else currentRun.receive(kind, JSON.parse(message.data));
    });
  source.addEventListener("error", () => {
    onDisconnected();
    if (source?.readyState === EventSource.CLOSED) onStreamRefused();
  });
}

let offlineTimer = 0;

/** The stream is connected. */
function onConnected() {
  clearTimeout(offlineTimer);
  offlineTimer = 0;
  setOffline(false);
}

/** Handle a lost stream, which the browser reconnects automatically. Ping the server at once, to report only a server that is unreachable. */
function onDisconnected() {
  offlineTimer ||= setTimeout(async () => {
    const timer = offlineTimer;
    const reachable = await fetch(apiUrl("../healthz"), { cache: "no-store" }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (timer !== offlineTimer) return;
    if (!reachable) setOffline(true);
    else offlineTimer = setTimeout(() => setOffline(true), GRACE_MS);
  }, RECOVERY_MS);
}

function setOffline(offline) {
  if (currentRun.offline === offline) return;
  currentRun.offline = offline;
  emit("connection");
}

function closeStream() {
  source?.close();
  clearTimeout(offlineTimer);
  offlineTimer = 0;
  source = null;
  if (frame) cancelAnimationFrame(frame);
  flush();
}

async function onStreamRefused() {
  const run = currentRun.id;
  closeStream();
  try {
    await fetchJson(run ? runApiUrl("files") : apiUrl("me"));
  } catch (error) {
    if (run !== currentRun.id) return;
    if (error.status === 401) return void location.reload(); // signed out: the server redirects to the login page
    if (error.message.startsWith("There is no such run")) {
      showRun(null);
      emit("notice", { text: error.message });
      return;
    }
  }
  onDisconnected();
  setTimeout(openStream, 2000);
}

function receive(kind, message) {
  cursor = message.lastEventId;
  pending.push([kind, JSON.parse(message.data)]);
  if (document.hidden) flush();
  else frame ||= requestAnimationFrame(flush);
}

function flush() {
  frame = 0;
  const batch = pending;
  pending = [];
  for (const [kind, data] of batch) currentRun.receive(kind, data);
  if (batch.length) emit("update");
}

document.addEventListener("visibilitychange", () => (document.hidden ? closeStream() : openStream()));
addEventListener("pagehide", closeStream);
addEventListener("pageshow", openStream);
setInterval(() => currentRun.running && !document.hidden && emit("tick"), 1000);
