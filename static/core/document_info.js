// Document statistics: pages, words and the tokens of pasting it into a prompt.

import { count, kindOf, number, plural } from "./format.js";
import { ask, runApi } from "./session.js";

const known = new Map();
const NONE = /\.(png|jpe?g|gif|webp|avif|bmp|tiff?|ico|svg|wav|mp3|ogg|opus|flac|m4a|midi?|mp4|webm|ogv|mov|zip|gz|tar|whl|7z|xz|ttf|otf|woff2?|parquet|sqlite3?|db|bin|so|exe|pyc|o)$/i;

/** Whether a file with this name may contain countable text. */
export const hasText = (name) => !NONE.test(name) && !["image", "sound", "film"].includes(kindOf(name));

/** Return `{pages, words, tokens, characters}` of a file; null values if it has no text. */
export function aboutOf(path, version = "") {
  const address = runApi(`about/${path}`);
  const key = `${address} ${version}`;
  if (!version || !known.has(key)) known.set(key, ask(address).catch((error) => (known.delete(key), Promise.reject(error))));
  return known.get(key);
}

/** Return the statistics as text; empty if there are none. */
export function aboutWords({ pages, words, tokens }) {
  if (tokens === null || tokens === undefined) return "";
  const parts = [pages ? plural(pages, "page") : "", words ? plural(words, "word") : ""];
  return [...parts, tokens < 1000 ? `≈ ${number(tokens)} tokens if pasted` : `≈ ${count(tokens)} tokens if pasted`].filter(Boolean).join(" · ");
}
