// Values in local storage, as JSON.

export function readStored(name, fallback) {
  try {
    return JSON.parse(localStorage.getItem(`studio-${name}`)) ?? fallback;
  } catch {
    return fallback;
  }
}

export function writeStored(name, value) {
  try {
    localStorage.setItem(`studio-${name}`, JSON.stringify(value));
  } catch {
    // storage is unavailable
  }
}
