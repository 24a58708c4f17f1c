"""One-file reports: a run, a comparison or an evaluation as an HTML file without any request."""
