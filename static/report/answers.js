// Answers to the page's requests from the blocks of a report's file. They are read when they are asked for.

/*! fflate: MIT License, © Arjun Barrett */
import { unzlibSync } from "fflate";
import { RecordedFiles } from "./files.js";
import { findMatches } from "./find.js";

const PREFIX = "report:";
const decoder = new TextDecoder();
const NOT_KEPT = new Set(["zip", "run.zip", "outputs"]); // what a link would download
const PICTURE = /^[0-9a-f]{64}\.(png|jpg)$/; // the name of a picture among a run's outputs

/** The JSON of a block of the file, which is compressed there; `fallback` if there is none. It is read at once, since printing does not wait. */
export function readJson(id, fallback = undefined) {
  return document.getElementById(id) ? JSON.parse(decoder.decode(unzlibSync(bytesOf(id)))) : fallback;
}

export class RunAnswers {
  /** `record` is a block of the file; `prefix` begins the names of the blocks of its steps. */
  constructor({ state, files, contents, tokens, answers }, prefix = "") {
    this.prefix = prefix;
    this.state = state.state;
    this.tokens = tokens;
    const { rounds, steps } = state.state;
    this.files = new RecordedFiles(files, contents, [rounds[0].began, ...steps.map(({ began }) => began)]);
    this.markdown = new Map(); // text → HTML
    this.contents = contents;
    this.addresses = new Map(); // content → address of its bytes
    rounds.forEach(({ answer }, at) => answers[at] && this.markdown.set(answer, answers[at]));
  }

  url(address, given = {}) {
    const asked = parse(address, given);
    if (asked.what === "outputs" && PICTURE.test(asked.path)) return this.pictureAddress(asked.path);
    return asked.isBytes ? this.addressOf(this.files.at(asked.path, asked.query.get("step"))) : addressOf(asked);
  }

  /** The address of a picture that was sent to the model; empty if the report does not contain it. */
  pictureAddress(name) {
    const id = `picture-${name}`;
    if (!this.addresses.has(id)) {
      const type = name.endsWith(".png") ? "image/png" : "image/jpeg";
      this.addresses.set(id, document.getElementById(id) ? URL.createObjectURL(new Blob([bytesOf(id)], { type })) : "");
    }
    return this.addresses.get(id);
  }

  /** The address of a version's bytes; empty if the report does not contain them. */
  addressOf(version) {
    const content = version?.content;
    if (!content) return "";
    if (!this.addresses.has(content)) {
      const blob = new Blob([bytesOf(`content-${content}`)], { type: this.contents[content].type });
      this.addresses.set(content, URL.createObjectURL(blob));
    }
    return this.addresses.get(content);
  }

  async fetch(address, { body = "" } = {}) {
    if (!address.startsWith(PREFIX)) return bytesAnswer(bytesOf(`content-${[...this.addresses].find(([, each]) => each === address)?.[0]}`));
    const { what, path, query } = parse(address.slice(PREFIX.length));
    const route = this.routes[what];
    const value = route?.(path, query, body);
    return value === undefined ? NOTHING : jsonAnswer(value);
  }

  routes = {
    steps: (path) => this.step(Number(path)),
    markdown: (_path, _query, body) => (this.markdown.has(body) ? { html: this.markdown.get(body) } : undefined),
    files: (_path, query) => this.files.list(query),
    entries: (path, query) => this.files.entry(path, query.get("step")),
    versions: (path) => this.files.versionsOf(path),
    results: () => this.files.results(),
    pictures: () => this.files.pictures(),
    "file-links": (_path, _query, body) => ({ paths: this.files.links(JSON.parse(body)) }),
    view: (path, query) => this.files.view(path, query.get("step"), (content) => this.read(content)),
    difference: () => ({ kind: "", error: "A report shows the versions of a file, and no comparison of them." }),
    find: (_path, query) => ({ matches: findMatches(this.state, (step) => this.step(step), query.get("q")) }),
    tokens: (_path, query) => ({ ...this.tokens, steps: this.tokens.steps.slice(Number(query.get("after"))) }),
  };

