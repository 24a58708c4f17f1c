// Resumable upload of one file, in as many requests as needed.

const RETRY_DELAYS = [300, 1000, 2000, 4000, 8000, 15_000, 30_000]; // ms before each retry
const RATE_WINDOW_MS = 3000; // ms over which a rate is averaged

class UploadError extends Error {}

class ConnectionError extends Error {}

export class Upload {
  /** `base` is the URL of the run's uploads, `path` the encoded target path. */
  constructor(base, file, path) {
    Object.assign(this, { base, file, path, onChange: () => {}, sent: 0, state: "waiting", entry: null, error: "" });
    this.name = decodeURIComponent(path.slice(path.lastIndexOf("/") + 1));
    this.size = file?.size ?? 0;
  }

  get active() {
    return this.state === "waiting" || this.state === "sending" || this.state === "retrying";
  }

  setState(state) {
    if (this.state === "cancelled") return;
    this.state = state;
    this.onChange(this);
  }

  /** Upload the file; never throws: `state` is `done`, `failed` (with `error`) or `cancelled`. */
  async send() {
    this.setState("sending");
    try {
      if (!this.file) throw new UploadError(`Cannot read ${this.name}.`);
      this.entry = await this.sendWithRetries();
      this.sent = this.size;
      this.setState("done");
    } catch (error) {
      this.error = error.message;
      this.setState("failed");
    }
  }

  async sendWithRetries() {
    for (let tries = 0; ; tries++) {
      const before = this.sent;
      try {
        return await this.resume();
      } catch (error) {
        if (this.state === "cancelled" || !(error instanceof ConnectionError)) throw error;
        if (this.sent > before) tries = 0;
        await this.checkReadable();
        if (tries >= RETRY_DELAYS.length) throw new UploadError(`Cannot upload ${this.name}: connection lost.`);
      }
      this.setState("retrying");
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAYS[tries]));
      this.setState("sending");
    }
  }

  /** Check that the file is readable: a changed or moved file fails like a broken connection, but permanently. */
  async checkReadable() {
    try {
      await this.file.slice(0, 1).arrayBuffer();
    } catch {
      throw new UploadError(`Cannot read ${this.name}: it was changed or moved, or it is a folder.`);
    }
  }

  /** Continue from the server's offset to the end. */
  async resume() {
    let at = 0;
    if (this.id) {
      const status = await this.request(`/${this.id}`);
      if (status?.path) return status;
      if (status) at = status.offset;
      else this.id = null;
    }
    for (;;) {
      if (!this.id) at = await this.create();
      this.checkCancelled();
      const response = await this.patch(at);
      if (response.path) return response;
      if (response.offset === undefined) this.id = null;
      else at = response.offset;
    }
  }

  checkCancelled() {
    if (this.state === "cancelled") throw new UploadError("");
  }

  async create() {
    const body = JSON.stringify({ path: this.path, size: this.size });
    this.id = (await this.request("", { method: "POST", headers: { "Content-Type": "application/json" }, body })).upload;
    if (this.state === "cancelled") await this.discard();
    return 0;
  }

  /** The server's response; null if it does not know the upload any more. */
  async request(address, options) {
    const response = await fetch(this.base + address, options).catch(() => null);
    return parseResponse(response?.status ?? 0, (await response?.text().catch(() => "")) ?? "", this.name);
  }

  patch(at) {
    this.sent = at;
    return new Promise((resolve, reject) => {
      const request = (this.xhr = new XMLHttpRequest());
      request.open("PATCH", `${this.base}/${this.id}`);
      request.setRequestHeader("Upload-Offset", at);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.upload.addEventListener("progress", ({ loaded }) => {
        this.sent = Math.min(this.size, at + loaded);
        this.onChange(this);
      });
      request.addEventListener("loadend", () => {
        try {
          resolve(parseResponse(request.status, request.responseText, this.name) ?? {});
        } catch (error) {
          reject(error);
        }
      });
      request.send(this.file.slice(at));
    });
  }

  /** Cancel in any state; a completed file is deleted. */
  async cancel() {
    const { state, entry } = this;
    this.setState("cancelled");
    this.xhr?.abort();
    if (state === "done") await sendDelete(this.base.replace(/uploads$/, `files/${entry.path}`));
    else await this.discard();
  }

  async discard() {
    if (this.id) await sendDelete(`${this.base}/${this.id}`);
  }
}

const sendDelete = (address) => fetch(address, { method: "DELETE" }).catch(() => {});

function parseResponse(status, text, name) {
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    // no JSON: the status suffices
  }
  if (status === 200 || status === 201) return value;
  if (status === 404 && value?.error && !value.error.startsWith("There is no such run")) return null;
  if (status === 409) {
    if (value?.offset !== undefined) return value;
    throw new ConnectionError(value?.error ?? "");
  }
  if (status === 0 || (status >= 500 && status !== 507)) throw new ConnectionError("");
  throw new UploadError(value?.error ?? `Cannot upload ${name}: the server responded with status ${status}.`);
}

/** Rate of change of a number over the last seconds. */
export class Rate {
  constructor() {
    this.points = [];
  }

  /** Add a value and return the rate per second; 0 if not known yet. */
  update(now, value) {
    this.points.push([now, value]);
    while (this.points.length > 2 && this.points[0][0] < now - RATE_WINDOW_MS) this.points.shift();
    const [[startTime, startValue]] = this.points;
    this.perSecond = now - startTime > 400 ? Math.max(0, (1000 * (value - startValue)) / (now - startTime)) : 0;
    return this.perSecond;
  }
}
