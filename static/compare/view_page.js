// The base classes of the pages of a comparison and of an evaluation, and of their event streams.

import { h } from "../core/dom.js";
import { apiUrl, currentRun, emit } from "../core/event_stream.js";
import { fetchJson } from "../core/loading/fetch.js";
import { source } from "../core/loading/source.js";
import { EndpointKeys } from "./endpoint_keys.js";

const RETRY_MS = 2000; // ms until the next attempt after a failure

/** Subclasses implement `show(view)`, and make `stream` and `tools`. */
export class ViewPage {
  /** `path` is the API's path; `onGone(text)` is called if the comparison or evaluation does not exist. */
  constructor(path, place, { onGone }) {
    this.path = path;
    this.place = place;
    this.onGone = onGone;
    this.shown = null; // as the server sent it last
    this.closed = false;
    this.failure = ""; // the message of the last read, if it failed
    this.retryTimer = 0;
    this.keys = new EndpointKeys();
    this.message = h("p", { class: "page-message", role: "alert", hidden: true });
    this.stream = /** @type {ViewStream | null} */ (null);
    this.tools = /** @type {import("./tools.js").ViewTools | null} */ (null);
  }

  url = (path) => apiUrl(path ? `${this.path}/${path}` : this.path);

  /** Load the comparison or evaluation and show it; try again if that fails. */
  async load() {
    clearTimeout(this.retryTimer);
    try {
      const view = await fetchJson(this.url(""));
      if (this.closed) return;
      if (this.message.textContent === this.failure) this.showMessage("");
      this.failure = "";
      this.onLoaded(view);
    } catch (error) {
      if (this.closed) return;
      if (error.status === 401)
        location.reload(); // signed out: the server redirects to the login page
      else if (error.status === 404 || error.status === 403) this.onGone(error.message);
      else {
        this.failure = error.message;
        this.showMessage(error.message);
        clearTimeout(this.retryTimer);
        this.retryTimer = setTimeout(() => this.load(), RETRY_MS);
      }
    }
  }

  show(_view) {}

  onLoaded(view) {
    this.show(view);
  }

  /** Set what is shown; return what was shown before. */
  replaceShown(view) {
    const before = this.shown;
    this.shown = view;
    this.place.removeAttribute("aria-busy");
    currentRun.canEdit = view.canEdit;
    if (before?.canEdit !== view.canEdit) emit("permissions");
    return before;
  }

  /** Show a message above the rest; "" removes it. */
  showMessage(text) {
    if (this.message.textContent !== text) this.message.textContent = text; // an alert is read out
    this.message.hidden = !text;
  }

  /** Ask the server for an action such as "stop". */
  async act(path, body = {}) {
    try {
      this.showMessage("");
      await fetchJson(this.url(path), { method: "POST", body: JSON.stringify(body) });
      await this.refresh();
    } catch (error) {
      this.showMessage(error.message);
    }
  }

  /** Show the result of an action. */
  refresh() {
    return this.load();
  }

  resume() {
    return this.act("resume", this.keys.request());
  }

  async rename(title) {
    const saved = await fetchJson(this.url(""), { method: "PATCH", body: JSON.stringify({ title }) });
    this.show({ ...this.shown, title: saved?.title ?? title });
  }

  close() {
    this.closed = true;
    clearTimeout(this.retryTimer);
    this.stream.close();
    this.tools.close();
    currentRun.canEdit = true;
    emit("permissions");
  }
}

/** An event stream, open while the page is visible. Subclasses return its `address()`, or null to stay closed. */
export class ViewStream {
  /**
   * `listeners` receive the events' data, by name; `onRefused` is called a while after the server
   * refused the stream.
   */
  constructor(listeners, onRefused) {
    this.listeners = listeners;
    this.onRefused = onRefused;
    this.source = null;
    this.timer = 0;
    this.onVisibility = () => (document.hidden ? this.disconnect() : this.connect());
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  /** @returns {string | null} */
  address() {
    return null;
  }

  connect() {
    const address = this.source || this.closed || document.hidden ? null : this.address();
    if (address === null) return;
    clearTimeout(this.timer);
    this.source = source.stream(address);
    for (const [name, receive] of Object.entries(this.listeners)) this.source.addEventListener(name, ({ data }) => receive(JSON.parse(data)));
    this.source.addEventListener("error", () => this.onError());
  }

  /** The browser reconnects automatically, but to the address with the old cursors. */
  onError() {
    const refused = this.source?.readyState === EventSource.CLOSED;
    this.disconnect();
    this.timer = setTimeout(() => (refused ? this.onRefused() : this.connect()), refused ? RETRY_MS : RETRY_MS / 4);
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
