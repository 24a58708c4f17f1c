// The run shown by the page: one event stream per tab, and its listeners.

const listeners = new Map();

export const session = {
  run: null, // run id; null if there is none
  head: null, // state, totals, model: frequently changing values
  mode: "sandbox",
  limits: {},
  begun: false,
  away: false, // whether the server is currently unreachable
  owned: true, // whether this user may change the run
  step: 0, // current or last step
  skew: 0, // server clock minus browser clock, in seconds
  now: () => Date.now() / 1000 + session.skew,
  get alive() {
    return Boolean(session.head?.alive);
  },
};

export function on(name, listener) {
  listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}

export function emit(name, data) {
  for (const listener of listeners.get(name) ?? []) listener(data);
}

export const api = (path) => new URL(`api/${path}`, document.baseURI).href;

export const runApi = (path) => api(`runs/${session.run}/${path}`);

const PATIENCE = [200, 1000];
const SOON = 250; // ms until a browser recovers from a change of the networks
const GRACE = 2000; // ms that a stream may be interrupted while the server responds

/**
 * `fetch` with retries if the connection fails: browsers abort requests when the machine's
 * networks change, as when a container starts.
 */
export async function persist(url, options) {
  for (const pause of PATIENCE) {
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
export async function ask(url, options) {
  const response = await (options?.method ? fetch(url, options) : persist(url, options));
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

let begun = false;
let source = null;
let cursor = null;
let pending = [];
let frame = 0;

/** Start with the run in the page's URL, or with none. */
export function begin(run) {
  begun = true;
  if (run) attach(run);
  else open();
}

/** Show a run from its start; null shows the page without a run. */
export function attach(run) {
  if (run === session.run) return;
  begun = true;
  close();
  const address = new URL(location.href);
  if (session.run) address.hash = ""; // it named a step of the previous run
  Object.assign(session, { run, head: null, begun: false, step: 0, limits: {}, mode: "sandbox", owned: true });
  cursor = null;
  if (run) address.searchParams.set("run", run);
  else address.searchParams.delete("run");
  history.replaceState(null, "", address);
  emit("reset");
  emit("owned");
  open();
}

function open() {
  if (!begun || source || document.hidden) return;
  source = new EventSource(session.run ? runApi(cursor === null ? "events" : `events?cursor=${cursor}`) : api("presence"));
  source.addEventListener("picture", (message) => take("picture", message));
  source.addEventListener("message", (message) => take("events", message));
  source.addEventListener("workspace", (message) => emit("workspace", JSON.parse(message.data)));
  source.addEventListener("shown", () => {
    session.owned = false;
    emit("owned");
  });
  source.addEventListener("open", reached);
  source.addEventListener("error", () => {
    missed();
    if (source?.readyState === EventSource.CLOSED) refused();
  });
}

let leaving = 0;

/** The stream is connected. */
function reached() {
  clearTimeout(leaving);
  leaving = 0;
  tell(false);
}

/**
 * Handle a lost stream, which the browser reconnects automatically. Ping the server at once, to
 * report only a server that is unreachable.
 */
function missed() {
  leaving ||= setTimeout(async () => {
    const asked = leaving;
    const there = await fetch(api("../healthz"), { cache: "no-store" }).then(({ ok }) => ok, () => false);
    if (asked !== leaving) return;
    if (!there) tell(true);
    else leaving = setTimeout(() => tell(true), GRACE);
  }, SOON);
}

function tell(away) {
  if (session.away === away) return;
  session.away = away;
  emit("away");
}

function close() {
  source?.close();
  clearTimeout(leaving);
  leaving = 0;
  source = null;
  if (frame) cancelAnimationFrame(frame);
  flush();
}

async function refused() {
  const run = session.run;
  close();
  try {
    await ask(run ? runApi("files") : api("me"));
  } catch (error) {
    if (run !== session.run) return;
    if (error.status === 401) return void location.reload(); // signed out: the server redirects to the login page
    if (error.message.startsWith("There is no such run")) {
      attach(null);
      emit("notice", { text: error.message });
      return;
    }
  }
  missed();
  setTimeout(open, 2000);
}

function take(kind, message) {
  cursor = message.lastEventId;
  pending.push([kind, JSON.parse(message.data)]);
  if (document.hidden) flush();
  else frame ||= requestAnimationFrame(flush);
}

function flush() {
  frame = 0;
  const batch = pending;
  pending = [];
  for (const [kind, data] of batch) (kind === "picture" ? onPicture : onEvents)(data);
  if (batch.length) emit("head");
}

function onPicture({ now, title, picture }) {
  const last = picture.rounds.at(-1);
  adopt({ ...picture, now, title, alive: Boolean(last && last.status === null) });
  Object.assign(session, {
    begun: picture.rounds.length > 0, limits: picture.limits, mode: picture.mode, network: picture.network,
  });
  emit("picture", picture);
}

function onEvents({ head, events }) {
  adopt(head);
  for (const event of events) {
    if (event.kind === "run_started") {
      Object.assign(session, { begun: true, limits: event.limits, mode: event.mode, network: event.network });
    }
    if (event.kind === "run_continued" && event.limits?.steps) session.limits = event.limits;
  }
  emit("events", events);
}

function adopt(head) {
  session.skew = head.now - Date.now() / 1000;
  session.head = head;
}

document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
addEventListener("pageshow", open);
setInterval(() => session.alive && !document.hidden && emit("tick"), 1000);
