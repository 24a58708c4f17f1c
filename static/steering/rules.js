// The rules by which calls wait for approval, in words.

/** @type {Record<string, { label: string, why: string }>} */
export const RULES = {
  every: { label: "Every call", why: "every call waits" },
  network: { label: "Reaching the network", why: "it reaches the network" },
  delete: { label: "Deleting files", why: "it deletes files" },
  install: { label: "Installing packages", why: "it installs packages" },
  long: { label: "Asking for more than 2 minutes", why: "it may take more than 2 minutes" },
};

const UNCLEAR = "its text cannot be read completely";

/** Return why a call waits, as the rest of a sentence. */
export const whyOf = (reasons) => reasons.map((each) => RULES[each]?.why ?? UNCLEAR).join(", ");

/** Return in two or three words which calls wait. */
export function nameOf(rules) {
  if (!rules.length) return "off";
  if (rules.includes("every")) return "every call";
  return rules.length === Object.keys(RULES).length - 1 ? "risky calls" : rules.join(", ");
}
