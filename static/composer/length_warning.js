// A warning before Run: the conversation would be longer than what the model can read.

import { fetchDocumentInfo, isScan, mayHaveText } from "../core/run/document_info.js";
import { currentRun, runApiUrl } from "../core/event_stream.js";
import { formatCount } from "../core/format.js";
import { fetchJson } from "../core/loading/fetch.js";
import { currentSettings } from "../core/preferences.js";
import { modelInfo, pdfsOfMessage, tokensOfPages } from "../core/run/model_info.js";

const CHARACTERS_PER_TOKEN = 4; // the usual rule of thumb
const MIN_TOKENS = 500; // no context is shorter
const MAX_FILES = 1000; // names of one listing
const MAX_DOCUMENTS = 200; // whose text is counted

let attached = { key: "", tokens: Promise.resolve(0) };

/** A sentence if the text, with what goes to the model before it, is longer than the model's known context, else "". */
export async function lengthWarning(text) {
  const typed = Math.ceil(text.length / CHARACTERS_PER_TOKEN);
  const tokens = typed + (currentRun.started ? currentRun.conversationTokens : await attachedTokens());
  if (tokens < MIN_TOKENS) return "";
  const limit = currentRun.started ? currentRun.limits.conversation_tokens : (await modelInfo()).contextTokens;
  if (!limit || tokens <= limit) return "";
  const where = tokens === typed ? "" : currentRun.started ? " with the conversation so far" : " with the attached files";
  return `≈ ${formatCount(tokens)} tokens${where}, but the model reads at most ${formatCount(limit)}`;
}

/** Files attached or removed: count them again. */
export function forgetAttached() {
  attached = { key: "", tokens: Promise.resolve(0) };
}

/** The tokens of the attached files as they go to the model: their texts and pages without a sandbox, else their names. */
function attachedTokens() {
  if (!currentRun.id) return 0;
  const { mode, pdfs } = currentSettings();
  const withTexts = mode === "plain";
  const key = `${withTexts} ${pdfs} ${currentRun.id}`;
  if (attached.key !== key) attached = { key, tokens: countAttached(withTexts).catch(() => 0) }; // the run says so if it is too long
  return attached.tokens;
}

async function countAttached(withTexts) {
  const query = new URLSearchParams({ folder: "input", sort: "name", from: "0", count: String(MAX_FILES) });
  const { entries = [] } = await fetchJson(runApiUrl(`files?${query}`));
  let tokens = Math.ceil(entries.reduce((sum, { name }) => sum + name.length, 0) / CHARACTERS_PER_TOKEN);
  const documents = withTexts ? entries.filter(({ name }) => mayHaveText(name)) : [];
  for (const { name, path, size, modified } of documents.slice(0, MAX_DOCUMENTS)) {
    const info = await fetchDocumentInfo(path, `${size} ${modified}`);
    const sent = /\.pdf$/i.test(name) ? pdfsOfMessage(isScan(info)) : { text: true, pages: false };
    if (sent.text) tokens += info.tokens ?? 0;
    if (sent.pages) tokens += tokensOfPages(info.pages, await modelInfo());
  }
  return tokens;
}
