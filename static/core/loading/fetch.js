// Requests to the API.

const RETRY_DELAYS = [200, 1000];

/**
 * `fetch` with retries if the connection fails: browsers abort requests when the machine's
 * networks change, as when a container starts.
 */
export async function fetchWithRetry(url, options) {
  for (const pause of RETRY_DELAYS) {
    try {
      return await fetch(url, options);
    } catch (error) {
      if (options?.signal?.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return fetch(url, options);
}

/** Return the response's JSON; an error response becomes an Error with the server's message. */
export async function fetchJson(url, options) {
  const response = await (options?.method ? fetch(url, options) : fetchWithRetry(url, options));
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    // no JSON: the status suffices
  }
  if (!response.ok) throw Object.assign(new Error(value?.error ?? `The server responded with status ${response.status}.`), { status: response.status });
  return value;
}
