// The stream of a comparison: what it has come to, and the events of the runs that are followed.

import { apiUrl } from "../core/run/run.js";
import { ViewStream } from "./view_page.js";

export class ComparisonStream extends ViewStream {
  /**
   * `onComparison` receives the comparison's JSON; `onMessages` all that has come since the last
   * frame, as [run, name, data]; `onRefused` is called when the server refuses the stream.
   */
  constructor(id, { onComparison, onMessages, onRefused }) {
    super({ comparison: onComparison, run: (message) => this.receive(message) }, onRefused);
    this.id = id;
    this.onMessages = onMessages;
    this.cursors = new Map(); // run → cursor
    this.runs = [];
    this.pending = [];
    this.frame = 0;
  }

  /** Follow these runs from now on; those that were followed before continue where they were. */
  follow(runs) {
    if (this.source && runs.join() === this.runs.join()) return;
    this.runs = [...runs];
    for (const run of this.cursors.keys()) if (!runs.includes(run)) this.cursors.delete(run);
    this.disconnect();
    this.connect();
  }

  address() {
    const query = new URLSearchParams({ runs: this.runs.join() });
    if (this.cursors.size) query.set("cursor", [...this.cursors].map(([run, cursor]) => `${run}:${cursor}`).join());
    return apiUrl(`comparisons/${this.id}/events?${query}`);
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
    super.disconnect();
    this.flush();
  }
}
