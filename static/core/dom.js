// DOM helpers; untrusted text only ever becomes a text node.

import { source } from "./loading/source.js";

const ICONS = {
  file: "M4 1.5h5L12.5 5v9.5h-9v-13zM9 1.5V5h3.5",
  folder: "M1.5 3.5h4l1.5 2h7.5v8h-13z",
  image: "M2 2.5h12v11H2zM2 11l3.5-4 3 3.5 2-2L14 11.5",
  code: "M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4",
  audio: "M6 12.5V3.5l7-1.5v9M6 12.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM13 11a2 2 0 1 1-4 0 2 2 0 0 1 4 0z",
  video: "M2 3.5h12v9H2zM6.5 6v4l3.5-2z",
  link: "M9.5 3h3.5v3.5M13 3 7.5 8.5M11 9v4H3V5h4",
  close: "M4 4l8 8M12 4l-8 8",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z",
  half: "M8 2.5a5.5 5.5 0 0 1 0 11z",
  play: "M5 3l8 5-8 5z",
  pause: "M4.5 3h2.5v10H4.5zM9 3h2.5v10H9z",
  before: "M10 3.5 5.5 8l4.5 4.5",
  next: "M6 3.5 10.5 8 6 12.5",
  download: "M8 3v9M4 8.5 8 12.5 12 8.5",
  attach: "M12.6 7.6 7.7 12.5a3.1 3.1 0 0 1-4.4-4.4l5.3-5.3a2.1 2.1 0 0 1 3 3l-5.3 5.2a1 1 0 0 1-1.4-1.4l4.7-4.7",
  find: "M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM10.2 10.2l4 4",
  expand: "M4.5 6 8 2.5 11.5 6M4.5 10 8 13.5 11.5 10",
  collapse: "M4.5 2.5 8 6l3.5-3.5M4.5 13.5 8 10l3.5 3.5",
  export: "M8 1.5v8M5 4.5l3-3 3 3M4.5 7.5H3v7h10v-7h-1.5",
  request: "M2 4h9M8.5 1.5 11 4 8.5 6.5M14 11.5H5M7.5 9 5 11.5 7.5 14",
  chart: "M2.5 2v12H14M5.5 11.5v-4M8.5 11.5v-7M11.5 11.5V9",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  sliders: "M2 5h6M11.5 5H14M2 11h2.5M8 11h6M9.7 3.3a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4zM6.3 9.3a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4z",
  bulb: "M6 11.5a4.5 4.5 0 1 1 4 0v1.5H6zM6.5 15h3",
  caret: "M6 4l4 4-4 4",
  diff: "M8 2.5v6M5 5.5h6M5 12.5h6",
  start: "M4 3h8M8 13V6M4.5 9.5 8 6l3.5 3.5",
  end: "M4 13h8M8 3v7M4.5 6.5 8 10l3.5-3.5",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z",
  pin: "M6 2h4l-.5 4.5 2.5 2V10H4V8.5l2.5-2zM8 10v4.5",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.5V8l2.5 1.5",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9M6.8 7v4M9.2 7v4",
  fork: "M4.5 5.5v5M4.5 7.5c0 2 7 1 7-2M6 4a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM6 12a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM13 4a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0z",
  present: "M1.5 2.5h13M2.5 2.5v8h11v-8M8 10.5V14M5 14.5 8 12l3 2.5",
  fullscreen: "M9.5 2.5h4v4M6.5 13.5h-4v-4M13 3 9 7M3 13l4-4",
};

/** Create an element with attributes (`on…` are listeners) and children; strings become text. A button submits no form unless its type says so. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  if (tag === "button") element.setAttribute("type", "button");
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make `nodes` the children of an element; those that it has already stay, so that a click that has begun on one ends there. */
export function setChildren(element, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...element.childNodes]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, at) => element.childNodes[at] === node || element.insertBefore(node, element.childNodes[at] ?? null));
}

/** Make elements the children of `parent`, but keep those of its children that equal one of them. */
export function updateChildren(parent, elements) {
  const shown = [...parent.childNodes];
  const kept = (each) => {
    const at = shown.findIndex((old) => old.isEqualNode(each));
    return at < 0 ? each : shown.splice(at, 1)[0];
  };
  setChildren(parent, elements.map(kept));
}

/** @type {WeakMap<object, string>} what is drawn, as JSON, by who draws it */
const drawn = new WeakMap();

/** Whether `values`, which `owner` is to draw, are other ones than at the last call. */
export function hasChanged(owner, values) {
  const key = JSON.stringify(values);
  if (drawn.get(owner) === key) return false;
  drawn.set(owner, key);
  return true;
}

/** Return a line icon in the current text colour. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "svg-icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  if (name === "theme") {
    const half = /** @type {SVGElement} */ (path.cloneNode());
    half.setAttribute("d", ICONS.half);
    half.setAttribute("fill", "currentColor");
    svg.append(half);
  }
  return svg;
}

/** Return a button that shows an icon; `label` says what it does, on hovering and to screen readers. */
export const iconButton = (name, label, onclick, attributes = {}) =>
  h("button", { class: "quiet icon-button", title: label, "aria-label": label, onclick, ...attributes }, icon(name));

/** Show another icon on a button, with another label. */
export function setIcon(button, name, label) {
  button.replaceChildren(icon(name));
  button.title = label;
  button.setAttribute("aria-label", label);
}

/** Whether a click asks the browser for a new tab, window or download. */
export const isModified = ({ ctrlKey, metaKey, shiftKey }) => ctrlKey || metaKey || shiftKey;

/** Return a listener of clicks on a link that calls `act` instead of following it, unless a modifier key is held. */
export const plainClick = (act) => (event) => {
  if (isModified(event)) return;
  event.preventDefault();
  act(event);
};

