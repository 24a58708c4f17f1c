// Draws waveforms: zoom, regions and a spectrogram, from our peaks where a file is too large to decode.
export { default as WaveSurfer } from "wavesurfer.js";
export { default as Hover } from "wavesurfer.js/plugins/hover";
export { default as Regions } from "wavesurfer.js/plugins/regions";
export { default as Timeline } from "wavesurfer.js/plugins/timeline";
export const loadSpectrogram = async () => (await import("wavesurfer.js/plugins/spectrogram")).default;
