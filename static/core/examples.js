// Example tasks: the user's own and those that ship with the studio.

import { apiUrl, on } from "./event_stream.js";
import { builtinAvailable } from "./instance.js";
import { fetchJson } from "./loading/fetch.js";
import { hasEndpoint } from "./preferences.js";

let cache = null;

/** Return the examples for the connected model, or those playable without one first; fetched once. `withBuiltin` adds the built-in model's to another's. */
export async function fetchExamples({ withBuiltin = false } = {}) {
  cache ??= fetchAll().catch((error) => {
    cache = null;
    throw error;
  });
  return (await cache).filter((each) => !each.builtin || withBuiltin || (builtinAvailable && !hasEndpoint()));
}

/** The user's own examples come first. */
async function fetchAll() {
  const [saved, all] = await Promise.all([fetchJson(apiUrl("examples/saved")), fetchJson(apiUrl("examples"))]);
  return [...saved, ...all];
}

on("examples-changed", () => (cache = null));
