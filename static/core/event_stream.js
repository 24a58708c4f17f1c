// The event stream of the run that the page shows: its state, its listeners, requests to the API.

const listeners = new Map();

export const currentRun = {
  id: null, // null if the page shows no run
  status: null, // state, totals, model: frequently changing values
  mode: "sandbox",
  limits: {},
  started: false,
  offline: false, // whether the server is currently unreachable
  canEdit: true, // whether this user may change the run
  step: 0, // current or last step
  clockSkew: 0, // server clock minus browser clock, in seconds
  now: () => Date.now() / 1000 + currentRun.clockSkew,
  get running() {
    return Boolean(currentRun.status?.running);
  },
};

export function on(name, listener) {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}

export function emit(name, data) {
  for (const listener of listeners.get(name) ?? []) listener(data);
}

export const apiUrl = (path) => new URL(`api/${path}`, document.baseURI).href;

export const runApiUrl = (path) => apiUrl(`runs/${currentRun.id}/${path}`);

const RETRY_DELAYS = [200, 1000];
const RECOVERY_MS = 250; // ms until a browser recovers from a change of the networks
const GRACE_MS = 2000; // ms that a stream may be interrupted while the server responds

/**
 * `fetch` with retries if the connection fails: browsers abort requests when the machine's
 * networks change, as when a container starts.
 */
export async function fetchWithRetry(url, options) {
  for (const pause of RETRY_DELAYS) {
    try {
      return await fetch(url, options);
    } catch (error) {
      if (options?.signal?.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return fetch(url, options);
}

/** Return the response's JSON; an error response becomes an Error with the server's message. */
export async function fetchJson(url, options) {
  const response = await (options?.method ? fetch(url, options) : fetchWithRetry(url, options));
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    // no JSON: the status suffices
  }
  if (!response.ok) throw Object.assign(new Error(value?.error ?? `The server responded with status ${response.status}.`), { status: response.status });
  return value;
}

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
  Object.assign(currentRun, { id: run, status: null, started: false, step: 0, limits: {}, mode: "sandbox", canEdit: true });
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
  source.addEventListener("state", (message) => receive("state", message));
  source.addEventListener("message", (message) => receive("events", message));
  source.addEventListener("workspace", (message) => emit("workspace", JSON.parse(message.data)));
  source.addEventListener("read_only", () => {
    currentRun.canEdit = false;
    emit("permissions");
  });
  source.addEventListener("open", onConnected);
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

/**
 * Handle a lost stream, which the browser reconnects automatically. Ping the server at once, to
 * report only a server that is unreachable.
 */
function onDisconnected() {
  offlineTimer ||= setTimeout(async () => {
    const timer = offlineTimer;
    const reachable = await fetch(apiUrl("../healthz"), { cache: "no-store" }).then(({ ok }) => ok, () => false);
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
  for (const [kind, data] of batch) (kind === "state" ? onState : onEvents)(data);
  if (batch.length) emit("update");
}

function onState({ now, title, state }) {
  const last = state.rounds.at(-1);
  updateStatus({ ...state, now, title, running: Boolean(last && last.status === null) });
  Object.assign(currentRun, {
    started: state.rounds.length > 0, limits: state.limits, mode: state.mode, network: state.network,
  });
  emit("state", state);
}

function onEvents({ status, events }) {
  updateStatus(status);
  for (const event of events) {
    if (event.kind === "run_started") {
      Object.assign(currentRun, { started: true, limits: event.limits, mode: event.mode, network: event.network });
    }
    if (event.kind === "run_continued" && event.limits?.steps) currentRun.limits = event.limits;
  }
  emit("events", events);
}

function updateStatus(status) {
  currentRun.clockSkew = status.now - Date.now() / 1000;
  currentRun.status = status;
}

document.addEventListener("visibilitychange", () => (document.hidden ? closeStream() : openStream()));
addEventListener("pagehide", closeStream);
addEventListener("pageshow", openStream);
setInterval(() => currentRun.running && !document.hidden && emit("tick"), 1000);
