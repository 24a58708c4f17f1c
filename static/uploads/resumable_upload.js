// Resumable upload of one file, by the tus protocol.

import { decodePath } from "../core/format.js";
import { loadLibrary } from "../core/loading/libraries.js";

const RETRY_DELAYS = [300, 1000, 2000, 4000, 8000, 15_000, 30_000]; // ms before each retry
const RATE_WINDOW_MS = 3000; // ms over which a rate is averaged
const activeAddresses = new Set(); // of this page's uploads

export class Upload {
  /** `base` is the URL of the run's uploads, `path` the encoded target path. */
  constructor(base, file, path) {
    this.base = base;
    this.file = file;
    this.path = path;
    this.onChange = /** @type {(upload: Upload) => void} */ (() => {});
    this.onUploaded = /** @type {((path: string) => void) | undefined} */ (undefined);
    this.sent = 0;
    this.state = "waiting";
    this.entry = null;
    this.error = "";
    this.name = displayName(path);
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
      await this.checkReadable();
      const path = await this.transfer((await loadLibrary("tus")).Upload);
      this.entry = { path, name: displayName(path), size: this.size };
      this.sent = this.size;
      this.setState("done");
    } catch (error) {
      this.error = error.message;
      this.setState("failed");
    }
    activeAddresses.delete(this.transport?.url);
  }

  /** Check that the file is readable: a changed or moved file fails like a broken connection, but permanently. */
  async checkReadable() {
    try {
      await this.file.slice(0, 1).arrayBuffer();
    } catch {
      throw new Error(`Cannot read ${this.name}: it was changed or moved, or it is a folder.`);
    }
  }

  /** Send what the server does not have yet; return the final path, encoded. */
  transfer(TusUpload) {
    return new Promise((resolve, reject) => {
      this.reject = reject;
      this.transport = new TusUpload(this.file, {
        endpoint: new URL(this.base, document.baseURI).href,
        metadata: { path: this.path },
        retryDelays: RETRY_DELAYS,
        fingerprint: async ({ size, lastModified }) => `upload ${this.base} ${this.path} ${size} ${lastModified}`,
        removeFingerprintOnSuccess: true,
        onUploadUrlAvailable: () => activeAddresses.add(this.transport.url),
        onAfterResponse: throwIfUnavailable,
        onProgress: (sent) => {
          this.sent = sent;
          this.setState("sending");
        },
        onShouldRetry: (error) => {
          if (this.state === "cancelled" || !isTransient(error)) return false;
          this.setState("retrying");
          this.checkReadable().catch((cause) => {
            this.transport.abort();
            reject(cause);
          });
          return true;
        },
        onError: (error) => reject(new Error(errorMessage(error, this.name))),
        onSuccess: ({ lastResponse }) => resolve(lastResponse.getHeader("Studio-Path")),
      });
      this.resume().then(() => this.state === "cancelled" || this.transport.start(), reject);
    });
  }

  /** Continue an upload of this file that an earlier page began. */
  async resume() {
    const earlier = await this.transport.findPreviousUploads();
    const found = earlier.find(({ uploadUrl }) => !activeAddresses.has(uploadUrl));
    if (!found) return;
    activeAddresses.add(found.uploadUrl);
    this.transport.resumeFromPreviousUpload(found);
  }

  /** Cancel in any state; a completed file is deleted. */
  async cancel() {
    const { state, entry } = this;
    this.setState("cancelled");
    if (state === "done") await fetch(this.base.replace(/uploads$/, `files/${entry.path}`), { method: "DELETE" }).catch(() => {});
    else await this.transport?.abort(true).catch(() => {});
    this.reject?.(new Error("cancelled"));
  }
}

const displayName = (path) => decodePath(path.slice(path.lastIndexOf("/") + 1));

/** Treat the answer of a proxy whose server is down like a lost connection: the upload is still there. */
function throwIfUnavailable(_, response) {
  if (response.getStatus() >= 500 && response.getStatus() !== 507) throw new Error(`status ${response.getStatus()}`);
}

/** Whether to try again: not if the server refused, for example because the disk is full. */
function isTransient({ originalResponse: response }) {
  if (response?.getStatus() === 404) return !responseError(response).startsWith("There is no such run");
  return !response || response.getStatus() === 409;
}

function errorMessage({ originalResponse: response }, name) {
  if (!response) return `Cannot upload ${name}: connection lost.`;
  return responseError(response) || `Cannot upload ${name}: the server responded with status ${response.getStatus()}.`;
}

function responseError(response) {
  try {
    return JSON.parse(response.getBody()).error ?? "";
  } catch {
    return ""; // no JSON
  }
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
