// The stream of an evaluation: its results now and then, and the cells that change.

import { apiUrl } from "../core/run/run.js";

const RETRY_MS = 2000; // ms until a refused stream is opened again

export class EvaluationStream {
  /**
   * `onOverview` receives the evaluation without tasks and cells, `onCells` what has changed, and
   * `onReload` is called when everything is to be read again.
   */
  constructor(id, { onOverview, onCells, onReload }) {
    this.id = id;
    this.onOverview = onOverview;
    this.onCells = onCells;
    this.onReload = onReload;
    this.cursor = null;
    this.source = null;
    this.closed = false;
    this.timer = 0;
    this.onVisibility = () => (document.hidden ? this.disconnect() : this.connect());
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  /** Follow from a cursor; a stream that is connected goes on. */
  follow(cursor) {
    this.cursor = cursor;
    if (!this.source) this.connect();
  }

  connect() {
    if (this.source || this.closed || document.hidden || this.cursor === null) return;
    clearTimeout(this.timer);
    this.source = new EventSource(apiUrl(`evaluations/${this.id}/events?${new URLSearchParams({ cursor: this.cursor })}`));
    this.source.addEventListener("evaluation", (message) => this.onOverview(JSON.parse(message.data)));
    this.source.addEventListener("cells", (message) => {
      const data = JSON.parse(message.data);
      this.cursor = data.cursor;
      this.onCells(data);
    });
    this.source.addEventListener("reload", () => this.reload());
    this.source.addEventListener("error", () => this.onError());
  }

  reload() {
    this.disconnect();
    this.onReload();
  }

  /** The browser reconnects automatically, but from the old cursor. */
  onError() {
    const refused = this.source?.readyState === EventSource.CLOSED;
    this.disconnect();
    this.timer = setTimeout(() => (refused ? this.reload() : this.connect()), refused ? RETRY_MS : RETRY_MS / 4);
  }

  disconnect() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  close() {
    this.closed = true;
    this.disconnect();
    document.removeEventListener("visibilitychange", this.onVisibility);
  }
}
