// Unsent text, per run and for the page without a run. Stored in the browser: permanently for a
// run, otherwise until the tab closes.

const PREFIX = "studio-unsent:";
const MAX_RUNS = 50; // runs

const storeOf = (run) => (run ? localStorage : sessionStorage);

/** Return the unsent text of a run, or of the page without one (null); empty if there is none. */
export function unsentText(run) {
  try {
    return storeOf(run).getItem(PREFIX + (run ?? "")) ?? "";
  } catch {
    return ""; // storage is unavailable
  }
}

/** Store the unsent text of a run; an empty text removes it. */
export function saveUnsentText(run, text) {
  const name = PREFIX + (run ?? "");
  try {
    if (!text.trim()) return storeOf(run).removeItem(name);
    if (run && unsentText(run) === "") removeOldest();
    return storeOf(run).setItem(name, text);
  } catch {
    return undefined; // storage is unavailable or full: only the text box holds the text
  }
}

/** Return the first line of the unsent text of a run. */
export const unsentTitle = (run) => unsentText(run).trim().split("\n", 1)[0];

function removeOldest() {
  const stored = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  for (const name of stored.slice(0, Math.max(0, stored.length - MAX_RUNS + 1))) localStorage.removeItem(name);
}
