// A movable divider between two panels, by pointer and keyboard; its position is stored.

import { keep, kept } from "../core/local_storage.js";

const STEP = 2; // percent per arrow key

/**
 * Make an element (role=separator) divide `frame`; the share of the first panel, in percent, is
 * stored in the frame's variable `--<name>`.
 */
export function divide(element, frame, name, { least, most, usual }) {
  const upright = element.getAttribute("aria-orientation") === "vertical";
  let share = null;

  const put = (value, remember = true) => {
    share = value === null ? null : Math.round(Math.min(most, Math.max(least, value)) * 10) / 10;
    if (share === null) frame.style.removeProperty(`--${name}`);
    else frame.style.setProperty(`--${name}`, `${share}%`);
    element.setAttribute("aria-valuenow", Math.round(share ?? usual));
    if (remember) keep(`share-${name}`, share);
  };

  const move = (event) => {
    const box = frame.getBoundingClientRect();
    put(100 * (upright ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height), false);
  };

  element.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    element.focus();
    element.setPointerCapture(event.pointerId);
    element.addEventListener("pointermove", move);
    document.documentElement.classList.add("dividing");
  });
  element.addEventListener("lostpointercapture", () => {
    element.removeEventListener("pointermove", move);
    document.documentElement.classList.remove("dividing");
    put(share);
  });
  element.addEventListener("dblclick", () => put(null));
  element.addEventListener("keydown", (event) => {
    const [less, more] = upright ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const now = share ?? usual;
    const to = { [less]: now - STEP, [more]: now + STEP, Home: least, End: most }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    put(to);
  });
  element.setAttribute("aria-valuemin", least);
  element.setAttribute("aria-valuemax", most);
  put(kept(`share-${name}`, null), false);
}
