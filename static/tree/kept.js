// What this browser remembers of how the files are shown.

export function kept(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`studio-${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`studio-${name}`, JSON.stringify(value));
  } catch {
    // without storage nothing is remembered
  }
}
