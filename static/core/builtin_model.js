// The built-in model: whether it is installed, and its description for the user.

const told = document.querySelector('meta[name="studio-builtin"]');

/** Whether the built-in model answers if no endpoint is set. */
export const builtin = told?.hasAttribute("data-here") ?? false;

/** Its topics; how to install it if it is missing; empty if it is disabled. */
export const aboutBuiltin = told?.content ?? "";
