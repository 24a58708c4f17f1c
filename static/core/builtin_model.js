// The built-in model: whether it is installed, and its description for the user.

const meta = document.querySelector('meta[name="studio-builtin"]');

/** Whether the built-in model answers if no endpoint is set. */
export const builtinAvailable = meta?.hasAttribute("data-installed") ?? false;

/** Its topics; how to install it if it is missing; empty if it is disabled. */
export const builtinDescription = meta?.content ?? "";
