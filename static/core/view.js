// Which view the page shows: a run, or in its place a comparison or an evaluation. Views open without
// a reload and are kept in the URL.

import { h, loadStyles } from "./dom.js";
import { currentRun, emit, on, showRun } from "./event_stream.js";
import { source } from "./loading/source.js";

const STATE = ["filter", "group"]; // parameters of the URL in which a view keeps what it shows
const views = new Map(); // name → { parameter, label, styles, load }
let shown = null; // { name, id }
let page = null; // what `load` made, once loaded

/** Register a view: its id's URL `parameter`, its style sheets `styles`; `load(id, place, { onGone })` shows it and returns an object with `close()`. */
export function registerView(name, { parameter, label, styles, load }) {
  views.set(name, { parameter, label, styles, load });
}

/** The view in the page's URL as { name, id }, or null. */
function linkedView() {
  const address = new URLSearchParams(location.search);
  for (const [name, { parameter }] of views) if (address.get(parameter)) return { name, id: address.get(parameter) };
  return null;
}

/** The URL of a view. */
export function viewUrl(name, id) {
  const address = new URL(document.baseURI);
  address.search = `${new URLSearchParams({ [views.get(name).parameter]: id })}`;
  address.hash = "";
  return address.href;
}

/** Show a view in place of the run; with `visit` the browser's Back returns to what was shown. */
export async function showView(name, id, { visit = true } = {}) {
  if (shown?.name === name && shown.id === id) return;
  const { label, styles, load } = views.get(name);
  const linked = linkedView();
  const isLinked = linked?.name === name && linked.id === id;
  const address = new URL(isLinked ? location.href : viewUrl(name, id)); // a link may say what the view shows
  address.searchParams.delete("run");
  leave();
  if (visit && !isLinked) history.pushState(null, "", location.href);
  showRun(null);
  history.replaceState(null, "", address);
  const opened = { name, id };
  shown = opened;
  document.documentElement.dataset.view = name;
  const place = h("section", { class: `view ${name}`, tabindex: "0", "aria-label": label, "aria-busy": "true" });
  const studio = document.querySelector("#studio");
  studio.hidden = true;
  studio.after(place);
  if (visit) place.focus(); // what had the focus is hidden
  try {
    const [create] = await Promise.all([load(), ...styles.map((each) => loadStyles(each))]);
    if (shown === opened && place.isConnected) page = create(id, place, { onGone: (text) => showGone(text) });
  } catch (error) {
    place.replaceChildren(h("p", { class: "empty-message" }, error.message));
  }
}

/** Open a run from a view; the browser's Back returns to the view. */
export function openRun(run, step = null) {
  if (source.bundled) return; // a report is one page
  history.pushState(null, "", location.href);
  if (shown) rememberOrigin(run, shown);
  leave();
  showRun(run);
  if (!step) return;
  const address = new URL(location.href); // a bare fragment would be relative to the page's base
  address.hash = `step-${step}`;
  history.replaceState(null, "", address);
}

/** Remember, in this tab, from which view `{ name, id }` a run was opened: the page leads back to it. */
export function rememberOrigin(run, { name, id }) {
  sessionStorage.setItem(`view:${run}`, JSON.stringify({ name, id }));
}

/** Create the button that leads from a run back to the view from which it was opened. */
export function createBackButton() {
  const origin = () => (currentRun.id ? JSON.parse(sessionStorage.getItem(`view:${currentRun.id}`)) : null);
  const name = h("span", { class: "hide-small" });
  const button = h("button", { class: "quiet back", hidden: true }, "←", name);
  button.addEventListener("click", () => showView(origin().name, origin().id));
  on("reset", () => {
    button.hidden = !origin();
    if (button.hidden) return;
    const { label } = views.get(origin().name);
    name.textContent = label;
    button.title = `Back to the ${label.toLowerCase()}`;
    button.setAttribute("aria-label", button.title);
  });
  return button;
}

/** Close the view that is shown, if any: the page shows a run, or none. */
export function leave() {
  if (!shown) return;
  page?.close();
  document.querySelector("section.view")?.remove();
  document.querySelector("#studio").hidden = false;
  shown = page = null;
  delete document.documentElement.dataset.view;
  const address = new URL(location.href);
  for (const parameter of [...views.values()].map((each) => each.parameter).concat(STATE)) address.searchParams.delete(parameter);
  history.replaceState(null, "", address);
  emit("view", null);
}

function showGone(text) {
  leave();
  emit("notice", { text });
}

/** Follow the URL: the browser went back or forward. */
function followAddress() {
  if (source.bundled) return undefined;
  const linked = linkedView();
  if (linked) return void showView(linked.name, linked.id, { visit: false });
  const { href } = location;
  leave();
  history.replaceState(null, "", href);
  const run = new URLSearchParams(location.search).get("run");
  if (run !== currentRun.id) showRun(run);
  return undefined;
}

on("reset", () => currentRun.id && leave());
addEventListener("popstate", followAddress);
addEventListener("mounted", () => linkedView() && showView(linkedView().name, linkedView().id, { visit: false }), { once: true });
