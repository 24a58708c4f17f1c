// The stream of an experiment: what it has come to, its changed cells, and the events of followed runs.

import { apiUrl } from "../core/event_stream.js";
import { source } from "../core/loading/source.js";

const RETRY_MS = 500; // ms until the next attempt; after a refusal longer
const REFUSED_MS = 2000;

/** Open while the page is visible, and once `follow` was called. */
export class ExperimentStream {
  /**
   * `onExperiment` receives the experiment without tasks and cells, `onCells` what has changed of the
   * cells, `onMessages` what has come of the runs since the last frame, as [run, name, data].
   * `onLost` is called when all is to be read again.
   */
  constructor(kind, id, { onExperiment, onCells, onMessages, onLost }) {
    this.path = `${kind}s/${id}/events`;
    this.onMessages = onMessages;
    this.onLost = onLost;
    this.cells = null; // the cursor of the cells, where there are some
    this.cursors = new Map(); // run → cursor
    this.runs = null; // those that are followed, once it is known
    this.pending = [];
    this.frame = 0;
    this.source = null;
    this.timer = 0;
    this.listeners = {
      [kind]: onExperiment,
      cells: (changed) => {
        this.cells = changed.cursor;
        onCells(changed);
      },
      run: (message) => this.receive(message),
      reload: () => {
        this.disconnect();
        onLost();
      },
    };
    this.onVisibility = () => (document.hidden ? this.disconnect() : this.connect());
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  /** Follow these runs from now on; those that were followed before continue where they were. */
  follow(runs) {
    if (this.source && runs.join() === this.runs.join()) return;
    this.runs = runs;
    for (const run of this.cursors.keys()) if (!runs.includes(run)) this.cursors.delete(run);
    this.disconnect();
    this.connect();
  }

  get address() {
    const cursor = this.cells ?? [...this.cursors].map((each) => each.join(":")).join();
    return apiUrl(`${this.path}?${new URLSearchParams({ runs: this.runs.join(), ...(cursor && { cursor }) })}`);
  }

  connect() {
    if (this.source || this.closed || document.hidden || !this.runs) return;
    clearTimeout(this.timer);
    this.source = source.stream(this.address);
    for (const [name, receive] of Object.entries(this.listeners)) this.source.addEventListener(name, ({ data }) => receive(JSON.parse(data)));
    this.source.addEventListener("error", () => this.onError());
  }

  /** The browser reconnects automatically, but to the address with the old cursors. */
  onError() {
    const refused = this.source?.readyState === EventSource.CLOSED;
    this.disconnect();
    this.timer = setTimeout(() => (refused ? this.onLost() : this.connect()), refused ? REFUSED_MS : RETRY_MS);
  }

  receive({ run, id, event, data }) {
    if (!this.runs.includes(run)) return;
    if (id !== null) this.cursors.set(run, id);
    this.pending.push([run, event, data]);
    this.frame ||= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const messages = this.pending;
    this.pending = [];
    if (messages.length) this.onMessages(messages);
  }

  disconnect() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.flush();
  }

  close() {
    this.closed = true;
    this.disconnect();
    document.removeEventListener("visibilitychange", this.onVisibility);
  }
}
