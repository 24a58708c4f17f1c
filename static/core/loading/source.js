// Where the page's data comes from: the server. A report puts its own answers in place of it.

/** @typedef {{ ok: boolean, status: number, text: () => Promise<string>, json: () => Promise<any>, arrayBuffer: () => Promise<ArrayBuffer> }} Answer */

export const source = {
  /** The address of a path of the API; empty for a file that a report does not contain. */
  url(path, query = {}) {
    const text = String(new URLSearchParams(query));
    return new URL(`api/${path}${text && `?${text}`}`, document.baseURI).href;
  },

  /** @type {(address: string | URL, options?: RequestInit) => Promise<Answer>} */
  fetch: (address, options) => fetch(address, options),

  /** @type {(address: string) => EventSource} */
  stream: (address) => new EventSource(address),

  /** What is part of the page already, by name: modules of previews and libraries. With it, all styles are, too. */
  bundled: /** @type {{ kinds: Record<string, any>, libraries: Record<string, any> } | null} */ (null),
};
