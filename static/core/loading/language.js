// uPlot formats numbers in the browser's language when it is loaded. WebKitGTK takes its language from the
// system's locale, and "C" (of LANG=C.UTF-8) is none: there, uPlot would not load.

try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}
