// The part of SpessaSynth that runs in the audio thread.
import "spessasynth_lib/dist/spessasynth_processor.min.js";
