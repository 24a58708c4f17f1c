// Bundles the page's libraries into static/vendor/: one module for each file of libraries/, shared
// and lazy chunks beside them, source maps, and the licences of all packages in the bundles.

import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { compress } from "./compress.js";

const ROOT = resolve(import.meta.dirname, "../..");
const TARGET = join(ROOT, "static", "vendor");
const NEW = `${TARGET}.new`; // complete before a running application can serve it
const LICENCE = "{,dist/soundfont/}{LICEN[CS]E,LICEN[CS]E[.-]*,licen[cs]e,licen[cs]e.*,COPYING,COPYING.*,NOTICE,NOTICE.*}";

rmSync(NEW, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: globSync("agent/packaging/libraries/*.js", { cwd: ROOT }),
  outdir: NEW,
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  sourcemap: true,
  metafile: true,
  loader: { ".sf2": "file" },
  target: "es2022",
  legalComments: "none", // licences.txt has them
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});
compress(NEW);
writeFileSync(join(NEW, "licences.txt"), licences(bundledPackages()));
rmSync(TARGET, { recursive: true, force: true });
renameSync(NEW, TARGET);

/** Return the folders of the packages that the bundles contain. */
function bundledPackages() {
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = used.map((path) => path.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0]);
  return [...new Set(folders.filter(Boolean))].sort();
}

/** Return the names, versions and licence texts of packages; throws if one has no licence. */
function licences(folders) {
  return folders
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(ROOT, folder, "package.json")));
      const files = globSync(LICENCE, { cwd: join(ROOT, folder) }).sort();
      if (!license && !files.length) throw new Error(`${name} ${version} has no licence.`);
      const texts = files.map((file) => readFileSync(join(ROOT, folder, file), "utf8").trim());
      return [`${name} ${version}`, `Licence: ${license}`, ...texts].join("\n\n");
    })
    .join(`\n\n${"-".repeat(80)}\n\n`);
}
