// Whether the page is presented, which present.js begins and ends.

export const isPresenting = () => "presenting" in document.documentElement.dataset;
