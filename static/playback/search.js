// Binary search in ascending numbers.

/** The index of the last number that is at most `value`; -1 if there is none. */
export function lastAtOrBefore(numbers, value) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
