// Conflict of an edited text with the file on disk: each difference can be kept or taken back.

import { h } from "../../core/dom.js";
import { loadMerge } from "../diff/line_changes.js";

const MAX_REMOVED = 100_000; // characters of the file that are shown between two lines

/**
 * Return the extension that shows in the text how it differs from the file. Throws an Error with a
 * message for the user if they differ too much or the library is missing.
 */
export async function conflictExtension(fileText, text) {
  const { Chunk, diffConfig, unifiedMergeView } = await loadMerge();
  const chunks = Chunk.build(fileText, text, diffConfig);
  if (chunks.some(({ fromA, toA }) => toA - fromA > MAX_REMOVED)) throw new Error("They differ too much to be shown here.");
  return unifiedMergeView({ original: fileText, diffConfig, collapseUnchanged: {}, mergeControls });
}

function mergeControls(type, act) {
  const decide = (event) => {
    const content = event.target.closest(".cm-content");
    act(event);
    content.focus(); // the button is gone
  };
  return h("button", { class: "quiet", onclick: decide }, type === "accept" ? "Keep mine" : "Use the file's");
}
