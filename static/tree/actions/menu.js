// A context or dropdown menu, by pointer and keyboard.

import { h } from "../../core/dom.js";

let open = null;

/**
 * Open a menu. An item is `{text, run, keys?, danger?, checked?}`; null is a separator.
 * `at` is `{x, y}` or the element to open under; `back` gets the focus afterwards.
 */
export function openMenu(items, at, back) {
  closeMenu();
  const buttons = [];
  const parts = items.map((item) => (item ? buttons[buttons.push(menuButton(item)) - 1] : h("hr")));
  const element = h("div", { class: "context-menu", role: "menu" }, ...parts);
  const place = back?.closest?.("dialog, section[aria-label]") ?? document.querySelector(".gradio-container");
  place.append(element);
  open = { element, back };
  position(element, at);
  element.addEventListener("keydown", (event) => onKey(event, buttons));
  element.addEventListener("focusout", (event) => event.relatedTarget && !element.contains(event.relatedTarget) && closeMenu(false));
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  document.addEventListener("pointerdown", closeOutside, true);
  document.addEventListener("wheel", closeOutside, { capture: true, passive: true });
  buttons[0]?.focus();
}

function closeMenu(returnFocus = true) {
  if (!open) return;
  const { element, back } = open;
  open = null;
  document.removeEventListener("pointerdown", closeOutside, true);
  document.removeEventListener("wheel", closeOutside, true);
  element.remove();
  if (returnFocus) back?.focus?.({ preventScroll: true });
}

function closeOutside(event) {
  if (!open?.element.contains(event.target)) closeMenu(false);
}

function menuButton({ text, run, keys, danger, checked }) {
  const role = checked === undefined ? "menuitem" : "menuitemcheckbox";
  const onclick = () => {
    closeMenu();
    run();
  };
  return h(
    "button",
    { type: "button", role, tabindex: "-1", class: danger ? "danger" : null, "aria-checked": checked === undefined ? null : String(checked), onclick },
    h("span", {}, text),
    h("kbd", { "aria-hidden": "true" }, checked ? "✓" : (keys ?? "")),
  );
}

function position(element, at) {
  const box = at instanceof Element ? at.getBoundingClientRect() : { left: at.x, right: at.x, top: at.y, bottom: at.y };
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = at instanceof Element ? box.right - width : box.left;
  const below = box.bottom + height <= innerHeight - 8;
  element.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  element.style.top = `${Math.max(8, below ? box.bottom : Math.min(box.top - height, innerHeight - height - 8))}px`;
}

function onKey(event, buttons) {
  const at = buttons.indexOf(document.activeElement);
  const focusButton = (to) => buttons[(to + buttons.length) % buttons.length].focus();
  const moves = {
    ArrowDown: () => focusButton(at + 1),
    ArrowUp: () => focusButton(at - 1),
    Home: () => focusButton(0),
    End: () => focusButton(-1),
    Escape: () => closeMenu(),
    Tab: () => closeMenu(),
  };
  const next = [...buttons.slice(at + 1), ...buttons.slice(0, at + 1)];
  const match = event.key.length === 1 && event.key !== " " && next.find((each) => each.textContent.toLowerCase().startsWith(event.key.toLowerCase()));
  if (!moves[event.key] && !match) return;
  event.preventDefault();
  event.stopPropagation();
  if (match) match.focus();
  else moves[event.key]();
}
