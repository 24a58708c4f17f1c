// A warning before Run: the conversation would be longer than what the model can read.

import { apiUrl, currentRun, runApiUrl } from "../core/event_stream.js";
import { formatCount } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";
import { currentSettings } from "../core/preferences.js";

const CHARACTERS_PER_TOKEN = 4; // the usual rule of thumb
const MIN_TOKENS = 500; // no context is shorter
const FRESH_MS = 30_000;
const MAX_FILES = 1000; // names of one listing
/** Files whose bytes are their text; what the text of other documents is, only the server knows. */
const TEXT_FILE = /\.(?:txt|md|rst|csv|tsv|jsonl?|xml|ya?ml|toml|ini|log|tex|bib|sql|srt|py|r|js|ts|c|h|cpp|java|go|rs|sh)$/i;

let known = { key: "", at: 0, limit: null };
let attached = { key: "", characters: 0 };

/** A sentence if the text, with what goes to the model before it, is longer than the model's known context, else "". */
export async function lengthWarning(text) {
  const typed = Math.ceil(text.length / CHARACTERS_PER_TOKEN);
  const tokens = typed + (currentRun.started ? currentRun.conversationTokens : await attachedTokens());
  if (tokens < MIN_TOKENS) return "";
  const limit = currentRun.started ? currentRun.limits.conversation_tokens : await contextLength();
  if (!limit || tokens <= limit) return "";
  const where = tokens === typed ? "" : currentRun.started ? " with the conversation so far" : " with the attached files";
  return `≈ ${formatCount(tokens)} tokens${where}, but the model reads at most ${formatCount(limit)}`;
}

/** Files attached or removed: count them again. */
export function forgetAttached() {
  attached = { key: "", characters: 0 };
}

/** The tokens of the attached files as they go to the model: their texts without a sandbox, else their names. */
async function attachedTokens() {
  if (!currentRun.id) return 0;
  const mode = currentSettings().mode === "plain" ? "plain" : "sandbox";
  const key = `${mode} ${currentRun.id}`;
  if (attached.key !== key) {
    const query = new URLSearchParams({ folder: "input", sort: "name", from: "0", count: String(MAX_FILES) });
    try {
      const { entries = [] } = await fetchJson(runApiUrl(`files?${query}`));
      const sizes = entries.map(({ name, size }) => name.length + (mode === "plain" && TEXT_FILE.test(name) ? size : 0));
      attached = { key, characters: sizes.reduce((sum, each) => sum + each, 0) };
    } catch {
      return 0; // the run says so if it is too long
    }
  }
  return Math.ceil(attached.characters / CHARACTERS_PER_TOKEN);
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