  /** The events of a step. Their texts are known as Markdown from then on. */
  step(number) {
    const events = readJson(`events-${this.prefix}${number}`);
    const texts = readJson(`markdown-${this.prefix}${number}`, {});
    for (const [at, html] of Object.entries(texts)) this.markdown.set(events[at].text, html);
    return events;
  }

  /** What a preview shows of a content: a block of its own, or the content itself. */
  read(content) {
    return readJson(`view-${content}`) ?? { kind: this.contents[content].kind };
  }

  /** The text of a file as of a step. */
  textOf({ path, step }) {
    const version = this.files.at(path, step);
    return version?.content ? decoder.decode(bytesOf(`content-${version.content}`)) : "";
  }
}

/** The answers of a comparison or an evaluation: its JSON, and those of its runs. */
export class GroupAnswers {
  constructor(view) {
    this.view = view;
    this.runs = new Map(); // run → its record and its answers, once they were asked for
  }

  /** What the file contains of a run; undefined for one that it does not. */
  of(run) {
    const record = this.runs.has(run) ? null : readJson(`record-${run}`);
    if (record) this.runs.set(run, { record, answers: new RunAnswers(record, `${run}-`) });
    return this.runs.get(run);
  }

  url(path, query = {}) {
    const run = runOf(path);
    const asked = parse(path, query);
    if (!run) return PREFIX + path;
    return asked.isBytes ? "" : addressOf(asked, `${PREFIX}runs/${run}/`);
  }

  async fetch(address, options = {}) {
    const run = runOf(address.slice(PREFIX.length));
    if (run) return this.of(run)?.answers.fetch(address, options) ?? NOTHING;
    if (!address.startsWith(`${PREFIX}markdown`)) return jsonAnswer(this.view);
    const known = [...this.runs.values()].find(({ answers }) => answers.markdown.has(options.body));
    return known?.answers.fetch(address, options) ?? NOTHING;
  }

  /** A stream of the runs that it follows: their states, once. */
  stream(address) {
    const stream = Object.assign(new EventTarget(), { close() {}, readyState: EventSource.OPEN });
    const runs = new URLSearchParams(address.slice(address.indexOf("?"))).get("runs")?.split(",") ?? [];
    const found = runs.map((run) => [run, this.of(run)]).filter(([, each]) => each);
    queueMicrotask(() => {
      for (const [run, { record }] of found) stream.dispatchEvent(stateMessage(run, record));
    });
    return stream;
  }
}

const stateMessage = (run, record) => new MessageEvent("run", { data: JSON.stringify({ run, id: null, event: "state", data: stateOf(record) }) });

/** The message with which the stream of a run begins. */
export const stateOf = ({ state }) => ({ ...state, now: Date.now() / 1000 });

const runOf = (path) => path.match(/^runs\/([^/]+)\//)?.[1];

/** Split an address of the API, such as `runs/ID/files/output/a.png?step=2`, into what is asked for, of what, and how. */
function parse(address, given = {}) {
  const [, what, path = "", asked = ""] = address.match(/^(?:runs\/[^/]+\/)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/s);
  const query = new URLSearchParams([...new URLSearchParams(asked), ...new URLSearchParams(given)]);
  const isBytes = what === "files" ? path !== "" : what === "view" && (query.has("thumb") || query.has("frame"));
  return { what, path, query, isBytes };
}

const addressOf = ({ what, path, query }, prefix = PREFIX) => (NOT_KEPT.has(what) ? "" : `${prefix}${what}/${path}?${query}`);

/** The bytes of a block of the file. */
function bytesOf(id) {
  const text = atob(document.getElementById(id).textContent);
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

const jsonAnswer = (value, status = 200) => ({
  ok: status < 400,
  status,
  text: async () => JSON.stringify(value),
  json: async () => value,
  arrayBuffer: async () => new ArrayBuffer(0),
});

const bytesAnswer = (bytes) => ({ ...jsonAnswer(null), arrayBuffer: async () => bytes.buffer });

const NOTHING = jsonAnswer({ error: "This is not part of the report." }, 404);
