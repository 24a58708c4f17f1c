// The run that the page shows: one stream of events per tab, and whoever listens.

const listeners = new Map();

export const session = {
  run: null, // its id; null before there is one
  head: null, // state, totals, model: what changes all the time
  mode: "sandbox",
  limits: {},
  begun: false,
  away: false, // whether the server has not been reached for a moment
  owned: true, // whether it may be changed from here
  step: 0, // the one that goes on, or the last
  skew: 0, // the server's clock minus ours, seconds
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

/**
 * `fetch`, and again where the connection broke off: a browser drops what is under way when
 * the machine's networks change, as they do when a container starts beside it.
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

/** An answer's JSON; a refusal becomes an Error with the server's sentence. */
export async function ask(url, options) {
  const response = await (options?.method ? fetch(url, options) : persist(url, options));
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    // no JSON: the status says enough
  }
  if (!response.ok) throw Object.assign(new Error(value?.error ?? `The server answered ${response.status}.`), { status: response.status });
  return value;
}

let source = null;
let cursor = null;
let pending = [];
let frame = 0;

/** Show a run from its beginning; null shows the empty page. */
export function attach(run) {
  if (run === session.run) return;
  close();
  const address = new URL(location.href);
  if (session.run) address.hash = ""; // it named a step of the run before
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
  if (!session.run || source || document.hidden) return;
  source = new EventSource(runApi(cursor === null ? "events" : `events?cursor=${cursor}`));
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

/** The stream is there. */
function reached() {
  clearTimeout(leaving);
  leaving = 0;
  if (session.away) {
    session.away = false;
    emit("away");
  }
}

/** The stream broke off; the browser asks for it again. It is said once that takes a while. */
function missed() {
  leaving ||= setTimeout(() => {
    session.away = true;
    emit("away");
  }, 1500);
}

function close() {
  source?.close();
  reached();
  source = null;
  if (frame) cancelAnimationFrame(frame);
  flush();
}

async function refused() {
  const run = session.run;
  close();
  try {
    await ask(runApi("files"));
  } catch (error) {
    if (run !== session.run) return;
    if (error.status === 401) return void location.reload(); // signed out: the server says where to
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
