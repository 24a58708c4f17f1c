// Bundles the page's own modules and style sheets into static/bundle/HASH/, where HASH is that of the sources, so that
// opening the page takes one round trip instead of one for each import below another. The server uses
// the bundle only while the hash matches: sandbox_ui/page/modules.py.

import { createHash } from "node:crypto";
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { compress } from "./compress.js";

const STATIC = resolve(import.meta.dirname, "../../static");
const TARGET = join(STATIC, "bundle");
const NEW = `${TARGET}.new`;
const MAIN = "main.js";

const hash = hashOfSources();
rmSync(NEW, { recursive: true, force: true });
mkdirSync(NEW);
const options = {
  absWorkingDir: STATIC,
  entryPoints: [MAIN, "core/event_stream.js", ...previews()],
  outbase: ".",
  outdir: join(NEW, hash),
  chunkNames: "chunks/[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  sourcemap: true,
  metafile: true,
  target: "es2022",
  logLevel: "warning",
};
const REPORT = {
  absWorkingDir: STATIC,
  outdir: NEW,
  write: false,
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  loader: { ".svg": "dataurl" },
  logLevel: "warning",
};
const later = laterModules(await build({ ...options, write: false }));
const { metafile } = await build({ ...options, plugins: [{ name: "main first", setup: (bundler) => importMain(bundler, later) }] });
writeFileSync(join(NEW, "report.html"), await buildReport());
await build({ absWorkingDir: STATIC, entryPoints: ["page.css"], outdir: join(NEW, hash), bundle: true, minify: true, target: "es2022" });
compress(NEW);
writeFileSync(join(NEW, "manifest.json"), JSON.stringify({ hash, modules: [...firstModules()] }));
rmSync(TARGET, { recursive: true, force: true });
renameSync(NEW, TARGET);

/** Return a file of static/ as text. */
function read(path) {
  return readFileSync(join(STATIC, path), "utf8");
}

/** Return the frame of a report's file, with its script and styles in it: agent/report/page.py fills in the rest. */
async function buildReport() {
  const script = await build({ ...REPORT, entryPoints: ["report/main.js"], format: "iife" });
  const styles = await build({ ...REPORT, entryPoints: ["report/report.css"] });
  const parts = {
    timeline: read("timeline/timeline.html"),
    workspace: read("workspace/workspace.html"),
    styles: styles.outputFiles[0].text.replaceAll("</style", "<\\/style"),
    script: script.outputFiles[0].text.replaceAll("</script", "<\\/script"),
  };
  return read("report/report.html").replace(/<!-- (timeline|workspace) -->|\/\* (styles|script) \*\//g, (_, place, code) => parts[place ?? code]);
}

/** Return the hash of all modules and style sheets; sandbox_ui/page/modules.py computes the same. */
function hashOfSources() {
  const paths = globSync("**/*.{js,css}", { cwd: STATIC, exclude: (path) => /^(vendor|bundle)(\.new)?(\/|$)/.test(path) }).sort();
  const digest = createHash("sha256");
  for (const path of paths)
    digest
      .update(`${path}\0`)
      .update(readFileSync(join(STATIC, path)))
      .update("\0");
  return digest.digest("hex").slice(0, 16);
}

/** Return the paths of the modules that are imported on demand. */
function laterModules({ metafile }) {
  const entries = Object.values(metafile.outputs).map(({ entryPoint }) => entryPoint);
  return new Set(entries.filter((path) => path && ![MAIN, "core/event_stream.js"].includes(path)).map((path) => join(STATIC, path)));
}

/** Let modules that are imported on demand import the main module, so that they share one chunk of it instead of about 14. */
function importMain(bundler, modules) {
  bundler.onLoad({ filter: /\.js$/ }, ({ path }) => {
    if (!modules.has(path)) return undefined;
    return { contents: `${readFileSync(path, "utf8")}\nimport ${JSON.stringify(join(STATIC, MAIN))};\n` };
  });
}

/** Return the modules that static/preview/file.js imports on demand: those that export `open`. */
function previews() {
  const opens = (path) => /^export (const|(async )?function) open\b/m.test(read(path));
  return globSync("preview/*/*.js", { cwd: STATIC }).filter(opens).sort();
}

/** Yield the paths of what the page imports at once: the main module and its chunks. */
function firstModules() {
  const prefix = Object.keys(metafile.outputs)
    .find((path) => metafile.outputs[path].entryPoint === MAIN)
    .slice(0, -MAIN.length);
  const found = new Set([prefix + MAIN]);
  for (const path of found) {
    for (const each of metafile.outputs[path].imports) if (each.kind === "import-statement") found.add(each.path);
  }
  return [...found].map((path) => path.slice(prefix.length));
}
