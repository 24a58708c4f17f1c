// Compresses bundled files once, instead of at every request.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** Write a file NAME.br beside each module and style sheet NAME in a folder. */
export function compress(folder) {
  for (const name of globSync("**/*.{js,css}", { cwd: folder })) {
    const path = join(folder, name);
    writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path), OPTIONS));
  }
}
