// A warning before Run: the text is longer than what the model can read.

import { apiUrl, currentRun } from "../core/event_stream.js";
import { formatCount } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";
import { currentSettings } from "../core/preferences.js";

const CHARACTERS_PER_TOKEN = 4; // the usual rule of thumb
const MIN_TOKENS = 500; // no context is shorter
const FRESH_MS = 30_000;

let known = { key: "", at: 0, limit: null };

/** A sentence if the text is longer than the known context of the model, else "". */
export async function lengthWarning(text) {
  const tokens = Math.ceil(text.length / CHARACTERS_PER_TOKEN);
  if (tokens < MIN_TOKENS) return "";
  const limit = currentRun.started ? currentRun.limits.conversation_tokens : await contextLength();
  return limit && tokens > limit ? `≈ ${formatCount(tokens)} tokens, but the model reads at most ${formatCount(limit)}` : "";
}

/** The context length of the settings' model in tokens; null if it is not known. */
async function contextLength() {
  const { base_url: entered, model } = currentSettings();
  if (entered?.includes("@")) return null; // it may have a password
  const baseUrl = entered?.split("?")[0]; // a query may have a secret, and passports are kept without it
  const query = new URLSearchParams({ ...(baseUrl ? { baseUrl } : {}), ...(model ? { model } : {}) });
  const key = query.toString();
  if (known.key === key && Date.now() - known.at < FRESH_MS) return known.limit;
  try {
    const { passport } = await fetchJson(apiUrl(`models/passport?${query}`));
    known = { key, at: Date.now(), limit: passport?.contextTokens ?? null };
  } catch {
    known = { key, at: Date.now(), limit: null }; // the run says so if the text is too long
  }
  return known.limit;
}
