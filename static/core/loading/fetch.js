// Requests to the API.

import { source } from "./source.js";

const RETRY_DELAYS = [200, 1000];
const REPEATABLE = new Set(["GET", "HEAD", "PUT", "PATCH"]); // a second request of these changes nothing more
const UNREACHABLE = "The server cannot be reached. Try again.";
const INTERRUPTED = "The connection was lost before the server answered. Try again if this was not done.";

/** `fetch` with retries if the connection fails: browsers abort requests when the machine's networks change, as when a container starts. */
export const fetchWithRetry = (url, options) => repeated(() => source.fetch(url, options), options?.signal);

async function repeated(request, signal) {
  for (const pause of RETRY_DELAYS) {
    try {
      return await request();
    } catch (error) {
      if (signal?.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return request();
}

/**
 * Return the response's JSON; an error response becomes an Error with the server's message.
 *
 * If the connection fails, the request is repeated where a second one does no harm: `repeatable`, by default by its method.
 *
 * @param {string | URL} url
 * @param {RequestInit & { repeatable?: boolean }} options
 */
export async function fetchJson(url, { repeatable = undefined, ...options } = {}) {
  const request = async () => {
    const response = await source.fetch(url, options);
    return { response, text: await response.text() };
  };
  const repeats = repeatable ?? REPEATABLE.has(options.method ?? "GET");
  const { response, text } = await (repeats ? repeated(request, options.signal) : request()).catch((error) => {
    if (options.signal?.aborted) throw error;
    throw Object.assign(new Error(repeats ? UNREACHABLE : INTERRUPTED, { cause: error }), { status: 0 });
  });
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    // no JSON: the status suffices
  }
  if (!response.ok) throw Object.assign(new Error(value?.error ?? `The server responded with status ${response.status}.`), { status: response.status });
  return value;
}
