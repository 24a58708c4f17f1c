// Imports modules on demand, with retries if the connection fails.

const RETRY_DELAYS = [300, 1200]; // ms

/** Return the address of one of our modules: of its source, or bundled as the page's others. */
export function moduleAddress(path) {
  const folder = document.querySelector('meta[name="studio-modules"]')?.content ?? "ui/";
  return new URL(folder + path, document.baseURI).href;
}

/** Import the module at an absolute address; throws an Error with a message for the user. */
export async function importModule(address, tries = 0) {
  // Some browsers cache a failed import, so that the same URL would always fail.
  const again = tries ? `?again=${tries}` : "";
  try {
    return await import(`${address}${again}`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (tries === RETRY_DELAYS.length) throw new Error("Part of the page could not be loaded.", { cause: error });
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAYS[tries]));
    return importModule(address, tries + 1);
  }
}
