// Reads a file of any size with range requests; caches a few chunks.

const PIECE = 8192;
const HELD = 64;
const AT_ONCE = 2;

export class Pieces {
  constructor(file, { first, size }, onPiece) {
    Object.assign(this, { file, size, onPiece });
    this.first = Uint8Array.from(first.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    this.held = new Map();
    this.wanted = new Set();
    this.under = 0;
  }

  /** Return up to `length` bytes from an offset; null if not loaded yet (starts loading). */
  at(offset, length) {
    const end = Math.min(offset + length, this.size);
    if (end <= this.first.length) return this.first.subarray(offset, end);
    const index = Math.floor(offset / PIECE);
    const piece = this.held.get(index);
    if (piece) return piece.subarray(offset - index * PIECE, end - index * PIECE);
    if (piece === undefined) this.want(index);
    return null;
  }

  want(index) {
    this.wanted.delete(index);
    this.wanted.add(index);
    this.next();
  }

  /** Load the latest request first: after scrolling, that is the visible one. */
  next() {
    while (this.under < AT_ONCE && this.wanted.size) {
      const index = [...this.wanted].at(-1);
      this.wanted.delete(index);
      if ([...this.wanted].length > 8) this.wanted.clear();
      this.under++;
      this.held.set(index, null);
      this.fetch(index).catch(() => this.held.delete(index)).finally(() => {
        this.under--;
        this.next();
      });
    }
  }

  async fetch(index) {
    const first = index * PIECE;
    const last = Math.min(first + PIECE, this.size) - 1;
    const response = await fetch(this.file.address("files", {}), { headers: { Range: `bytes=${first}-${last}` } });
    if (response.status !== 206) throw new Error(`The server answered ${response.status}.`);
    this.held.set(index, new Uint8Array(await response.arrayBuffer()));
    for (const oldest of this.held.keys()) {
      if (this.held.size <= HELD) break;
      this.held.delete(oldest);
    }
    this.onPiece();
  }
}
