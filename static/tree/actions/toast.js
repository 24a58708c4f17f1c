// A temporary notification with undo.

import { h, iconButton } from "../../core/dom.js";

const DURATION_SECONDS = 12;
let timer = 0;

/** Show a notification; `undo`, if given, reverts the action. */
export function showToast(text, { undo = null, bad = false } = {}) {
  close();
  const undoButton = undo && h("button", { class: "quiet", onclick: () => (close(), undo()) }, "Undo");
  const closeButton = iconButton("close", "Close", close);
  const element = h("div", { class: bad ? "toast bad" : "toast" }, h("span", {}, text), undoButton, closeButton);
  const pause = () => clearTimeout(timer);
  const start = () => (timer = setTimeout(close, DURATION_SECONDS * 1000));
  for (const name of ["pointerenter", "focusin"]) element.addEventListener(name, pause);
  for (const name of ["pointerleave", "focusout"]) element.addEventListener(name, start);
  document.querySelector(".workspace .toasts").append(element);
  start();
}

function close() {
  clearTimeout(timer);
  document.querySelectorAll(".workspace .toast").forEach((each) => each.remove());
}
