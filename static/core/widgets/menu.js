// A menu, by pointer and keyboard: a context menu, or one that a button opens.

import { h } from "../dom.js";

let open = null;

/**
 * Open a menu. An item is `{text, run, href?, note?, keys?, title?, danger?, checked?, ownerOnly?, stays?}`;
 * null is a separator. `run` gets the item's element; an item with `href` alone is a download, and one
 * that `stays` leaves the menu open. `at` is `{x, y}` or the element to open under, where a second
 * click closes the menu; `back` gets the focus afterwards. The menu is labelled by the element.
 */
export function openMenu(items, at, back = at) {
  if (open?.at === at) return closeMenu();
  closeMenu();
  const elements = items.map((item) => (item ? menuItem(item) : h("hr")));
  const owner = at instanceof Element ? at : back;
  const label = owner instanceof Element ? (owner.getAttribute("aria-label") ?? owner.textContent.trim()) : null;
  const element = h("div", { class: "context-menu", role: "menu", "aria-label": label }, ...elements);
  const place = back?.closest?.("dialog, section[aria-label]") ?? document.querySelector(".gradio-container");
  place.append(element);
  open = { element, at, back };
  if (at instanceof Element) at.setAttribute("aria-expanded", "true");
  position(element, at);
  element.addEventListener("keydown", onKey);
  element.addEventListener("focusout", ({ relatedTarget: to }) => to && !isInside(to) && closeMenu(false));
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  document.addEventListener("pointerdown", closeOutside, true);
  document.addEventListener("wheel", closeOutside, { capture: true, passive: true });
  return visibleItems()[0]?.focus();
}

export function closeMenu(returnFocus = true) {
  if (!open) return;
  const { element, at, back } = open;
  open = null;
  document.removeEventListener("pointerdown", closeOutside, true);
  document.removeEventListener("wheel", closeOutside, true);
  if (at instanceof Element) at.setAttribute("aria-expanded", "false");
  element.remove();
  if (returnFocus) back?.focus?.({ preventScroll: true });
}

/** Whether a node is in the menu, or in the element that opens and closes it. */
const isInside = (node) => open?.element.contains(node) || (open?.at instanceof Element && open.at.contains(node));

const visibleItems = () => [...open.element.querySelectorAll("[role^=menuitem]")].filter((each) => each.checkVisibility());

function closeOutside({ target }) {
  if (!isInside(target)) closeMenu(false);
}

function menuItem({
  text,
  run = null,
  href = null,
  note = "",
  keys = "",
  title = null,
  danger = false,
  checked = undefined,
  ownerOnly = false,
  stays = false,
}) {
  const onclick = (event) => {
    const { currentTarget } = event;
    if (run) event.preventDefault();
    if (!stays) closeMenu();
    run?.(currentTarget);
  };
  return h(
    href ? "a" : "button",
    {
      ...(href && { href, download: !run }),
      role: checked === undefined ? "menuitem" : "menuitemcheckbox",
      tabindex: "-1",
      class: [danger ? "danger" : "", ownerOnly ? "owner-only" : ""].join(" ").trim() || null,
      title,
      "aria-checked": checked === undefined ? null : String(checked),
      onclick,
    },
    h("span", {}, text),
    note ? h("small", {}, note) : h("kbd", { "aria-hidden": "true" }, checked ? "✓" : keys),
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

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's shortcuts
  const items = visibleItems();
  const at = items.indexOf(document.activeElement);
  const focusItem = (to) => items[(to + items.length) % items.length].focus();
  const moves = {
    ArrowDown: () => focusItem(at + 1),
    ArrowUp: () => focusItem(at - 1),
    Home: () => focusItem(0),
    End: () => focusItem(-1),
    Escape: () => closeMenu(),
    Tab: () => closeMenu(),
  };
  const next = [...items.slice(at + 1), ...items.slice(0, at + 1)];
  const match = event.key.length === 1 && event.key !== " " && next.find((each) => each.textContent.toLowerCase().startsWith(event.key.toLowerCase()));
  if (!moves[event.key] && !match) return;
  event.preventDefault();
  event.stopPropagation(); // Escape would stop the run
  if (match) match.focus();
  else moves[event.key]();
}
