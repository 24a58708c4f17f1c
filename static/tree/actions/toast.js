// A temporary notification with undo.

import { h, icon } from "../../core/dom.js";

const SECONDS = 12;
let timer = 0;

/** Show a notification; `undo`, if given, reverts the action. */
export function toast(text, { undo, bad = false } = {}) {
  close();
  const back = undo && h("button", { type: "button", class: "quiet", onclick: () => (close(), undo()) }, "Undo");
  const leave = h("button", { type: "button", class: "quiet sign", "aria-label": "Close", onclick: close }, icon("close"));
  const element = h("div", { class: bad ? "toast bad" : "toast" }, h("span", {}, text), back, leave);
  const stay = () => clearTimeout(timer);
  const go = () => (timer = setTimeout(close, SECONDS * 1000));
  for (const name of ["pointerenter", "focusin"]) element.addEventListener(name, stay);
  for (const name of ["pointerleave", "focusout"]) element.addEventListener(name, go);
  document.querySelector(".workspace .toasts").append(element);
  go();
}

function close() {
  clearTimeout(timer);
  document.querySelectorAll(".workspace .toast").forEach((each) => each.remove());
}
