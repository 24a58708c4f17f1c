// A warning before Run: the conversation would be longer than what the model can read.

import { fetchDocumentInfo, mayHaveText } from "../core/run/document_info.js";
import { apiUrl, currentRun, runApiUrl } from "../core/event_stream.js";
import { formatCount } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";
import { currentSettings } from "../core/preferences.js";

const CHARACTERS_PER_TOKEN = 4; // the usual rule of thumb
const MIN_TOKENS = 500; // no context is shorter
const FRESH_MS = 30_000;
const MAX_FILES = 1000; // names of one listing
const MAX_DOCUMENTS = 200; // whose text is counted

let known = { key: "", at: 0, limit: null };
let attached = { key: "", tokens: Promise.resolve(0) };

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
  attached = { key: "", tokens: Promise.resolve(0) };
}

/** The tokens of the attached files as they go to the model: their texts without a sandbox, else their names. */
function attachedTokens() {
  if (!currentRun.id) return 0;
  const withTexts = currentSettings().mode === "plain";
  const key = `${withTexts} ${currentRun.id}`;
  if (attached.key !== key) attached = { key, tokens: countAttached(withTexts).catch(() => 0) }; // the run says so if it is too long
  return attached.tokens;
}

async function countAttached(withTexts) {
  const query = new URLSearchParams({ folder: "input", sort: "name", from: "0", count: String(MAX_FILES) });
  const { entries = [] } = await fetchJson(runApiUrl(`files?${query}`));
  let tokens = Math.ceil(entries.reduce((sum, { name }) => sum + name.length, 0) / CHARACTERS_PER_TOKEN);
  const documents = withTexts ? entries.filter(({ name }) => mayHaveText(name)) : [];
  for (const { path, size, modified } of documents.slice(0, MAX_DOCUMENTS)) tokens += (await fetchDocumentInfo(path, `${size} ${modified}`)).tokens ?? 0;
  return tokens;
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
