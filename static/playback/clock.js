// The clock of a playback: which moments of a recorded run are due at a wall time.

/** How a run can be played: its speed, the longest pause between two moments in seconds, and what that is called. */
export const PACES = [
  { name: "1", label: "1×", about: "real time", speed: 1, longestPause: Infinity },
  { name: "4", label: "4×", about: "4 × faster", speed: 4, longestPause: Infinity },
  { name: "16", label: "16×", about: "16 × faster", speed: 16, longestPause: Infinity },
  { name: "pause", label: "Short pauses", about: "pauses shortened", speed: 1, longestPause: 1 },
];

/** The pace of a name; the first one if there is none of this name. */
export const paceNamed = (name) => PACES.find((pace) => pace.name === name) ?? PACES[0];

/** The seconds from the first moment to each, no pause longer than `longestPause`; a missing or earlier time counts as no pause. */
export function offsetsOf(times, longestPause = Infinity) {
  let offset = 0;
  let before = times[0];
  return times.map((time) => {
    const pause = Number.isFinite(time) && Number.isFinite(before) ? Math.max(0, time - before) : 0;
    if (Number.isFinite(time)) before = time;
    offset += Math.min(pause, longestPause);
    return offset;
  });
}

/** Maps wall time to the moments of a recording; all methods take the time `now` in milliseconds, such as `performance.now()`. */
export class PlaybackClock {
  #times;
  #offsets;
  #pace;
  #position = 0; // seconds from the first moment, at #since
  #since = null; // wall time at which it was started or last set; null while it is stopped

  /** A stopped clock over the ascending `times` of the moments, in seconds. */
  constructor(times, pace = PACES[0]) {
    this.#times = times;
    this.#pace = pace;
    this.#offsets = offsetsOf(times, pace.longestPause);
  }

  get running() {
    return this.#since !== null;
  }

  get pace() {
    return this.#pace;
  }

  /** Seconds from the first moment to the last, at speed 1. */
  get duration() {
    return this.#offsets.at(-1) ?? 0;
  }

  start(now) {
    this.#since ??= now;
  }

  stop(now) {
    this.#position = this.position(now);
    this.#since = null;
  }

  /** Seconds from the first moment, at speed 1. */
  position(now) {
    const elapsed = this.#since === null ? 0 : Math.max(0, now - this.#since) / 1000;
    return Math.min(this.duration, this.#position + elapsed * this.#pace.speed);
  }

  /** The index of the last moment that is due; -1 if there are no moments. */
  index(now) {
    return lastAtOrBefore(this.#offsets, this.position(now));
  }

  /** Go to a moment. */
  seek(index, now) {
    this.#position = this.#offsets[Math.max(0, Math.min(index, this.#offsets.length - 1))] ?? 0;
    if (this.#since !== null) this.#since = now;
  }

  /** Play on at another pace, from the same moment and the same share of the pause after it. */
  setPace(pace, now) {
    const index = this.index(now);
    const share = this.#shareOfPause(index, this.position(now));
    this.#pace = pace;
    this.#offsets = offsetsOf(this.#times, pace.longestPause);
    const [from, to] = [this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? this.duration];
    this.#position = from + share * (to - from);
    if (this.#since !== null) this.#since = now;
  }

  /** Milliseconds until the next moment is due; Infinity if it is stopped or over. */
  wait(now) {
    const next = this.#offsets[this.index(now) + 1];
    if (this.#since === null || next === undefined) return Infinity;
    return ((next - this.position(now)) / this.#pace.speed) * 1000;
  }

  /** Whether the last moment is due. */
  isOver(now) {
    return this.position(now) >= this.duration;
  }

  #shareOfPause(index, position) {
    const [from, to] = [this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? this.duration];
    return to > from ? (position - from) / (to - from) : 0;
  }
}

/** The index of the last number that is at most `value`; -1 if there is none. */
function lastAtOrBefore(numbers, value) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
