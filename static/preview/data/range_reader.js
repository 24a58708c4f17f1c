// Reads a file of any size with range requests; caches a few chunks.

import { fetchWithRetry } from "../../core/loading/fetch.js";

const CHUNK_SIZE = 8192;
const MAX_CHUNKS = 64;
const MAX_REQUESTS = 2;

export class RangeReader {
  constructor(file, { head, size }, onChunk) {
    this.file = file;
    this.size = size;
    this.onChunk = onChunk;
    this.head = Uint8Array.from(head.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    this.chunks = new Map();
    this.wanted = new Set();
    this.active = 0;
  }

  /** Return up to `length` bytes from an offset; null if not loaded yet (starts loading). */
  at(offset, length) {
    const end = Math.min(offset + length, this.size);
    if (end <= this.head.length) return this.head.subarray(offset, end);
    const index = Math.floor(offset / CHUNK_SIZE);
    const chunk = this.chunks.get(index);
    if (chunk) return chunk.subarray(offset - index * CHUNK_SIZE, end - index * CHUNK_SIZE);
    if (chunk === undefined) this.request(index);
    return null;
  }

  request(index) {
    this.wanted.delete(index);
    this.wanted.add(index);
    this.next();
  }

  /** Load the latest request first: after scrolling, that is the visible one. */
  next() {
    while (this.active < MAX_REQUESTS && this.wanted.size) {
      const index = [...this.wanted].at(-1);
      this.wanted.delete(index);
      if ([...this.wanted].length > 8) this.wanted.clear();
      this.active++;
      this.chunks.set(index, null);
      this.fetch(index)
        .catch(() => this.chunks.delete(index))
        .finally(() => {
          this.active--;
          this.next();
        });
    }
  }

  async fetch(index) {
    const first = index * CHUNK_SIZE;
    const last = Math.min(first + CHUNK_SIZE, this.size) - 1;
    const response = await fetchWithRetry(this.file.address("files", {}), { headers: { Range: `bytes=${first}-${last}` } });
    if (response.status !== 206) throw new Error(`The server answered ${response.status}.`);
    this.chunks.set(index, new Uint8Array(await response.arrayBuffer()));
    for (const oldest of this.chunks.keys()) {
      if (this.chunks.size <= MAX_CHUNKS) break;
      this.chunks.delete(oldest);
    }
    this.onChunk();
  }
}
