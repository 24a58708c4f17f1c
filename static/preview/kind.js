// A kind's module and its sheet, asked for again where the connection broke off.

import { styled } from "../dom.js";

const PAUSES = [300, 1200]; // ms

export async function kind(name) {
  const [module] = await Promise.all([imported(name), styled(`preview/${name}.css`)]);
  return module;
}

async function imported(name, tries = 0) {
  // Some browsers remember a failure, so that the same address would fail for good.
  const again = tries ? `?again=${tries}` : "";
  try {
    return await import(`./${name}.js${again}`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    if (tries === PAUSES.length) throw new Error("A part of the page could not be fetched.", { cause: error });
    await new Promise((resolve) => setTimeout(resolve, PAUSES[tries]));
    return imported(name, tries + 1);
  }
}
