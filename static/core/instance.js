// What this instance says of itself in the page's head: its users and its built-in model.

/** Whether this is a single-user instance, without accounts. */
export const singleUser = document.querySelector('meta[name="studio-single-owner"]') !== null;

const builtin = document.querySelector('meta[name="studio-builtin"]');

/** Whether the built-in model answers if no endpoint is set. */
export const builtinAvailable = builtin?.hasAttribute("data-installed") ?? false;

/** The built-in model's topics; how to install it if it is missing; empty if it is disabled. */
export const builtinDescription = builtin?.content ?? "";
