// The stream of a comparison: what it has come to, and the events of the runs that are followed.

import { apiUrl } from "../core/run/run.js";

const RETRY_MS = 2000; // ms until a refused stream is opened again

export class ComparisonStream {
  /**
   * `onComparison` receives the comparison's JSON; `onMessages` all that has come since the last
   * frame, as [run, name, data]; `onRefused` is called when the server refuses the stream.
   */
  constructor(id, { onComparison, onMessages, onRefused }) {
    this.id = id;
    this.onComparison = onComparison;
    this.onMessages = onMessages;
    this.onRefused = onRefused;
    this.cursors = new Map(); // run → cursor
    this.runs = [];
    this.pending = [];
    this.frame = 0;
    this.onVisibility = () => (document.hidden ? this.disconnect() : this.connect());
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  /** Follow these runs from now on; those that were followed before continue where they were. */
  follow(runs) {
    if (this.source && runs.join() === this.runs.join()) return;
    this.runs = [...runs];
    for (const run of this.cursors.keys()) if (!runs.includes(run)) this.cursors.delete(run);
    this.disconnect();
    this.connect();
  }

  /** Forget a run's cursor: its state is sent again. */
  forget(run) {
    this.cursors.delete(run);
  }

  connect() {
    if (this.source || this.closed || document.hidden) return;
    const query = new URLSearchParams({ runs: this.runs.join() });
    if (this.cursors.size) query.set("cursor", [...this.cursors].map(([run, cursor]) => `${run}:${cursor}`).join());
    this.source = new EventSource(apiUrl(`comparisons/${this.id}/events?${query}`));
    this.source.addEventListener("comparison", (message) => this.onComparison(JSON.parse(message.data)));
    this.source.addEventListener("run", (message) => this.receive(JSON.parse(message.data)));
    this.source.addEventListener("error", () => this.onError());
  }

  /** The browser reconnects automatically, but to the address with the old cursors. */
  onError() {
    const refused = this.source?.readyState === EventSource.CLOSED;
    this.disconnect();
    if (refused) this.onRefused();
    this.timer = setTimeout(() => this.connect(), refused ? RETRY_MS : RETRY_MS / 4);
  }

  receive({ run, id, event, data }) {
    if (!this.runs.includes(run)) return;
    if (id !== undefined && id !== null) this.cursors.set(run, id);
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
