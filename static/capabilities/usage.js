// What a step used of the computer: merging the usage of calls, and its description.

import { formatBytes, formatSeconds, plural } from "../core/format.js";

/** The paper's three capabilities, in the order of the strips. */
export const CAPABILITIES = [
  { key: "external", label: "External resources" },
  { key: "file", label: "File management" },
  { key: "compute", label: "Computation" },
];

/** The usage of a step without a tool call. */
export const NOTHING_USED = { external: null, file: null, compute: null, paper: [], programs: [], hosts: [], packages: [], written: 0 };

const MAX_NAMES = 16;
const SHOWN_NAMES = 8;

/** What two calls used together; null only if both are unknown. */
export function combine(one, other) {
  if (!one || !other) return one ?? other ?? null;
  return {
    ...Object.fromEntries(CAPABILITIES.map(({ key }) => [key, stronger(one[key], other[key])])),
    ...Object.fromEntries(["paper", "programs", "hosts", "packages"].map((key) => [key, union(one[key], other[key])])),
    read: union(one.read ?? [], other.read ?? []),
    received: sum(one.received, other.received),
    cpu_seconds: sum(one.cpu_seconds, other.cpu_seconds),
    written: one.written + other.written,
    looks: (one.looks ?? 0) + (other.looks ?? 0),
    partial: one.partial || other.partial,
  };
}

/** A step's usage with the number of files that it changed, which is observed. */
export const withWritten = (used, written) => (used && written ? { ...used, file: "observed", written } : used);

const stronger = (one, other) => (one === "observed" || other === "observed" ? "observed" : (one ?? other ?? null));
const union = (one, other) => [...new Set([...one, ...other])].slice(0, MAX_NAMES);
const sum = (one, other) => (one == null ? (other ?? null) : one + (other ?? 0));

const listed = (names) => names.slice(0, SHOWN_NAMES).join(", ") + (names.length > SHOWN_NAMES ? " …" : "");

const DETAILS = {
  *external(used) {
    if (used.hosts.length) yield listed(used.hosts);
    if (used.received != null) yield `${formatBytes(used.received)} received`;
    if (used.packages.length) yield `installed ${listed(used.packages)}`;
  },
  *file(used) {
    if (used.read?.length) yield `${listed(used.read)} shown`;
    if (used.looks) yield `${plural(used.looks, "picture")} seen`;
    if (used.written) yield `${plural(used.written, "file")} changed`;
  },
  *compute(used) {
    if (used.cpu_seconds != null) yield `${formatSeconds(used.cpu_seconds)} of CPU time`;
  },
};

/** What a step used, a line for each capability and one for the programs. */
export function* describe(used) {
  for (const { key, label } of CAPABILITIES) {
    if (!used[key]) continue;
    const details = [...DETAILS[key](used)].join("; ");
    const how = used[key] === "observed" ? "observed" : "parsed from the call";
    yield `${label}, ${how}${details ? `: ${details}` : ""}`;
  }
  if (used.programs.length) yield `Programs: ${listed(used.programs)}`;
  if (used.partial) yield "A text was too long or not valid, and was read in part.";
}
