// Elements and helpers that several previews share.

import { h, icon } from "../core/dom.js";

const DELAY_MS = 150; // ms before progress is shown
const SHOW_SECONDS_MS = 2000; // ms after which its seconds are shown

export const quietButton = (text, onclick, attributes = {}) => h("button", { class: "quiet", onclick, ...attributes }, text);

/** A button with a sign for its text; `label` says what it does. */
export const signButton = (sign, label, onclick) => h("button", { class: "quiet icon-button", "aria-label": label, title: label, onclick }, sign);

export const downloadLink = (file) => h("a", { class: "quiet", href: file.address("files", {}), download: file.name }, "Download");

/** A message in place of a view, with links and buttons. */
export const messageView = (text, ...actions) =>
  h("div", { class: "message", role: "status" }, icon("file"), h("p", {}, text), actions.length ? h("div", {}, ...actions) : null);

/** Two buttons for the header, of the rendered view and the source; none if the file has only one of them. */
export function sourceToggle(file, current) {
  if (!file.rendered) return [];
  const button = (name, as) => quietButton(name, () => as !== current && file.preview.openAs(as), { "aria-pressed": String(as === current) });
  return [h("span", { class: "view-toggle", role: "group", "aria-label": "View" }, button(file.rendered, ""), button("Source", "text"))];
}

/** Show the server's warnings in an element. */
export function showNotes(element, notes) {
  element.textContent = notes.join(" ");
  element.hidden = !notes.length;
}

/** Return a function that calls `act` in the next frame, once for several calls; its `cancel()` prevents that. */
export function oncePerFrame(act) {
  let pending = 0;
  const schedule = () => {
    pending ||= requestAnimationFrame(() => {
      pending = 0;
      act();
    });
  };
  schedule.cancel = () => cancelAnimationFrame(pending);
  return schedule;
}

/** Call `zoom(factor, event)` when the wheel turns with Ctrl. */
export function onWheelZoom(element, zoom) {
  const onWheel = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) / 250), event);
  };
  element.addEventListener("wheel", onWheel, { passive: false });
}

/** Call `open(by)` for the arrow keys in a list of tabs. */
export function onTabKeys(list, keys, open) {
  list.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    open(keys[event.key]);
  });
}

/** A tab of a list. */
export const tab = (selected, onclick, attributes, ...children) =>
  h("button", { role: "tab", "aria-selected": String(selected), tabindex: selected ? "0" : "-1", onclick, ...attributes }, ...children);

/** Call `show(note)` with an element once an operation exceeds the threshold. Returns a function that ends it; `show` is not called afterwards. */
export function showProgress(verb, show) {
  const began = performance.now();
  const seconds = h("span", { class: "num", "aria-hidden": "true" });
  const note = h("span", { class: "waiting", role: "status" }, `${verb}…`, seconds);
  let timer = setTimeout(() => {
    show(note);
    timer = setInterval(count, 250);
  }, DELAY_MS);
  const count = () => {
    const elapsed = performance.now() - began;
    if (elapsed >= SHOW_SECONDS_MS) seconds.textContent = ` ${Math.floor(elapsed / 1000)} s`;
  };
  return () => {
    clearTimeout(timer);
    clearInterval(timer);
    note.remove();
  };
}
