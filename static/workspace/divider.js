// A movable divider between two panels, by pointer and keyboard; its position is stored.

import { writeStored, readStored } from "../core/local_storage.js";

const STEP = 2; // percent per arrow key

/** Make an element (role=separator) divide `frame`; the share of the first panel, in percent, is stored in the frame's variable `--<name>`. */
export function mountDivider(element, frame, name, { min, max, initial }) {
  const vertical = element.getAttribute("aria-orientation") === "vertical";
  let share = null;

  const setShare = (value, remember = true) => {
    share = value === null ? null : Math.round(Math.min(max, Math.max(min, value)) * 10) / 10;
    if (share === null) frame.style.removeProperty(`--${name}`);
    else frame.style.setProperty(`--${name}`, `${share}%`);
    element.setAttribute("aria-valuenow", Math.round(share ?? initial));
    if (remember) writeStored(`share-${name}`, share);
  };

  const move = (event) => {
    const box = frame.getBoundingClientRect();
    setShare(100 * (vertical ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height), false);
  };

  element.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    element.focus();
    element.setPointerCapture(event.pointerId);
    element.addEventListener("pointermove", move);
    document.documentElement.classList.add("resizing");
  });
  element.addEventListener("lostpointercapture", () => {
    element.removeEventListener("pointermove", move);
    document.documentElement.classList.remove("resizing");
    setShare(share);
  });
  element.addEventListener("dblclick", () => setShare(null));
  element.addEventListener("keydown", (event) => {
    const [decrease, increase] = vertical ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const now = share ?? initial;
    const to = { [decrease]: now - STEP, [increase]: now + STEP, Home: min, End: max }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setShare(to);
  });
  element.setAttribute("aria-valuemin", min);
  element.setAttribute("aria-valuemax", max);
  setShare(readStored(`share-${name}`, null), false);
}
