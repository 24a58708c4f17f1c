// The stream of an evaluation: its results now and then, and the cells that change.

import { ViewStream } from "../compare/view_page.js";
import { apiUrl } from "../core/run/run.js";

export class EvaluationStream extends ViewStream {
  /**
   * `onOverview` receives the evaluation without tasks and cells, `onCells` what has changed, and
   * `onReload` is called when everything is to be read again.
   */
  constructor(id, { onOverview, onCells, onReload }) {
    const onChanged = (data) => {
      this.cursor = data.cursor;
      onCells(data);
    };
    const reload = () => {
      this.disconnect();
      onReload();
    };
    super({ evaluation: onOverview, cells: onChanged, reload }, onReload);
    this.id = id;
    this.cursor = null;
  }

  /** Follow from a cursor; a stream that is connected goes on. */
  follow(cursor) {
    this.cursor = cursor;
    this.connect();
  }

  address() {
    return this.cursor === null ? null : apiUrl(`evaluations/${this.id}/events?${new URLSearchParams({ cursor: this.cursor })}`);
  }
}
