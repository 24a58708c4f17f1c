// Loads the libraries in static/vendor/, which agent/packaging/bundle_libraries.js makes.

import "./language.js";
import { importModule } from "./import_module.js";
import { source } from "./source.js";

const loading = new Map();

/**
 * Load a library's module once, such as "dompurify". Throws an Error with a message for the user if the library is not
 * installed (then its `library` is the name) or the connection fails; only after the latter the next call tries again.
 */
export function loadLibrary(name) {
  if (!loading.has(name)) loading.set(name, load(name));
  return loading.get(name);
}

async function load(name) {
  if (source.bundled) return source.bundled.libraries[name];
  const address = new URL(`ui/vendor/${name}.js`, document.baseURI).href;
  try {
    return await importModule(address);
  } catch (cause) {
    const response = await fetch(address, { method: "HEAD" }).catch(() => null);
    if (response?.status === 404) throw missingLibrary(name, cause);
    loading.delete(name);
    throw cause;
  }
}

function missingLibrary(name, cause) {
  const message = `The library ${name} is missing in this studio. Its operator can install it: run “make vendor” and reload this page.`;
  return Object.assign(new Error(message, { cause }), { library: name });
}
