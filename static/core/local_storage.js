// Settings of the file tree in local storage.

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
    // storage is unavailable
  }
}
