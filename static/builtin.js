// The model that comes along: whether it is here, and what a person is told of it.

const told = document.querySelector('meta[name="studio-builtin"]');

/** Whether it answers where no endpoint is set. */
export const builtin = told?.hasAttribute("data-here") ?? false;

/** What it knows; where it is not installed, how to have it; empty where it is not wanted. */
export const aboutBuiltin = told?.content ?? "";
