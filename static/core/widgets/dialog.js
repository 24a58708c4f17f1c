// Modal dialogs: a title, a button that closes, and the content.

import { h, iconButton } from "../dom.js";

/**
 * Open a dialog of the classes `name`, in place of an open one of the last class; it is removed when
 * it closes. With `dismissible` a click beside it closes it.
 */
export function openDialog({ name, title, dismissible = false }, ...content) {
  const opener = document.activeElement;
  const kind = name.split(" ").at(-1);
  const id = `${kind}-title`;
  /** @type {HTMLDialogElement | null} */ (document.querySelector(`dialog.${kind}[open]`))?.close();
  const dialog = h(
    "dialog",
    { class: `window ${name}`, "aria-labelledby": id },
    h(
      "div",
      { class: "header" },
      h("h2", { id, tabindex: "-1", dir: "auto" }, title),
      iconButton("close", "Close", () => dialog.close(), { class: "quiet" }),
    ),
    ...content,
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    returnFocus(opener);
  });
  if (dismissible) dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  document.querySelector(".gradio-container").append(dialog);
  dialog.showModal();
  return dialog;
}

/** Give the focus back to what had it, or to what has taken its place: a button that was drawn again. */
export function returnFocus(opener) {
  if (document.activeElement && document.activeElement !== document.body) return;
  const label = opener?.getAttribute?.("aria-label") ?? opener?.textContent;
  const isSame = (each) => (each.getAttribute("aria-label") ?? each.textContent) === label;
  const target = opener?.isConnected ? opener : label && [...document.querySelectorAll(opener.localName)].find(isSame);
  target?.focus({ preventScroll: true });
}