const styleSheets = new Map();

/** Load a style sheet of `static/` once; resolves when it is applied or has failed for now. */
export function loadStyles(name) {
  if (!source.bundled && !styleSheets.has(name)) styleSheets.set(name, loadStyleSheet(name));
  return styleSheets.get(name);
}

async function loadStyleSheet(name, tries = 2) {
  const link = h("link", { rel: "stylesheet", href: new URL(`ui/${name}`, document.baseURI).href });
  const loaded = new Promise((resolve) => {
    link.onload = () => resolve(true);
    link.onerror = () => resolve(false);
  });
  document.head.append(link);
  if (await loaded) return undefined;
  link.remove();
  if (tries) return new Promise((resolve) => setTimeout(resolve, 500)).then(() => loadStyleSheet(name, tries - 1));
  return void styleSheets.delete(name);
}

/** Resolve with the element as soon as Gradio has created it. */
export function waitForElement(selector) {
  return new Promise((resolve) => {
    const check = () => {
      const element = document.querySelector(selector);
      if (element) observer.disconnect(), resolve(element);
    };
    const observer = new MutationObserver(check);
    observer.observe(document.body, { childList: true, subtree: true });
    check();
  });
}

/** Set a field to a value as user input would, so that Gradio notices. */
export function setFieldValue(field, text) {
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** @type {WeakMap<Element, string>} labels of the buttons that show an outcome instead, for a moment */
const labels = new WeakMap();

/** Show an outcome on a button for a moment, instead of its label. */
export function showOutcome(button, text) {
  if (!labels.has(button)) labels.set(button, button.textContent);
  button.textContent = text;
  setTimeout(() => (button.textContent = labels.get(button)), 1200);
}

/** Copy `text` (or a promise of it) to the clipboard and confirm on the button for a moment. */
export async function copyText(text, button) {
  try {
    const content = await text;
    await (navigator.clipboard?.writeText(content) ?? copyWithoutClipboardApi(content));
    showOutcome(button, "Copied");
  } catch {
    showOutcome(button, "Copy failed");
  }
}

/** Fallback: browsers disable the clipboard API on plain HTTP except for localhost. */
function copyWithoutClipboardApi(text) {
  const field = h("textarea", { style: "position: fixed; opacity: 0" });
  field.value = text;
  document.body.append(field);
  field.select();
  const succeeded = document.execCommand("copy");
  field.remove();
  if (!succeeded) throw new Error("The browser denied access to the clipboard.");
}

/** Scroll an element to the top of `scroller`, and nothing else of the page. */
export function scrollWithin(element, scroller) {
  const margin = parseFloat(getComputedStyle(element).scrollMarginTop) || 0;
  scroller.scrollTop += element.getBoundingClientRect().top - scroller.getBoundingClientRect().top - scroller.clientTop - margin;
}

/** Scroll to an element, repeatedly while `isTarget()` holds and its surroundings change size. */
export async function scrollToElement(element, scroller, isTarget) {
  const offset = () => element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
  for (let tries = 0, stable = 0; tries < 12 && stable < 2 && isTarget(); tries++) {
    scrollWithin(element, scroller);
    const before = offset();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50))); // what is near is rendered meanwhile
    stable = Math.abs(offset() - before) < 1 ? stable + 1 : 0;
  }
}

/** Text that is appended to at constant cost. Beyond `maxLength` characters the oldest chunks are removed, and `onTrim` receives their length. */
export class GrowingText {
  constructor(element, { maxLength = 200_000, onTrim = /** @type {(trimmed: number) => void} */ (() => {}) } = {}) {
    this.element = element;
    this.maxLength = maxLength;
    this.onTrim = onTrim;
    this.clear();
  }

  clear() {
    this.element.replaceChildren();
    this.size = this.trimmed = 0;
    this.last = null;
    this.kind = "";
  }

  append(text, kind = "") {
    if (!this.last || this.kind !== kind || this.last.length > 8192) this.startChunk(kind);
    this.last.appendData(text);
    this.size += text.length;
    while (this.size > this.maxLength && this.element.childNodes.length > 1) this.trim();
  }

  startChunk(kind) {
    this.last = document.createTextNode("");
    this.kind = kind;
    this.element.append(kind ? h("span", { class: kind }, this.last) : this.last);
  }

  trim() {
    const removed = this.element.firstChild.textContent.length;
    this.element.firstChild.remove();
    this.size -= removed;
    this.trimmed += removed;
    this.onTrim(this.trimmed);
  }
}

/**
 * Keep a scrolled element at its end while the user is there. Returns `follow`: true scrolls
 * to the end, false stops following; it returns whether the element is at its end, as
 * `follow.isFollowing` does without scrolling.
 *
 * Only scrolling up stops following, growth does not. While following, the browser's scroll
 * anchoring is off, because its adjustments would look like scrolling up.
 */
export function followEnd(element, onChange = /** @type {(following: boolean) => void} */ (() => {})) {
  let following = true;
  let top = 0;
  const setFollowing = (value) => {
    if (value === following) return;
    following = value;
    element.style.overflowAnchor = value ? "none" : "";
    onChange(value);
  };
  element.style.overflowAnchor = "none";
  element.addEventListener(
    "scroll",
    () => {
      const distance = element.scrollHeight - element.scrollTop - element.clientHeight;
      if (distance < 40) setFollowing(true);
      else if (element.scrollTop < top) setFollowing(false);
      top = element.scrollTop;
    },
    { passive: true },
  );
  const follow = (enabled = following) => {
    setFollowing(enabled);
    if (following) element.scrollTop = element.scrollHeight;
    return following;
  };
  follow.isFollowing = () => following;
  return follow;
}
